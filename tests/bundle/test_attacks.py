"""Files that mean harm: what nobody vouches for is refused before anything in it runs; what is signed has limits too.

See docs/security.md.
"""

from __future__ import annotations

import io
import json
import os
import random
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from typer.testing import CliRunner

from armin import ARMIN, Feature, Schema
from armin.bundle import inspect_bundle, load_bundle, save_bundle
from armin.bundle.archive import MOST_RATIO, PARTS, read_entry, write_stored
from armin.bundle.model import dump_model, load_model
from armin.bundle.sign import CONFIG, PRIVATE, PUBLIC, make_key, own_key
from armin.cli import app
from armin.errors import (
    ArminError,
    BundleChangedError,
    DataError,
    MissingDependencyError,
    ModelError,
    ParameterError,
    SchemaError,
)
from armin.models.kinds import Above
from armin.models.nodes import OneTree, plant

from sealed import nodes_of, packed_zip, rewrite, unpacked
from worlds import World, make_world

pytest.importorskip("skops")
pytest.importorskip("cryptography")

RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(size=(60, 3)))
Y = (X.sum(axis=1) > 2.2).astype(int)


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(3)


@pytest.fixture(scope="module")
def fitted(world: World) -> ARMIN:
    return ARMIN.from_settings(world.classifier, world.schema, desired="yes", n_samples=20).fit(world.X)


@pytest.fixture(scope="module")
def whole(fitted: ARMIN, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return save_bundle(tmp_path_factory.mktemp("b") / "b.armin", fitted).read_bytes()


@pytest.fixture
def packed(whole: bytes, tmp_path: Path) -> Path:
    (tmp_path / "b.armin").write_bytes(whole)
    return tmp_path / "b.armin"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two pairs of keys, as openssl writes them, and one of another kind."""
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    folder, found = tmp_path_factory.mktemp("keys"), {}
    for name in ("bank", "other", "curve"):
        key: Any = generate_private_key(SECP256R1()) if name == "curve" else Ed25519PrivateKey.generate()
        found[name], found[f"{name}.pub"] = folder / f"{name}.pem", folder / f"{name}.pub.pem"
        found[name].write_bytes(key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()))
        found[f"{name}.pub"].write_bytes(
            key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
        )
    return found


# what nobody vouches for


class Trap:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


Change = Callable[[dict[str, bytes], World, Path], dict[str, bytes]]


def with_outline(parts: dict[str, bytes], edit: Callable[[Any], None]) -> dict[str, bytes]:
    """The model with another outline."""
    entries = unpacked(parts["model.skops"])
    outline = json.loads(entries["schema.json"])
    edit(outline)
    return {"model.skops": write_stored(entries | {"schema.json": json.dumps(outline).encode()})}


def forged_encoder(parts: dict[str, bytes], world: World, mark: Path) -> dict[str, bytes]:
    """A one-hot encoder that counts fewer columns than it fills: scikit-learn writes beyond its array."""
    encoder = OneHotEncoder().fit(world.X[["city"]])
    encoder._n_features_outs = [1]
    return {"model.skops": dump_model(make_pipeline(encoder, world.classifier[-1]))}


def broken_tree(parts: dict[str, bytes], world: World, mark: Path) -> dict[str, bytes]:
    """A tree that leads out of its arrays."""
    from sklearn.tree import DecisionTreeClassifier

    entries = unpacked(dump_model(DecisionTreeClassifier().fit(X, Y)))
    for name, content in entries.items():
        array = np.load(io.BytesIO(content), allow_pickle=False) if name.endswith(".npy") else np.zeros(0)
        if "left_child" in (array.dtype.names or ()):
            array["left_child"][0] = 9_999
            stream = io.BytesIO()
            np.save(stream, array)
            entries[name] = stream.getvalue()
    return {"model.skops": write_stored(entries)}


def reads_files(parts: dict[str, bytes], world: World, mark: Path) -> dict[str, bytes]:
    """Texts that are names of files."""
    secret = mark.with_name("secret.txt")
    secret.write_text("password hunter", "utf-8")
    model = make_pipeline(CountVectorizer(input="filename"), LogisticRegression()).fit([str(secret)] * 4, [0, 1] * 2)
    return {"model.skops": dump_model(model)}


def calls_a_function(parts: dict[str, bytes], world: World, mark: Path) -> dict[str, bytes]:
    node = {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode", "content": f"touch {mark}"}
    return with_outline(parts, lambda outline: outline.update(content=node))


def calls_a_class(parts: dict[str, bytes], world: World, mark: Path) -> dict[str, bytes]:
    """What makes losses calls the class that it is given with arguments from the file; a booster opens a file."""

    def edit(outline: Any) -> None:
        node = next(node for node in nodes_of(outline) if node.get("__loader__") == "ObjectNode")
        node |= {"__class__": "Booster", "__module__": "xgboost.core", "__loader__": "LossNode",
                 "__reduce__": {"args": {"content": [str(mark)]}}}  # fmt: skip

    return with_outline(parts, edit)


def donors_elsewhere(parts: dict[str, bytes], world: World, mark: Path) -> dict[str, bytes]:
    """Donors that point out of the file, which compiled code follows."""
    outline, entries = json.loads(parts["learned.json"]), unpacked(parts["learned.npz"])
    place = next(dict(node["v"]) for node in nodes_of(outline) if node.get("$") == "Matching")["first"]["v"]
    array = np.load(io.BytesIO(entries[place])).copy()
    array[0] = 10**6
    stream = io.BytesIO()
    np.save(stream, array)
    return {"learned.npz": write_stored(entries | {place: stream.getvalue()})}


def hungry(parts: dict[str, bytes], world: World, mark: Path) -> dict[str, bytes]:
    """A thousand million completions."""
    found = json.loads(parts["settings.json"])
    found["v"] = [[key, 10**9 if key == "n_samples" else one] for key, one in found["v"]]
    return {"settings.json": json.dumps(found).encode()}


def a_file_as_a_time_zone(parts: dict[str, bytes], world: World, mark: Path) -> dict[str, bytes]:
    types = [{"name": "amount", "type": f"datetime64[ns, dateutil/{mark}]"}]
    return {"like.json": json.dumps([{"$": "dict", "v": list(map(list, one.items()))} for one in types]).encode()}


def a_pickle(parts: dict[str, bytes], world: World, mark: Path) -> dict[str, bytes]:
    stream = io.BytesIO()
    joblib.dump(Trap(mark), stream)
    return {"model.pickle": stream.getvalue(), "learned.pickle": stream.getvalue()}


def another_model(parts: dict[str, bytes], world: World, mark: Path) -> dict[str, bytes]:
    """Nothing is broken; it decides as somebody else likes."""
    model = LogisticRegression().fit(X, 1 - Y)
    return {"model.skops": dump_model(model)}


ATTACKS: tuple[Change, ...] = (
    forged_encoder, broken_tree, reads_files, calls_a_function, calls_a_class, donors_elsewhere, hungry,
    a_file_as_a_time_zone, a_pickle, another_model,
)  # fmt: skip


def never(*args: object, **kwargs: object) -> None:
    raise AssertionError("something in the file was read")


def nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    import skops.io

    for name in ("loads", "get_untrusted_types"):
        monkeypatch.setattr(skops.io, name, never)
    for module, name in ((joblib, "load"), (np, "load"), (Schema, "from_toml")):
        monkeypatch.setattr(module, name, never)
    monkeypatch.setattr("armin.bundle.store.Reader", never)
    monkeypatch.setattr("armin.bundle.store.read_stored", never)
    monkeypatch.setattr("armin.bundle.archive._check_parts", never)  # nor is any part unpacked


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_what_nobody_vouches_for_is_refused_before_anything_is_read(
    attack: Change, packed: Path, world: World, keys: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    mark, original = packed.with_name("mark"), packed.read_bytes()
    new = attack(unpacked(original), world, mark)
    drop = ("model.skops", "learned.json", "learned.npz") if "model.pickle" in new else ()
    with monkeypatch.context() as watched:
        nothing_is_read(watched)
        for key, refusal in (
            (None, "is not signed"), ("kept", "altered after it was signed"),
            (keys["other"], "neither your key nor a trusted one"),
        ):  # fmt: skip
            packed.write_bytes(original)
            rewrite(packed, new, drop, key=key)
            for trusted in ([], [keys["bank.pub"]]):
                with pytest.raises(DataError, match=refusal):
                    load_bundle(packed, trusted_keys=trusted)
        rewrite(packed, new, drop, key="kept", title="Loans")
        with pytest.raises(DataError, match="altered after it was signed"):  # not even with trust
            load_bundle(packed, trust=True)
    assert not mark.exists()


def test_the_refusal_is_one_sentence_that_says_what_to_do(packed: Path) -> None:
    rewrite(packed, {}, key=None)
    with pytest.raises(DataError) as refusal:
        load_bundle(packed)
    assert str(refusal.value) == (
        f"{str(packed)!r} is not signed, so it is not loaded: name the public key of whoever packed it with "
        "trusted_keys=[...] (--trusted-key PUB.pem), or, if you know where it comes from, load it with trust=True "
        "(--trust)."
    )
    shown = CliRunner().invoke(app, ["explain", "-", "--bundle", str(packed)], input="amount\n")
    assert (shown.exit_code, len(shown.stderr.splitlines())) == (2, 1)


def test_trust_is_said_where_it_was_taken(packed: Path, keys: dict[str, Path], world: World) -> None:
    assert load_bundle(packed).caution == load_bundle(packed, trust=True).caution == ""
    rewrite(packed, {}, key=None)
    loaded = load_bundle(packed, trust=True)
    assert (loaded.signer, "is not signed" in loaded.caution) == (None, True)
    rewrite(packed, {}, key=keys["other"])
    loaded = load_bundle(packed, trust=True)
    assert str(loaded.signer) in loaded.caution
    with pytest.raises(DataError, match="neither your key nor a trusted one"):  # a key that is named is asked for
        load_bundle(packed, trust=True, trusted_keys=[keys["bank.pub"]])
    world.X.head(1).to_csv(packed.with_name("row.csv"), index=False)
    words = ["explain", str(packed.with_name("row.csv")), "--bundle", str(packed), "--trust"]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code in (0, 1), shown.output
    assert "Loaded on trust" in shown.stderr


def test_unknown_types_are_named_where_they_were_taken_on_trust(tmp_path: Path) -> None:
    from sklearn.neighbors import KNeighborsClassifier

    frame = pd.DataFrame(X, columns=list("abc"))
    model = KNeighborsClassifier().fit(frame, Y)
    explainer = ARMIN.from_settings(
        model, Schema.infer(frame), desired=1, method="blackbox", sampler="uniform", n_samples=5
    )
    file = save_bundle(tmp_path / "b", explainer.fit(frame), trust=True)
    needs = inspect_bundle(file)["trust"]
    assert any("KDTree" in name for name in needs)
    assert all(name in load_bundle(file, trust=True).caution for name in needs)
    rewrite(file, {}, key=None, trust=[])  # a stranger who keeps it to himself
    assert inspect_bundle(file)["trust"] == needs


# keys and signatures


def test_the_key_is_made_once_and_nobody_else_reads_it(
    fitted: ARMIN, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CONFIG, str(tmp_path / "config" / "armin"))
    file, made = own_key()
    assert (file, file.name) == (tmp_path / "config" / "armin" / PRIVATE, "signing-key.pem")
    assert made is not None
    assert own_key() == (file, None)
    before = file.read_bytes()
    assert make_key(file.parent) == made  # of two that start at once, the first wins
    assert file.read_bytes() == before
    assert sorted(one.name for one in file.parent.iterdir()) == [PRIVATE, PUBLIC]
    if sys.platform != "win32":
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    found = load_bundle(save_bundle(tmp_path / "b", fitted)).signer
    assert found == made
    monkeypatch.setenv(CONFIG, str(tmp_path / "elsewhere"))
    with pytest.raises(DataError, match=f"signed with {made}, which is neither"):
        load_bundle(tmp_path / "b")
    assert load_bundle(tmp_path / "b", trusted_keys=[file.with_name(PUBLIC)]).signer == made
    assert not (tmp_path / "elsewhere").exists()  # looking makes no key


def test_a_key_that_cannot_be_kept_is_said(fitted: ARMIN, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(CONFIG, str(tmp_path / "file" / "armin"))
    with pytest.raises(ParameterError, match=rf"cannot be kept in .*{CONFIG}.*--key KEY\.pem"):
        save_bundle(tmp_path / "b", fitted)
    load = tmp_path / "own.pem"
    make_key(tmp_path)
    (tmp_path / PRIVATE).rename(load)
    save_bundle(tmp_path / "b", fitted, key=load)


def test_a_signature_says_who_packed_it(fitted: ARMIN, keys: dict[str, Path], tmp_path: Path) -> None:
    file = save_bundle(tmp_path / "b", fitted, key=keys["bank"])
    found = inspect_bundle(file)["signed"]
    assert (found["valid"], found["own"], found["key"].startswith("ed25519:")) == (True, False, True)
    assert load_bundle(file, trusted_keys=[keys["other.pub"], keys["bank.pub"]]).signer == found["key"]
    with pytest.raises(DataError, match=f"signed with {found['key']}, which is neither"):
        load_bundle(file, trusted_keys=[keys["other.pub"]])
    own = save_bundle(tmp_path / "c", fitted)
    assert inspect_bundle(own)["signed"]["own"]
    load_bundle(own, trusted_keys=[keys["bank.pub"]])


def test_the_signature_is_the_one_of_dsse(packed: Path) -> None:
    """Anybody can verify it with a library for Ed25519, the manifest and the encoding of DSSE."""
    from base64 import b64decode

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    parts = unpacked(packed.read_bytes())
    said, manifest = json.loads(parts["signature.json"]), parts["manifest.json"]
    kind = said["payloadType"]
    encoded = f"DSSEv1 {len(kind)} {kind} {len(manifest)} ".encode() + manifest
    Ed25519PublicKey.from_public_bytes(b64decode(said["key"])).verify(b64decode(said["signature"]), encoded)


def test_a_key_is_more_than_its_short_name(
    packed: Path, keys: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another key with the same sixteen digits can be searched for."""
    rewrite(packed, {}, key=keys["other"])
    monkeypatch.setattr("armin.bundle.sign.key_name", lambda key: "ed25519:0000000000000000")
    load_bundle(packed, trusted_keys=[keys["other.pub"]])
    with pytest.raises(DataError, match="neither your key nor a trusted one"):
        load_bundle(packed, trusted_keys=[keys["bank.pub"]])


def test_what_was_signed_cannot_be_changed(packed: Path, keys: dict[str, Path], fitted: ARMIN) -> None:
    rewrite(packed, {}, key="kept", title="Better loans")
    assert inspect_bundle(packed)["signed"]["valid"] is False
    with pytest.raises(DataError, match="altered after it was signed"):
        load_bundle(packed)
    theirs = unpacked(save_bundle(packed.with_name("c"), fitted, key=keys["other"]).read_bytes())["signature.json"]
    rewrite(packed, {"signature.json": theirs}, key=None)  # somebody else's signature of another manifest
    parts = unpacked(packed.read_bytes())
    packed.write_bytes(packed_zip({"signature.json": theirs} | parts))
    with pytest.raises(DataError, match="altered after it was signed"):
        load_bundle(packed, trusted_keys=[keys["other.pub"]])
    for broken in (b"{}", b"[" * 9999, b'{"payloadType": "none", "key": "", "signature": ""}'):
        packed.write_bytes(packed_zip(parts | {"signature.json": broken}))
        for read in (load_bundle, inspect_bundle):
            with pytest.raises(DataError, match="signature cannot be read"):
                read(packed)


def test_keys_of_another_kind_are_refused(fitted: ARMIN, keys: dict[str, Path], tmp_path: Path) -> None:
    for wrong in ("curve", "bank.pub"):
        with pytest.raises(ParameterError, match=r"Ed25519 private key as PEM.*openssl genpkey"):
            save_bundle(tmp_path / "b", fitted, key=keys[wrong])
    with pytest.raises(ParameterError, match="cannot be read"):
        save_bundle(tmp_path / "b", fitted, key=tmp_path / "none.pem")
    assert not (tmp_path / "b").exists()
    file = save_bundle(tmp_path / "b", fitted, key=keys["bank"])
    with pytest.raises(ParameterError, match="Ed25519 public key"):
        load_bundle(file, trusted_keys=[keys["bank"]])


def test_without_the_library_nothing_is_believed(
    packed: Path, fitted: ARMIN, keys: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert inspect_bundle(packed)["signed"]["valid"] is None
    for attempt in (
        lambda: load_bundle(packed), lambda: load_bundle(packed, trusted_keys=[keys["bank.pub"]]),
        lambda: save_bundle(packed, fitted),
    ):  # fmt: skip
        with pytest.raises(MissingDependencyError, match=r"armin\[bundle\]"):
            attempt()
    assert "not verified" in load_bundle(packed, trust=True).caution


def test_a_file_may_have_to_be_a_certain_one(packed: Path, fitted: ARMIN) -> None:
    from armin.bundle.archive import file_digest

    digest = file_digest(packed)
    load_bundle(packed, digest=digest)
    save_bundle(packed, fitted, title="Another")
    with pytest.raises(BundleChangedError, match=digest[:12]):
        load_bundle(packed, digest=digest)


# sizes and shapes, whoever signed


@pytest.mark.parametrize("key", [None, "own"])
@pytest.mark.parametrize("part", ["schema.toml", "settings.json", "people.json", "learned.json"])
def test_a_part_that_unpacks_to_more_than_it_may_is_refused_unread(packed: Path, part: str, key: str | None) -> None:
    rewrite(packed, {part: bytes(range(256)) * (PARTS[part] // 256 + 1)}, key=key)
    with pytest.raises(DataError, match=rf"is not signed|{part}.*would unpack to"):
        load_bundle(packed)
    with pytest.raises(DataError, match=f"{part}.*would unpack to"):
        inspect_bundle(packed)


@pytest.mark.parametrize("key", [None, "own"])
def test_zeros_that_pack_well_are_not_unpacked(packed: Path, key: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two megabytes that would become two gigabytes."""
    rewrite(packed, {"learned.npz": bytes(2**25)}, key=key, compression=zipfile.ZIP_DEFLATED)
    assert packed.stat().st_size < 2**20
    monkeypatch.setattr("armin.bundle.archive.read_entry", never)
    for read in (load_bundle, inspect_bundle):
        with pytest.raises(DataError, match=f"'learned.npz'.*would unpack.*at most {MOST_RATIO} times"):
            read(packed)


def test_what_packs_too_well_is_stored_as_it_is(tmp_path: Path) -> None:
    """A bundle of one's own is never refused for its size."""
    frame = pd.DataFrame(X, columns=list("abc"))
    model = LogisticRegression().fit(frame, Y)
    model.spare_ = np.zeros(2**19)
    explainer = ARMIN.from_settings(model, Schema.infer(frame), desired=1, sampler="uniform", n_samples=5).fit(frame)
    file = save_bundle(tmp_path / "b", explainer)
    assert load_bundle(file).explainer.classifier.spare_.shape == (2**19,)


def test_a_part_of_another_size_than_was_signed_is_not_unpacked(packed: Path) -> None:
    parts = unpacked(packed.read_bytes())
    packed.write_bytes(packed_zip(parts | {"like.json": parts["like.json"] + b" "}))
    for read in (load_bundle, inspect_bundle):
        with pytest.raises(DataError, match=r"'like\.json'.*not to as many"):
            read(packed)


def test_a_size_that_is_a_lie_is_all_that_is_unpacked(packed: Path) -> None:
    """The list of contents says ten bytes, and the data go on for 64 MB."""
    import tracemalloc

    data = bytearray(packed_zip({"a": bytes(2**26)}, zipfile.ZIP_DEFLATED))
    for start, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        struct.pack_into("<I", data, data.rfind(start) + offset, 10)
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        tracemalloc.start()
        with pytest.raises(zipfile.BadZipFile):  # the checksum is that of the whole
            read_entry(archive, archive.infolist()[0], 100, "x")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 2**22


def test_a_list_of_a_million_entries_is_not_read(packed: Path) -> None:
    whole = bytearray(packed.read_bytes())
    struct.pack_into("<I", whole, len(whole) - 10, 50_000_000)
    packed.write_bytes(bytes(whole))
    with pytest.raises(DataError, match="lists its contents in 50,000,000 bytes"):
        load_bundle(packed)
    packed.write_bytes(bytes(whole) + b"a comment")
    with pytest.raises(DataError, match="no zip file"):
        load_bundle(packed)


@pytest.mark.parametrize(
    "form", ["{:>1500000000}", "{:.999999999f}", "{0.__class__}", "{!r}", "{:{}}", "{}{}", "km", "{:,.0f}" + "x" * 200]
)
def test_formats_are_plain(form: str) -> None:
    with pytest.raises(SchemaError, match=r"format of 'km' must be a text.*plain number format"):
        Feature("km", "continuous", lower=0, upper=9, format=form)


def test_a_format_in_a_bundle_takes_no_memory(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        text = archive.read("schema.toml").decode()
    place = text.index("[features.rate]") + len("[features.rate]")
    rewrite(packed, {"schema.toml": f'{text[:place]}\nformat = "{{:>1500000000}}"{text[place:]}'.encode()})
    with pytest.raises(SchemaError, match="plain number format"):
        load_bundle(packed)


def test_an_array_is_looked_at_whatever_its_name() -> None:
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    entries = unpacked(dump_model(LogisticRegression().fit(X, Y)))
    outline = json.loads(entries["schema.json"])
    outline["content"]["content"]["coef_"]["file"] = "coef.bin"
    forged = entries | {"schema.json": json.dumps(outline).encode(), "coef.bin": head.getvalue()}
    with pytest.raises(DataError, match="not what it claims"):
        load_model(write_stored(forged), trust=False)


@pytest.mark.parametrize(
    ("text", "reason"),
    [(".".join("a" * 200_000) + " = 1\n", "more than 50 parts"), ('["a"' + ' . "a"' * 99 + "]\n", "more than 50 parts"),
     ("a = " + "[" * 99_999, "nested too deeply"), (f"a = {'9' * 9999}\n", "digits")],
)  # fmt: skip
def test_a_schema_is_read_in_time(packed: Path, text: str, reason: str) -> None:
    """Half a megabyte of dots took the parser hours."""
    with pytest.raises(SchemaError, match=f"not valid TOML.*{reason}"):
        Schema.from_toml(text + "\n")
    rewrite(packed, {"schema.toml": text.encode()})
    with pytest.raises(SchemaError, match="not valid TOML"):
        load_bundle(packed)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
def test_nobody_else_reads_a_bundle(fitted: ARMIN, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        file = save_bundle(tmp_path / "b.armin", fitted)
    finally:
        os.umask(before)
    assert file.stat().st_mode & 0o777 == 0o600


def test_nobody_waits_for_a_bundle_with_a_link(fitted: ARMIN, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder that others write to, a file of the name that is written first would get the people's data."""
    monkeypatch.setattr("armin.bundle.archive.secrets.token_hex", lambda count: "guessed")
    theirs = tmp_path / "theirs"
    (tmp_path / ".b.armin.guessed.part").symlink_to(theirs)
    with pytest.raises(DataError, match="cannot be written"):
        save_bundle(tmp_path / "b.armin", fitted)
    assert not theirs.exists()


def header(kind: str, shape: tuple[int, ...]) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def packed_zeros() -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, a=np.zeros(10**6))
    return stream.getvalue()


STRANGE = {
    "of truth": header("<f8", (True, 3)) + bytes(24),
    "of nothing": header("<U0", (2**31,)),
    "of nothing, once more": header("<f8", (2**40, 0)),
    "of less than nothing": header("<f8", (-1, -3)) + bytes(24),
    "packed": packed_zeros(),
    "pickled": b"\x80\x04N.",
}


@pytest.mark.parametrize("strange", STRANGE)
def test_arrays_are_arrays(strange: str, packed: Path) -> None:
    """An array of nothing took two gigabytes once it was compared; a length of True ended with a traceback."""
    entries = unpacked(dump_model(LogisticRegression().fit(X, Y)))
    with pytest.raises(DataError, match=r"array"):
        load_model(write_stored(entries | {"strange.npy": STRANGE[strange]}), trust=False)
    learned = unpacked(unpacked(packed.read_bytes())["learned.npz"])
    rewrite(packed, {"learned.npz": write_stored(learned | {"strange": STRANGE[strange]})})
    with pytest.raises(DataError, match="array"):
        load_bundle(packed)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_part_has_one_name_and_a_name_one_part(packed: Path) -> None:
    """Of two parts of one name, whoever checks might take one, and whoever reads the other."""
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("schema.toml", archive.read("schema.toml"))
    for read in (load_bundle, inspect_bundle):
        with pytest.raises(DataError, match="names a part twice"):
            read(packed)
    stream = io.BytesIO(dump_model(LogisticRegression().fit(X, Y)))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("schema.json", archive.read("schema.json"))
    with pytest.raises(DataError, match="names an entry twice"):
        load_model(stream.getvalue(), trust=False)


@pytest.mark.parametrize("name", ["../schema.toml", "/etc/passwd", "SCHEMA.TOML", "schema.toml\u200b", "model.skops/x"])
def test_other_names_do_not_belong_into_a_bundle(packed: Path, name: str) -> None:
    rewrite(packed, {name: b"x"})
    for read in (load_bundle, inspect_bundle):
        with pytest.raises(DataError, match="does not belong into a bundle"):
            read(packed)
    assert [one.name for one in packed.parent.iterdir()] == ["b.armin"]


# what a manifest says

SCRAPS: tuple[Any, ...] = (
    None, True, False, 0, -1, 10**30, 1.5, float("nan"), float("inf"), "", "x" * 2000, "\x1b[2J", "\ud800", "\u202e\n",
    [], {}, [[]], [None], {"": None}, ["a", 1], {"$": "tuple", "v": [1]}, json.loads("[" * 300 + "]" * 300),
)  # fmt: skip


def mutated(thing: Any, rng: random.Random) -> Any:
    """The same JSON with one place changed, dropped, doubled or renamed."""
    places: list[tuple[Any, Any]] = []
    stack = [thing]
    while stack:
        node = stack.pop()
        inner = list(node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ())
        places += [(node, key) for key, _ in inner]
        stack += [one for _, one in inner]
    if not places:
        return rng.choice(SCRAPS)
    node, key = rng.choice(places)
    how = rng.randrange(4)
    if how == 0:
        del node[key]
    elif how == 1 and isinstance(node, dict):
        node[str(rng.choice(SCRAPS))[:50]] = node.pop(key)
    elif how == 2:
        node[key] = [node[key], node[key]]
    else:
        node[key] = json.loads(json.dumps(rng.choice(SCRAPS)))
    return thing


TEXTS = ("manifest.json", "signature.json", "settings.json", "like.json", "learned.json", "model.skops")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", TEXTS)
def test_a_strange_header_is_refused_on_purpose_or_changes_nothing(part: str, packed: Path) -> None:
    """Whatever JSON stands where a header was: looking and loading end well, or with an error that is ARMIN's own."""
    rng, original = random.Random(part), unpacked(packed.read_bytes())  # noqa: S311
    refused = 0
    for turn in range(40 if part in ("manifest.json", "signature.json") else 15):
        packed.write_bytes(packed_zip(original))
        entries = unpacked(original[part]) if part == "model.skops" else {}
        thing = json.loads(entries.get("schema.json", original[part]))
        for _ in range(rng.randint(1, 3)):
            thing = mutated(thing, rng)
        text = json.dumps(thing).encode()
        if part in ("manifest.json", "signature.json"):
            packed.write_bytes(packed_zip(original | {part: text}))
        else:
            new = write_stored(entries | {"schema.json": text}) if entries else text
            rewrite(packed, {part: new}, key="own" if turn % 2 else None)
        shown = CliRunner().invoke(app, ["inspect", str(packed), *(["--json"] if turn % 3 else [])])
        assert shown.exit_code in (0, 2), (shown.output, shown.exception)
        assert shown.exception is None or isinstance(shown.exception, SystemExit)
        for trust in (False, True):
            try:
                load_bundle(packed, trust=trust)
            except ArminError:
                refused += 1
    assert refused


def test_a_manifest_of_strange_types_is_refused(packed: Path) -> None:
    for said in (5, None, {"a": [1]}, [1, ["x"]], True):
        rewrite(packed, {}, kept=said)
        with pytest.raises(DataError, match="the entry 'kept'"):
            inspect_bundle(packed)


# models of other libraries


def test_catboost_is_loaded_as_it_was_packed(tmp_path: Path) -> None:
    catboost = pytest.importorskip("catboost")
    frame = pd.DataFrame(X, columns=list("abc"))
    model = catboost.CatBoostClassifier(2, depth=2, verbose=False, allow_writing_files=False).fit(frame, Y)
    explainer = ARMIN.from_settings(
        model, Schema.infer(frame), desired=1, sampler="uniform", n_samples=5, n_fresh=20
    ).fit(frame)
    file = save_bundle(tmp_path / "b", explainer)
    assert inspect_bundle(file)["trust"] == []
    row = frame[model.predict(frame) == 0].head(1)
    there, here = (one.explain(row) for one in (load_bundle(file).explainer, explainer))
    assert (there.outcome, there.cost, there.changes) == (here.outcome, here.cost, here.changes)


@pytest.mark.filterwarnings("ignore")
def test_estimators_of_scikit_learn_need_no_trust(tmp_path: Path) -> None:
    from sklearn.neighbors import NearestCentroid

    frame = pd.DataFrame(X, columns=list("abc"))
    model = NearestCentroid().fit(frame, Y)
    explainer = ARMIN.from_settings(model, Schema.infer(frame), desired=1, method="blackbox", n_samples=5).fit(frame)
    load_bundle(save_bundle(tmp_path / "b", explainer))


@pytest.mark.parametrize(("field", "value"), [("feature", 7), ("left", 99), ("right", -3)])
def test_trees_that_are_read_lead_nowhere_else(field: str, value: int) -> None:
    """Whatever a library says about its trees, compiled code only follows what exists."""
    parts = {
        "feature": np.array([0, -1, -1]), "threshold": np.zeros(3), "left": np.array([1, -1, -1]),
        "right": np.array([2, -1, -1]), "nan_left": np.zeros(3, bool), "value": np.zeros((3, 1)),
    }  # fmt: skip
    plant([OneTree(**parts)], [0.0], Above(0.0), 1)
    parts[field][0] = value
    with pytest.raises(ModelError, match="It is damaged"):
        plant([OneTree(**parts)], [0.0], Above(0.0), 1)
