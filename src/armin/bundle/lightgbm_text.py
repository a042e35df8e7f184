"""LightGBM's text of a model, looked at before LightGBM reads it, which follows whatever it says."""

from __future__ import annotations

import re

from armin.bundle.trees import bad_model

__all__ = ["check_lightgbm", "whole"]

_WHOLE = re.compile(r"-?[0-9]{1,10}")
_FINITE = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?")
_NUMBER = re.compile(r"-?inf|-?nan|-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?")
_OF_LEAVES = ("leaf_weight", "leaf_count")
_OF_SPLITS = ("split_gain", "threshold", "internal_value", "internal_weight", "internal_count")
_NAME = re.compile(r"[a-z_]+")
_OBJECTIVE = re.compile(r"[a-z0-9_]+( [a-z_]+(:[-+.0-9a-z]+)?)*")
_GIVEN = re.compile(r"\[[a-z0-9_]+: [^\[\]]*\]")
_FREE = "feature_names"
"""The one value in which an equals sign may stand."""


def check_lightgbm(text: str) -> None:
    r"""Refuse LightGBM's text of a model whose trees point to what is not there.

    Trees must stand where the list of their sizes says. Inner nodes must lead to later nodes or to leaves that exist,
    and ask about features that exist; sets of categories must lie within their table; every list must be as long as the
    number of leaves says; there must be as many sums as classes. Lines and numbers are written in one way only, so that
    nobody reads them otherwise.

    >>> tree = "Tree=0\nnum_leaves=1\nnum_cat=0\nleaf_value=0.5\nis_linear=0\n\n\n"
    >>> head = "tree\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=0\n"
    >>> check_lightgbm(f"{head}tree_sizes={len(tree)}\n\n{tree}end of trees\n")
    """
    head, *trees = text.partition("\nend of trees")[0].split("\nTree=")
    try:
        about = _table(head)
        width = whole(about["max_feature_idx"]) + 1
        faults = (_fault(_table(tree.partition("\n")[2]), width) for tree in trees)
        fault = _ends(text) or _misplaced(text, _list(about["tree_sizes"]), len(trees))
        fault = fault or _miscounted(about, len(trees)) or next((f for f in faults if f), None)
    except (KeyError, ValueError) as error:
        fault = str(error)[:40] or "text"
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


def _ends(text: str) -> str | None:
    """A line ends, for LightGBM, with a carriage return as well, and a text with a zero.

    What it was trained with stands behind the trees, and is cut up without a look.
    """
    if "\r" in text or "\0" in text:
        return "text"
    _, begun, rest = text.partition("\nparameters:\n")
    given, ended, _ = rest.partition("\nend of parameters\n")
    odd = text.count("\nparameters:") > 1 or bool(begun) != bool(ended)
    return "parameters" if odd or not all(map(_GIVEN.fullmatch, filter(None, given.split("\n")))) else None


def _miscounted(about: dict[str, str], count: int) -> str | None:
    """LightGBM divides by the number of sums, and writes as many as each of these three places says."""
    classes = whole(about["num_class"])
    if not 1 <= classes <= max(count, 1):
        return "num_class"
    if whole(about["num_tree_per_iteration"]) != classes or count % classes:
        return "num_tree_per_iteration"
    objective = about.get("objective")
    if objective is None:
        return None
    name, *given = objective.split(" ")
    named = [one for one in given if one.startswith("num_class")]
    wanted = [f"num_class:{classes}"] if name.startswith("multiclass") else []
    return None if _OBJECTIVE.fullmatch(objective) and named == wanted else "objective"


def _table(text: str) -> dict[str, str]:
    """What is said, by name; a name without a value says nothing, but stands for an empty one."""
    found: dict[str, str] = {}
    for line in text.rstrip("\n").split(
        "\n"
    ):  # an empty line ends what LightGBM reads, and it aborts if that is too little
        name, _, value = line.partition("=")
        if not _NAME.fullmatch(name) or ("=" in value and name != _FREE):
            raise ValueError("line")
        if name in found:
            raise ValueError("twice")
        found[name] = value
    return found


def whole(text: str) -> int:
    """A whole number, written in the usual way.

    >>> whole("-12")
    -12
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(text)
    return int(text)


def _list(text: str) -> list[int]:
    return [whole(one) for one in text.split(" ")] if text else []


def _fault(tree: dict[str, str], width: int) -> str | None:
    leaves, sets = whole(tree["num_leaves"]), whole(tree["num_cat"])
    if leaves < 1 or sets < 0 or tree.get("is_linear", "0") != "0":
        return "num_leaves"
    if not _NUMBER.fullmatch(tree.get("shrinkage", "1")):
        return "shrinkage"
    values = tree["leaf_value"].split(" ")
    if len(values) != leaves or not all(map(_FINITE.fullmatch, values)):
        return "leaf_value"
    for name, count in [(name, leaves) for name in _OF_LEAVES] + [(name, leaves - 1) for name in _OF_SPLITS]:
        told = [one for one in tree.get(name, "").split(" ") if one]
        if (
            (told and len(told) != count)
            or not all(map(_NUMBER.fullmatch, told))
            or tree.get(name, "") != " ".join(told)
        ):
            return name
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
    return None if all(0 <= whole(one) < sets for one in asked) else "threshold"
