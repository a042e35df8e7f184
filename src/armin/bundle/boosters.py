"""A booster's own file inside a model, looked at before its library reads it.

LightGBM reads a text, and XGBoost a binary JSON, and both follow the indexes in it without looking, so they are checked
here. CatBoost follows them as well, in a file that nobody here reads: such a model is loaded with trust only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from armin.bundle.lightgbm_text import check_lightgbm, whole
from armin.bundle.trees import bad_model
from armin.bundle.ubjson import read_ubjson
from armin.errors import DataError

__all__ = ["check_boosters", "check_lightgbm", "check_xgboost"]

_LIGHTGBM, _XGBOOST = "lightgbm.basic.Booster", "xgboost.core.Booster"
_MOST_THREADS = 256
_MOST_CATEGORIES = 2**16


def check_boosters(outline: Any, entries: dict[str, bytes]) -> None:
    """Refuse a model's outline with a booster that leads out of its trees; ``entries`` are the files beside it."""
    nodes = list(_nodes(outline))
    if not all(type(node.get("__id__")) is int and node["__id__"] > 0 for node in nodes if "__loader__" in node):
        raise DataError("The bundle's model numbers its parts in a strange way. Get the bundle again from its source.")
    named: dict[Any, list[Any]] = {}
    for node in nodes:
        if "__loader__" in node:
            named.setdefault(node["__id__"], []).append(node)
    for node in nodes:
        kind = f"{node.get('__module__')}.{node.get('__class__')}"
        if kind in (_LIGHTGBM, _XGBOOST) and "content" in node:
            handle = _handle(node, named, ("_handle", "handle") if kind == _LIGHTGBM else ("handle",))
            if kind == _LIGHTGBM:
                check_lightgbm(_text(handle))
            elif handle.get("__loader__") != "JsonNode" or handle.get("content") != "null":
                check_xgboost(_bytes(handle, entries))


def _nodes(outline: Any) -> Iterator[dict[str, Any]]:
    stack = [outline]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, dict):
            stack.extend(node.values())
            yield node


def _handle(node: dict[str, Any], named: dict[Any, list[Any]], names: tuple[str, ...]) -> dict[str, Any]:
    """What a booster is made from: what its library finds first under one of these names, in a plain dictionary.

    A number that was used before stands for what had it first, so all must be alike.
    """
    try:
        state = node["content"]
        keys = state["key_types"]["content"]
        plain = state["__loader__"] == "DictNode" and len(keys) == len(state["content"])
        plain = plain and all((key["__module__"], key["__class__"]) == ("builtins", "str") for key in keys)
        handle = next(state["content"][name] for name in names if name in state["content"])
        parts = (node, state, handle, state["key_types"], *keys)
        alike = all(one == part for part in parts for one in named[part["__id__"]])
        if plain and alike and node["__loader__"] == "ObjectNode" and isinstance(handle, dict):
            return handle
    except (KeyError, TypeError, StopIteration, RecursionError):
        pass
    raise bad_model("Booster", "handle")


def _text(handle: dict[str, Any]) -> str:
    try:
        text = json.loads(handle["content"])
    except (KeyError, TypeError, ValueError, RecursionError):
        text = None
    if not isinstance(text, str) or handle.get("__loader__") != "JsonNode":
        raise bad_model("Booster", "_handle")
    return text


def _bytes(handle: dict[str, Any], entries: dict[str, bytes]) -> bytes:
    if handle.get("__loader__") != "BytearrayNode" or handle.get("file") not in entries:
        raise bad_model("Booster", "handle")
    return entries[handle["file"]]


def check_xgboost(data: bytes) -> None:
    """Refuse XGBoost's form of a model whose trees point to what is not there.

    Inner nodes must lead to nodes that exist, each of them once, and ask about features that exist; sets of categories
    must lie within their table; every list must be as long as the number of nodes says; leaves must be finite.

    >>> check_xgboost(b"{}")
    Traceback (most recent call last):
        ...
    armin.errors.DataError: The bundle's Booster is broken: 'learner' does not fit the rest of it, ...
    """
    try:
        told = read_ubjson(data)
        _check_config(told.get("Config", {}))
        _check_learner(told.get("Model", told)["learner"])
    except DataError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise bad_model("Booster", (str(error.args[0]) if error.args else "handle")[:40]) from None


def _check_config(config: Any) -> None:
    threads = [node[name] for node in _nodes(config) for name in ("nthread", "n_jobs") if name in node]
    if not all(abs(whole(str(one))) <= _MOST_THREADS for one in threads):
        raise ValueError("nthread")


def _check_learner(learner: Any) -> None:
    told, booster = learner["learner_model_param"], learner["gradient_booster"]
    width = whole(told["num_feature"])
    groups = max(whole(told["num_class"]), whole(told.get("num_target", "1")), 1)
    kind = booster["name"]
    if kind == "gblinear":
        weights = np.asarray(booster["model"]["weights"], dtype=float)
        if weights.shape != ((width + 1) * groups,) or not np.isfinite(weights).all():
            raise ValueError("weights")
        return
    if kind not in ("gbtree", "dart"):
        raise ValueError("gradient_booster")
    model = booster["model"] if kind == "gbtree" else booster["gbtree"]["model"]
    trees = model["trees"]
    if kind == "dart" and len(_numbers(booster, "weight_drop", float)) != len(trees):
        raise ValueError("weight_drop")
    group = _numbers(model, "tree_info", int)
    if groups > max(len(trees), 1) or len(group) != len(trees) or ((group < 0) | (group >= groups)).any():
        raise ValueError("tree_info")
    steps = _numbers(model, "iteration_indptr", int)
    if len(steps) and (steps[0] != 0 or steps[-1] != len(trees) or (np.diff(steps) < 0).any()):
        raise ValueError("iteration_indptr")
    if whole(model["gbtree_model_param"]["num_trees"]) != len(trees):
        raise ValueError("num_trees")
    if "cats" in model:
        _check_categories(model["cats"], width)
    for tree in trees:
        _check_xgboost_tree(tree, width)


def _numbers(table: Any, name: str, kind: type) -> Any:
    found = np.asarray(table.get(name, []))
    if found.ndim != 1 or (found.size and found.dtype.kind not in ("iu" if kind is int else "iuf")):
        raise ValueError(name)
    return found.astype(np.int64 if kind is int else np.float64)


def _check_categories(cats: Any, width: int) -> None:
    """The names of categories of each column, one after the other, and their order."""
    edges, order = _numbers(cats, "feature_segments", int), _numbers(cats, "sorted_idx", int)
    each = cats.get("enc", [])
    if not len(edges) and not len(order) and not len(each):
        return
    if len(edges) != width + 1 or edges[0] != 0 or edges[-1] != len(order) or (np.diff(edges) < 0).any():
        raise ValueError("feature_segments")
    if len(each) != width:
        raise ValueError("enc")
    for i, names in enumerate(each):
        count = int(edges[i + 1] - edges[i])
        mine = order[edges[i] : edges[i + 1]]
        if not np.array_equal(np.sort(mine), np.arange(count)):
            raise ValueError("sorted_idx")
        places, values = _numbers(names, "offsets", int), _numbers(names, "values", float)
        if "offsets" not in names:
            fits = len(values) == count
        elif not len(places):
            fits = not count and not len(values)
        else:
            fits = places[0] == 0 and places[-1] == len(values) and len(places) == count + 1
            fits = fits and not (np.diff(places) < 0).any()
        if not fits:
            raise ValueError("enc")


def _check_xgboost_tree(tree: Any, width: int) -> None:
    count = whole(tree["tree_param"]["num_nodes"])
    if count < 1 or tree["tree_param"].get("size_leaf_vector", "1") not in ("0", "1"):
        raise ValueError("tree_param")
    left, right, parents, asked, kinds = (
        _numbers(tree, name, int)
        for name in ("left_children", "right_children", "parents", "split_indices", "split_type")
    )
    cuts = _numbers(tree, "split_conditions", float)
    floats = [_numbers(tree, name, float) for name in ("base_weights", "loss_changes", "sum_hessian")]
    if {len(one) for one in (left, right, parents, asked, cuts, *floats)} != {count} or len(kinds) not in (0, count):
        raise ValueError("num_nodes")
    if len(_numbers(tree, "default_left", int)) != count:
        raise ValueError("default_left")
    if ((np.minimum(left, right) < -1) | (np.maximum(left, right) >= count) | ((left == -1) != (right == -1))).any():
        raise ValueError("left_children")
    inner = np.zeros(count, dtype=bool)
    seen, layer = np.zeros(count, dtype=bool), np.zeros(1, dtype=np.int64)
    while layer.size:
        if seen[layer].any() or len(np.unique(layer)) != layer.size:
            raise ValueError("left_children")  # in circles, or two ways to one node
        seen[layer] = True
        layer = layer[left[layer] != -1]
        inner[layer] = True
        if (parents[left[layer]] != layer).any() or (parents[right[layer]] != layer).any():
            raise ValueError("parents")
        layer = np.concatenate([left[layer], right[layer]])
    if ((asked[inner] < 0) | (asked[inner] >= width)).any():
        raise ValueError("split_indices")
    if np.isnan(cuts[inner]).any() or not np.isfinite(cuts[seen & ~inner]).all():
        raise ValueError("split_conditions")
    _check_sets(tree, np.flatnonzero(kinds))


def _check_sets(tree: Any, wanted: Any) -> None:
    """The nodes that ask for categories, and where in a table each finds its own."""
    which, begins, sizes, categories = (
        _numbers(tree, name, int)
        for name in ("categories_nodes", "categories_segments", "categories_sizes", "categories")
    )
    if not len(which) == len(begins) == len(sizes) or not np.array_equal(which, wanted):
        raise ValueError("categories_nodes")
    if ((begins < 0) | (sizes < 1) | (sizes > len(categories) - begins)).any():
        raise ValueError("categories_segments")
    if ((categories < 0) | (categories >= _MOST_CATEGORIES)).any():
        raise ValueError("categories")
