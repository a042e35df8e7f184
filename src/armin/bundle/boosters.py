"""A booster's own file inside a model, looked at before its library reads it.

LightGBM reads a text and follows the indexes in it without looking, so the text is checked here. The files of XGBoost
and CatBoost are left to these libraries.
"""

from __future__ import annotations

import json
import re
from typing import Any

from armin.bundle.trees import bad_model

__all__ = ["check_boosters", "check_lightgbm"]

_LIGHTGBM = "lightgbm.basic.Booster"
_WHOLE = re.compile(r"-?[0-9]{1,10}")


def check_boosters(outline: Any) -> None:
    """Refuse a model's outline with a text of LightGBM that leads out of its trees."""
    stack = [outline]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, dict):
            stack.extend(node.values())
            if f"{node.get('__module__')}.{node.get('__class__')}" == _LIGHTGBM and "content" in node:
                check_lightgbm(_text(node))


def _text(node: dict[str, Any]) -> str:
    try:
        state = node["content"]["content"]
        text = json.loads(state["_handle" if "_handle" in state else "handle"]["content"])
    except (KeyError, TypeError, ValueError, RecursionError):
        text = None
    if not isinstance(text, str):
        raise bad_model("Booster", "_handle")
    return text


def check_lightgbm(text: str) -> None:
    r"""Refuse LightGBM's text of a model whose trees point to what is not there.

    Trees must stand where the list of their sizes says. Inner nodes must lead to later nodes or to leaves that exist,
    and ask about features that exist; sets of categories must lie within their table; every list must be as long as the
    number of leaves says. Numbers are written in one way only, so that nobody reads them otherwise.

    >>> tree = "Tree=0\nnum_leaves=1\nnum_cat=0\nleaf_value=0.5\nis_linear=0\n\n\n"
    >>> check_lightgbm(f"tree\nmax_feature_idx=0\ntree_sizes={len(tree)}\n\n{tree}end of trees\n")
    """
    head, *trees = text.partition("\nend of trees")[0].split("\nTree=")
    try:
        about = _table(head)
        width = _whole(about["max_feature_idx"]) + 1
        faults = (_fault(_table(tree), width) for tree in trees)
        fault = _misplaced(text, _list(about["tree_sizes"]), len(trees)) or next((f for f in faults if f), None)
    except (KeyError, ValueError) as error:
        fault = str(error)[:40]
    if fault:
        raise bad_model("Booster", fault)


def _misplaced(text: str, sizes: list[int], count: int) -> str | None:
    """LightGBM finds its trees by their sizes alone."""
    data = text.encode()
    at = data.find(b"\nTree=") + 1
    for size in sizes:
        if size < 1 or not data.startswith(b"Tree=", at):
            return "tree_sizes"
        at += size
    return None if len(sizes) == count and data.startswith(b"end of trees", at) else "tree_sizes"


def _table(text: str) -> dict[str, str]:
    pairs = [(name, value) for name, equals, value in (line.partition("=") for line in text.split("\n")) if equals]
    if len(dict(pairs)) != len(pairs):
        raise ValueError("twice")
    return dict(pairs)


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise ValueError(text)
    return int(text)


def _list(text: str) -> list[int]:
    return [_whole(one) for one in text.split(" ")] if text else []


def _fault(tree: dict[str, str], width: int) -> str | None:
    leaves, sets = _whole(tree["num_leaves"]), _whole(tree["num_cat"])
    if leaves < 1 or sets < 0 or tree.get("is_linear", "0") != "0":
        return "num_leaves"
    if len(tree["leaf_value"].split(" ")) != leaves:
        return "leaf_value"
    if leaves == 1:
        return None
    inner, limits = leaves - 1, tree["threshold"].split(" ")
    lists = {name: _list(tree[name]) for name in ("split_feature", "decision_type", "left_child", "right_child")}
    lengths = {name: len(values) for name, values in lists.items()} | {"threshold": len(limits)}
    short = next((name for name, length in lengths.items() if length != inner), None)
    if short is not None:
        return short
    if not all(0 <= feature < width for feature in lists["split_feature"]):
        return "split_feature"
    for side in ("left_child", "right_child"):
        if not all(i < child < inner or -leaves <= child < 0 for i, child in enumerate(lists[side])):
            return side
    asked = [limit for limit, kind in zip(limits, lists["decision_type"], strict=True) if kind & 1]
    if not sets:
        return "num_cat" if asked else None
    edges, words = _list(tree["cat_boundaries"]), _list(tree["cat_threshold"])
    if len(edges) != sets + 1 or edges[0] != 0 or edges[-1] != len(words) or sorted(edges) != edges:
        return "cat_boundaries"
    return None if all(0 <= _whole(one) < sets for one in asked) else "threshold"
