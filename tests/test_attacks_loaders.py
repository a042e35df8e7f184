"""Files that say one thing to whoever checks them, and another to whoever reads them; each crashed Python, or opened a
file of the server. See docs/security.md."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

from armin import ARMIN
from armin.bundle import inspect_bundle, load_bundle, save_bundle
from armin.bundle.archive import write_stored
from armin.bundle.boosters import check_boosters, check_lightgbm
from armin.bundle.checks import check_model
from armin.bundle.like import frame_of_types
from armin.bundle.model import dump_model, load_model
from armin.bundle.types import unknown_types
from armin.errors import DataError, ModelError
from test_attacks import LETTERS, X, Y, nodes_of, rewrite, unpacked, xgboosts

from worlds import World, make_world

pytest.importorskip("skops")


def outlined(data: bytes) -> tuple[dict[str, bytes], Any]:
    """A model's files, and its outline."""
    entries = unpacked(data)
    return entries, json.loads(entries["schema.json"])


def put_together(entries: dict[str, bytes], outline: Any, **more: bytes) -> bytes:
    return write_stored(entries | {"schema.json": json.dumps(outline).encode()} | more)


# scikit-learn


@pytest.mark.filterwarnings("ignore")
def test_unknown_values_go_to_a_column_that_exists() -> None:
    """An encoder puts them where its list of rare categories says, unless a mapping leads on from there."""
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=2).fit(LETTERS[["a"]])
    check_model(encoder)
    encoder._default_to_infrequent_mappings = [None]
    encoder._n_features_outs = [3]
    encoder._infrequent_indices = [np.array([10**9])]
    with pytest.raises(DataError, match="OneHotEncoder is broken: '_infrequent_indices'"):
        check_model(encoder)
    encoder._infrequent_indices = []
    with pytest.raises(DataError, match="OneHotEncoder is broken: '_infrequent_indices'"):
        check_model(encoder)


# LightGBM


def grown(wanted: Any) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=2, num_leaves=4, min_child_samples=3, verbose=-1, n_jobs=1)
    return model.fit(X, wanted)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_tree_per_iteration", "0"), ("num_tree_per_iteration", "-1"), ("num_tree_per_iteration", "2"),
        ("num_class", "0"), ("num_class", "1000000000"), ("objective", "multiclass num_class:10000000"),
        ("objective", "multiclass"), ("objective", "binary num_class:7"), ("objective", "binary\tsigmoid:1"),
    ],
)  # fmt: skip
def test_lightgbm_writes_as_many_sums_as_there_are(name: str, value: str) -> None:
    text = grown(Y).booster_.model_to_string()
    check_lightgbm(text)
    with pytest.raises(DataError, match=f"Booster is broken: '{name}'"):
        check_lightgbm(re.sub(rf"(?m)^{name}=.*", f"{name}={value}", text))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("found", "wrong", "fault"),
    [
        (r"(?m)^num_leaves=.*", "num_leaves=", "text"), (r"(?m)^(leaf_weight=.*)", r"\1 1", "leaf_weight"),
        (r"(?m)^internal_value=\S+", "internal_value=[", "internal_value"),
        (r"(?m)^threshold=\S+", "threshold=", "threshold"),
        (r"(?m)^shrinkage=.*", "shrinkage=[", "shrinkage"), (r"(?m)^(num_cat=0)$", r"\1\n", "line"),
        (r"\nparameters:\n", "\nparameters:\nnum_cat=0\n", "parameters"),
        (r"\nend of parameters\n", "\nend of parameters=\n", "parameters"),
    ],
)  # fmt: skip
def test_lightgbm_has_nothing_to_stumble_over(found: str, wrong: str, fault: str) -> None:
    """What it cannot read in one of its threads ends Python."""
    text = grown(Y).booster_.model_to_string()
    forged = re.sub(found, wrong, text, count=1)
    assert forged != text
    trees = re.findall(r"(?s)(?<=\n)Tree=.*?\n(?=Tree=|end of trees)", forged)
    sizes = " ".join(str(len(tree.encode())) for tree in trees)
    with pytest.raises(DataError, match=f"Booster is broken: '{fault}'"):
        check_lightgbm(re.sub(r"(?m)^tree_sizes=.*", f"tree_sizes={sizes}", forged))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "more",
    [
        {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1}, {"boosting_type": "dart"},
        {"monotone_constraints": [1, 0, -1]}, {"min_child_samples": 1000}, {"objective": "cross_entropy"},
        {"objective": lambda y, p: (p - y, np.ones_like(p))}, {"linear_tree": False, "extra_trees": True},
    ],
)  # fmt: skip
def test_what_lightgbm_writes_is_let_in(more: dict[str, Any]) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(**{"n_estimators": 3, "min_child_samples": 3, "verbose": -1, "n_jobs": 1} | more)
    frame = pd.DataFrame(X, columns=["a = b", "größe", "c"])
    check_lightgbm(model.fit(frame, Y).booster_.model_to_string())


@pytest.mark.filterwarnings("ignore")
def test_lightgbm_has_one_number_of_classes() -> None:
    text = grown(np.arange(60) % 3).booster_.model_to_string()
    check_lightgbm(text)
    for wrong in ("num_class:4", "num_class:3 num_class:9", "num_class::9"):
        with pytest.raises(DataError, match="Booster is broken: 'objective'"):
            check_lightgbm(text.replace("num_class:3", wrong, 1))
    with pytest.raises(DataError, match="Booster is broken"):
        check_lightgbm(text.replace("num_class=3", "num_class=1", 1))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", ["\r{}", "\n={}", "\n {}", "\n{} ", "\n\t{}", "\0\n{}"])
def test_lightgbm_sees_no_other_lines(line: str) -> None:
    """LightGBM ends a line with a carriage return too, and takes blanks and equals signs away."""
    text = grown(Y).booster_.model_to_string()
    for after, said in (("label_index=0", "num_tree_per_iteration=0"), ("label_index=0", "num_tree_per_iteration")):
        with pytest.raises(DataError, match="Booster is broken"):
            check_lightgbm(text.replace(after, after + line.format(said), 1))
    first, second = text.index("\nTree=0") + 1, text.index("\nTree=1") + 1
    tree = text[first:second]
    forged = re.sub(
        r"(?m)^(split_gain=.*)$", lambda found: found[0] + line.format("left_child=9999 9999 9999"), tree, count=1
    )
    whole = text[:first] + forged + text[second:]
    longer = len(forged.encode()) - len(tree.encode())
    whole = re.sub(r"(?m)^tree_sizes=(\d+)", lambda found: f"tree_sizes={int(found[1]) + longer}", whole)
    with pytest.raises(DataError, match=r"Booster is broken: '(text|line|twice)'"):
        check_lightgbm(whole)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("given", [{"n_jobs": 30_000}, {"_other_params": {"num_threads": 10**6}}, {"nthread": "many"}])
def test_boosters_start_no_army_of_threads(given: dict[str, Any]) -> None:
    for model in (grown(Y), xgboosts()["plain"]):
        check_model(model)
        vars(model).update(given)
        with pytest.raises(DataError, match="Classifier is broken"):
            check_model(model)


def test_tables_start_no_army_of_processes() -> None:
    skrub = pytest.importorskip("skrub")
    model = skrub.TableVectorizer().fit(LETTERS)
    check_model(model)
    vars(model)["n_jobs"] = 10**6
    with pytest.raises(DataError, match="TableVectorizer is broken: 'n_jobs'"):
        check_model(model)


# what skops makes


IDS = iter(range(10**6, 10**7))


def texts(count: int) -> dict[str, Any]:
    each = [
        {"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode", "__id__": next(IDS)}
        for _ in range(count)
    ]
    return {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": each,
            "__id__": next(IDS)}  # fmt: skip


def said(value: Any) -> dict[str, Any]:
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(value),
            "is_json": True, "__id__": next(IDS)}  # fmt: skip


def table(content: dict[str, Any], keys: int | None = None) -> dict[str, Any]:
    return {"__class__": "dict", "__module__": "builtins", "__loader__": "DictNode", "content": content,
            "key_types": texts(len(content) if keys is None else keys), "__id__": next(IDS)}  # fmt: skip


def by_another_number(outline: Any, booster: Any, evil: Any, number: Callable[[int], Any]) -> None:
    """What has the number first is what a booster is made from, and 9.0 is 9."""
    handle = booster["content"]["content"]["handle"]
    evil["__id__"] = number(handle["__id__"])
    if number is str:
        handle["__id__"] = evil["__id__"]
    content = outline["content"]["content"]
    content[next(iter(content))] = evil


def under_two_names(outline: Any, booster: Any, evil: Any) -> None:
    state = booster["content"]
    state["content"] = {"_handle": state["content"]["handle"]} | state["content"] | {"handle": evil}
    state["key_types"] = texts(len(state["content"]))


def in_another_dictionary(outline: Any, booster: Any, evil: Any) -> None:
    state = booster["content"]
    inner = table(state["content"] | {"handle": evil})
    booster["content"] = {
        "__class__": "defaultdict", "__module__": "collections", "__loader__": "DefaultDictNode",
        "content": {"main": inner, "default_factory": said(None), "handle": state["content"]["handle"]},
        "key_types": texts(3), "__id__": next(IDS),
    }  # fmt: skip


def behind_keys_that_are_none(outline: Any, booster: Any, evil: Any) -> None:
    booster["content"]["key_types"] = texts(0)


DISGUISES: dict[str, Callable[[Any, Any, Any], None]] = {
    "a number that is a fraction": lambda *told: by_another_number(*told, float),
    "a number that is a text": lambda *told: by_another_number(*told, str),
    "two names": under_two_names,
    "another dictionary": in_another_dictionary,
    "keys that are none": behind_keys_that_are_none,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_booster_that_is_looked_at_is_the_one_that_is_made(disguise: str) -> None:
    pytest.importorskip("xgboost")
    entries, outline = outlined(dump_model(xgboosts()["plain"]))
    check_boosters(outline, entries)
    booster = next(node for node in nodes_of(outline) if node.get("__class__") == "Booster")
    evil = booster["content"]["content"]["handle"] | {"file": "evil.bin", "__id__": next(IDS)}
    DISGUISES[disguise](outline, booster, evil)
    with pytest.raises(DataError, match=r"Booster is broken|numbers its parts"):
        load_model(put_together(entries, outline, **{"evil.bin": b"{}"}), trust=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["xgboost.core.Booster", "lightgbm.basic.Booster", "numpy.dtype", "functools.partial"])
def test_nothing_is_called_with_what_a_file_says(name: str, tmp_path: Path) -> None:
    """What makes losses calls the class it is told; a booster would open the file it is given."""
    pytest.importorskip("xgboost")
    entries, outline = outlined(dump_model(xgboosts()["plain"]))
    booster = next(node for node in nodes_of(outline) if node.get("__class__") == "Booster")
    handle = booster["content"]["content"]["handle"]
    module, _, kind = name.rpartition(".")
    arguments = [said(None), said(None), said(str(tmp_path / "secret"))]
    given = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": arguments}
    booster |= {
        "__class__": kind, "__module__": module, "__loader__": "LossNode", "content": table({"handle": handle}, 0),
        "__reduce__": {"args": given | {"__id__": next(IDS)}},
    }  # fmt: skip
    data = put_together(entries, outline)
    assert unknown_types(data) == [f"{name} (LossNode)"]
    with pytest.raises(ModelError, match="not known to be harmless"):
        load_model(data, trust=False)


@pytest.mark.parametrize(
    ("loader", "name"), [("FunctionNode", "xgboost.core.Booster"), ("TreeNode", "collections.OrderedDict")]
)
def test_a_thing_is_made_as_its_kind_is(loader: str, name: str) -> None:
    entries, outline = outlined(dump_model(LogisticRegression().fit(X, Y)))
    module, _, kind = name.rpartition(".")
    outline["content"]["content"]["coef_"] = {
        "__class__": kind, "__module__": module, "__loader__": loader, "__id__": next(IDS), "content": table({}),
        "__reduce__": {"args": table({})},
    }  # fmt: skip
    with pytest.raises(ModelError, match=rf"{re.escape(name)} \({loader}\)"):
        load_model(put_together(entries, outline), trust=False)


@pytest.mark.parametrize("said_protocol", [0, 1, None, True, "2"])
def test_older_forms_are_not_read(said_protocol: Any) -> None:
    """Whoever writes the file says which of skops' older readers is asked."""
    entries, outline = outlined(dump_model(LogisticRegression().fit(X, Y)))
    with pytest.raises(DataError, match="no longer written"):
        load_model(put_together(entries, outline | {"protocol": said_protocol}), trust=False)


# arrays that are none


def header(kind: str, shape: tuple[int, ...]) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def packed_zeros() -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, a=np.zeros(10**6))
    return stream.getvalue()


STRANGE = {
    "of nothing": header("<U0", (2**31,)),
    "of nothing, once more": header("<f8", (2**40, 0)),
    "of less than nothing": header("<f8", (-1, -3)) + bytes(24),
    "packed": packed_zeros(),
    "pickled": b"\x80\x04N.",
}


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(3)


@pytest.fixture(scope="module")
def whole(world: World, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    explainer = ARMIN(world.classifier, world.schema, desired="yes", n_samples=20).fit(world.X)
    return save_bundle(tmp_path_factory.mktemp("b") / "b.armin", explainer).read_bytes()


@pytest.mark.parametrize("strange", STRANGE)
def test_arrays_are_arrays(strange: str, whole: bytes, tmp_path: Path) -> None:
    """An array of nothing took two gigabytes once it was compared; inspect ended with a traceback."""
    entries, outline = outlined(dump_model(LogisticRegression().fit(X, Y)))
    outline["content"]["content"]["coef_"]["file"] = "strange"
    with pytest.raises(DataError, match=r"array"):
        load_model(put_together(entries, outline, strange=STRANGE[strange]), trust=False)
    file = tmp_path / "b.armin"
    file.write_bytes(whole)
    with zipfile.ZipFile(file) as archive:
        learned = unpacked(archive.read("learned.npz"))
    rewrite(file, {"learned.npz": write_stored(learned | {"strange": STRANGE[strange]})})
    for read in (load_bundle, inspect_bundle):
        with pytest.raises(DataError, match="array"):
            read(file)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_part_has_one_name_and_a_name_one_part(whole: bytes, tmp_path: Path) -> None:
    """Of two parts of one name, whoever checks might take one, and whoever reads the other."""
    file = tmp_path / "b.armin"
    file.write_bytes(whole)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("schema.toml", archive.read("schema.toml"))
    for read in (load_bundle, inspect_bundle):
        with pytest.raises(DataError, match="names a part twice"):
            read(file)
    stream = io.BytesIO(dump_model(LogisticRegression().fit(X, Y)))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("schema.json", archive.read("schema.json"))
    with pytest.raises(DataError, match="names an entry twice"):
        load_model(stream.getvalue(), trust=False)


@pytest.mark.parametrize("name", ["../schema.toml", "/etc/passwd", "SCHEMA.TOML", "schema.toml\u200b", "model.skops/x"])
def test_other_names_do_not_belong_into_a_bundle(whole: bytes, tmp_path: Path, name: str) -> None:
    file = tmp_path / "b.armin"
    file.write_bytes(whole)
    rewrite(file, {name: b"x"})
    for read in (load_bundle, inspect_bundle):
        with pytest.raises(DataError, match="does not belong into a bundle"):
            read(file)
    assert [one.name for one in tmp_path.iterdir()] == ["b.armin"]


def test_a_column_type_opens_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A time zone of dateutil is the name of a file, and a pipe is waited for."""
    kept = frame_of_types([{"name": "a", "type": "datetime64[ns, UTC]"}])
    assert kept is not None
    assert str(kept.dtypes["a"]) == "datetime64[ns, UTC]"
    opened, usual = list[str](), open

    def seen(name: Any, *rest: Any, **more: Any) -> Any:
        opened.append(str(name))
        return usual(name, *rest, **more)

    monkeypatch.setattr("builtins.open", seen)
    secret = tmp_path / "secret"
    secret.write_text("secret", "utf-8")
    with pytest.raises(DataError, match="column type that is not known here"):
        frame_of_types([{"name": "a", "type": f"datetime64[ns, dateutil/{secret}]"}])
    assert str(secret) not in opened
