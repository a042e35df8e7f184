"""Do reasons stay honest about blanks? ``python -m lab.benchmarks.reasons``, or with ``--help``.

Complete people whom the model rejects hide two values, and are told why with ``decision="complete"``. The reasons of
the complete row are the truth. Compared are statements from 100 completions and from a single one, which is what one
gets who fills the blanks once:

- coverage: how often the 90 % interval of a blank's weight holds the true weight. Where a blank takes few values, an
  interval cannot hold exactly 90 % of the completions; "stated" is how many it does hold. A single completion states
  one number; it counts as right if it is the true one.
- calibration: of all statements "this feature is among the three that weigh most with probability p", how many are
  true, by p. A single completion says 0 or 1.
- error: the mean absolute error of a blank's weight, as a multiple of the mean absolute true weight.
- LIME: in how many people the first reason is the same by ``method="lime"``, and how many of the first three.

``--speed`` measures seconds of computing for one row instead: all of ``reasons``, the weights alone, and with the
library ``shap`` at hand its TreeExplainer on the same completions against the same people, and its KernelExplainer on
one of them; with ``shapiq`` its TreeExplainer on the same completions, which plays another game (against the training
counts of the tree), and its KernelSHAP against the same people on one of them. ``--shap`` compares the weights of all.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier

from armin import ARMIN, Schema
from armin.datasets import mcar
from armin.explain.draw import draw, row_stream
from armin.explain.reasons import Background
from armin.explain.world import find_world
from armin.models.encoding import read_classifier
from armin.models.oracle import Oracle
from armin.reasons import Reasons
from armin.reasons.attribute import attribute
from armin.reasons.games import play_all
from armin.reasons.score import read_score
from lab.benchmarks.tables import accepted, clocked, load, markdown, options, require_data, train, write

DATASETS = ("FICO", "Attrition", "Student", "WineQuality", "GiveMeCredit", "Adult")
LEVEL, FIRST = 0.9, 3
EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
SHAP, SHAPIQ = ("shap tree", "shap kernel"), ("shapiq tree", "shapiq kernel")


def made(dataset: str, model: str, rows: int) -> tuple[ARMIN, pd.DataFrame, pd.DataFrame]:
    """A fitted explainer, rejected people, and the same with two values hidden."""
    data = load(dataset)
    X, others, y = data.split()
    classifier = train(model, X, y, data.desired)
    schema = data.schema.widened(data.X)
    explainer = ARMIN(classifier, schema, desired=1, decision="complete").fit(X)
    people = others[~accepted(classifier, others)].head(rows)
    masked, _ = mcar(people, 2, random_state=0)
    return explainer, people, masked


def statements(why: Reasons, truth: Reasons, single: bool) -> list[dict[str, Any]]:
    """Every statement about a feature, and whether it is true."""
    found = []
    schema, share = why.people.schema, why.completions / why.completions.sum()
    for stated, true in zip(why.weights, truth.weights, strict=True):
        mine = why.each[:, schema.position(stated.feature.name)]
        inside = float(share @ ((mine >= stated.low - 1e-9) & (mine <= stated.high + 1e-9)))
        if single:
            covered = abs(stated.weight - true.weight) <= 1e-9
        else:
            covered = stated.low - 1e-9 <= true.weight <= stated.high + 1e-9
        found.append(
            {"blank": stated.blank, "covered": covered, "inside": inside, "p": stated.top, "first": true.top == 1.0,
             "error": abs(stated.weight - true.weight), "size": abs(true.weight)}
        )  # fmt: skip
    return found


def run_cell(dataset: str, model: str, rows: int, limes: int) -> dict[str, list[dict[str, Any]]]:
    """All statements about the people of one data set and model, by method."""
    explainer, people, masked = made(dataset, model, rows)
    out: dict[str, list[dict[str, Any]]] = {"many": [], "single": [], "lime": []}
    for i in range(len(people)):
        truth = explainer.reasons(people.iloc[[i]], level=LEVEL, most=FIRST)
        many = explainer.reasons(masked.iloc[[i]], level=LEVEL, most=FIRST)
        one = explainer.reasons(masked.iloc[[i]], level=LEVEL, most=FIRST, n_samples=1)
        out["many"] += statements(many, truth, single=False)
        out["single"] += statements(one, truth, single=True)
        if i < limes:
            other = explainer.reasons(masked.iloc[[i]], level=LEVEL, most=FIRST, n_samples=20, method="lime")
            mine, theirs = ([w.feature.name for w in sorted(r.weights, key=lambda w: w.weight)] for r in (many, other))
            shared = len(set(mine[:FIRST]) & set(theirs[:FIRST]))
            out["lime"].append({"same": mine[0] == theirs[0], "shared": shared})
    return out


def coverage_line(cell: dict[str, list[dict[str, Any]]], names: dict[str, str]) -> dict[str, Any]:
    """How often intervals hold the truth, in one line."""
    many, single = ([s for s in cell[way] if s["blank"]] for way in ("many", "single"))
    size = float(np.mean([s["size"] for s in many])) or 1.0
    limes = cell["lime"]
    return {
        **names, "blanks": len(many), "stated": float(np.mean([s["inside"] for s in many])),
        "covered": float(np.mean([s["covered"] for s in many])),
        "covered, single": float(np.mean([s["covered"] for s in single])),
        "error": float(np.mean([s["error"] for s in many])) / size,
        "error, single": float(np.mean([s["error"] for s in single])) / size,
        "LIME: people": len(limes), "same first": float(np.mean([x["same"] for x in limes])) if limes else None,
        "of three, shared": float(np.mean([x["shared"] for x in limes])) if limes else None,
    }  # fmt: skip


def calibration_lines(stated: list[dict[str, Any]], way: str) -> list[dict[str, Any]]:
    """How often what is said to be among the first is, by the stated probability."""
    p, first = np.array([s["p"] for s in stated]), np.array([s["first"] for s in stated])
    groups = [("0", p <= 0.0)]
    for low, high in pairwise(EDGES):
        inside = (p > low) & (p <= high) if high < 1.0 else (p > low) & (p < 1.0)
        groups.append((f"over {low:g}, up to {high:g}", inside))
    groups.append(("1", p >= 1.0))
    return [
        {"completions": way, "stated": name, "statements": int(inside.sum()),
         "mean stated": float(p[inside].mean()), "true": float(first[inside].mean())}
        for name, inside in groups
        if inside.any()
    ]  # fmt: skip


def speed_line(dataset: str, model: str, rows: int) -> dict[str, Any]:
    """Seconds of computing for one row, medians over people."""
    explainer, people, masked = made(dataset, model, rows)
    fitted = explainer.current
    background = Background.of(fitted, explainer.background_)
    score = background.score(fitted, None)
    group = background.people.codes[background.people.accepted]
    spent: dict[str, list[float]] = {name: [] for name in ("reasons", "weights", *SHAP, *SHAPIQ)}
    explainer.reasons(masked.iloc[[0]])
    for i in range(len(people)):
        with clocked(spent["reasons"]):
            explainer.reasons(masked.iloc[[i]])
        codes = explainer.schema.encode(masked.iloc[[i]])[0]
        world = find_world(fitted, codes)
        sample = draw(fitted, world, codes, 100, row_stream(0, codes, "fresh"))
        with clocked(spent["weights"]):
            attribute(score, sample.values, group, np.random.default_rng(0))
        for beside in (_beside_shap, _beside_shapiq):
            beside(explainer, sample.values, group, spent, kernel=i < 3)
    return {"data": dataset, "model": model, "people": len(people), "compared with": len(group)} | {
        name: float(np.median(times)) if times else None for name, times in spent.items()
    }


def _beside_shap(explainer: ARMIN, values: Any, group: Any, spent: dict[str, list[float]], *, kernel: bool) -> None:
    """The same completions by shap, if it is here: its TreeExplainer on all, its KernelExplainer on the first."""
    if find_spec("shap") is None:
        return
    import shap

    final, rows, others = _behind(explainer, values, group)
    if hasattr(final, "estimators_"):
        with clocked(spent["shap tree"]):
            shap.TreeExplainer(final, others, feature_perturbation="interventional").shap_values(
                rows, check_additivity=False
            )
    if kernel:
        with clocked(spent["shap kernel"]):
            asked = shap.KernelExplainer(lambda x: final.predict_proba(x)[:, 1], others)
            asked.shap_values(rows[:1], silent=True)


def _beside_shapiq(explainer: ARMIN, values: Any, group: Any, spent: dict[str, list[float]], *, kernel: bool) -> None:
    """The same completions by shapiq, if it is here: its TreeExplainer on all, its KernelSHAP on the first."""
    if find_spec("shapiq") is None:
        return
    import shapiq

    final, rows, others = _behind(explainer, values, group)
    if hasattr(final, "estimators_"):
        with clocked(spent["shapiq tree"]):
            tree = shapiq.TreeExplainer(final, max_order=1, index="SV", class_index=1)
            for row in rows:
                tree.explain(row)
    if kernel:
        with clocked(spent["shapiq kernel"]):
            asked = shapiq.TabularExplainer(
                lambda x: final.predict_proba(x)[:, 1], others, imputer="marginal", sample_size=len(others),
                approximator="regression", index="SV", max_order=1, random_state=0,
            )  # fmt: skip
            asked.explain(rows[0], budget=2 * rows.shape[1] + 2048)  # as many coalitions as KernelExplainer takes


def _behind(explainer: ARMIN, values: Any, group: Any) -> tuple[Any, Any, Any]:
    """The model behind the encoder, and rows as it sees them."""
    read = explainer.current.read
    return explainer.classifier[-1], read.encode(values), read.encode(group)


def shap_lines() -> list[dict[str, Any]]:
    """Ours and the libraries' beside every coalition of the classifier itself, on numbers with three decimals."""
    import shap

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(800, 8)).round(3), columns=list("abcdefgh"))
    y = ((X["a"] * X["b"] + X["c"] - X["d"] + rng.normal(0, 0.3, 800)) > 0).astype(int)
    lines = []
    for model in (
        GradientBoostingClassifier(random_state=0),
        RandomForestClassifier(100, max_depth=6, random_state=0),
        HistGradientBoostingClassifier(random_state=0),
    ):
        oracle = Oracle(model.fit(X, y), Schema.infer(X), X.iloc[:0], 1)
        codes = oracle.schema.encode(X)
        score = read_score(read_classifier(oracle), oracle, codes)
        chance = score.unit == "probability"
        asked = (lambda t, m=model: m.predict_proba(t)[:, 1]) if chance else model.decision_function
        brute = play_all(lambda c, o=oracle, a=asked: a(o.table(c)), codes[200:204], codes[:20], range(8)).weights
        ours = attribute(score, codes[200:204], codes[:20], rng).weights
        tree = shap.TreeExplainer(model, X.iloc[:20], feature_perturbation="interventional")
        theirs = _second(tree.shap_values(X.iloc[200:204], check_additivity=False))
        missed = theirs.sum(axis=1) + np.ravel(tree.expected_value)[-1] - asked(X.iloc[200:204])
        lines.append(
            {"model": type(model).__name__, "ours off by": float(np.abs(ours - brute).max()),
             "shap's tree off by": float(np.abs(theirs - brute).max()), "its sum off by": float(np.abs(missed).max())}
            | _shapiq_line(model, asked, X, brute)
        )  # fmt: skip
    return lines


def _shapiq_line(model: Any, asked: Any, X: pd.DataFrame, brute: Any) -> dict[str, Any]:
    """How far shapiq is from every coalition: played out by itself, and by its TreeExplainer with another game."""
    if find_spec("shapiq") is None:
        return {}
    import shap
    import shapiq

    rows, others = X.iloc[200:204].to_numpy(), X.iloc[:20].to_numpy()

    def ask(values: Any) -> Any:
        return asked(pd.DataFrame(values, columns=X.columns))

    played = []
    for row in rows:
        game = shapiq.MarginalImputer(ask, others, x=row, sample_size=len(others), random_state=0)
        played.append(shapiq.ExactComputer(game, rows.shape[1])(index="SV", order=1).get_n_order_values(1))
    line = {"shapiq, all coalitions, off by": float(np.abs(np.array(played) - brute).max())}
    try:
        tree = shapiq.TreeExplainer(model, max_order=1, index="SV", class_index=1)
    except TypeError:
        return line | {"shapiq's tree off by": "not taken", "and from shap's, same game": ""}
    walked = np.array([tree.explain(row).get_n_order_values(1) for row in rows])
    same = _second(shap.TreeExplainer(model).shap_values(X.iloc[200:204], check_additivity=False))
    return line | {
        "shapiq's tree off by": float(np.abs(walked - brute).max()),
        "and from shap's, same game": float(np.abs(walked - same).max()),
    }


def _second(found: Any) -> Any:
    """The weights for the second label, where a library gives both."""
    found = np.asarray(found)
    return found[..., 1] if found.ndim == 3 else found


def main() -> None:
    parser = options(__doc__, rows=60)
    parser.add_argument("--datasets", nargs="*", default=list(DATASETS))
    parser.add_argument("--models", nargs="*", default=["LR", "RF"])
    parser.add_argument("--limes", type=int, default=20, help="people to whom LIME answers too")
    parser.add_argument("--speed", action="store_true", help="measure seconds instead")
    parser.add_argument("--shap", action="store_true", help="compare with shap on trees instead; needs no data sets")
    args = parser.parse_args()
    start = time.perf_counter()
    if args.shap:
        lines = shap_lines()
        print(markdown(lines))
        write(args.json, {"shap": lines}, start)
        return
    require_data()
    rows, limes = (3, 1) if args.quick else (args.rows, args.limes)
    cells = [(dataset, model) for dataset in args.datasets for model in args.models]
    if args.speed:
        lines = []
        for dataset, model in cells:
            lines.append(speed_line(dataset, model, rows))
            print(lines[-1], flush=True)
        print(markdown(lines))
        write(args.json, {"speed": lines}, start)
        return
    table: list[dict[str, Any]] = []
    together: dict[str, list[dict[str, Any]]] = {"many": [], "single": [], "lime": []}
    for dataset, model in cells:
        cell = run_cell(dataset, model, rows, limes)
        table.append(coverage_line(cell, {"data": dataset, "model": model}))
        print(table[-1], f"{time.perf_counter() - start:.0f} s", flush=True)
        for way, found in cell.items():
            together[way] += found
    table.append(coverage_line(together, {"data": "all", "model": ""}))
    curve = calibration_lines(together["many"], "100") + calibration_lines(together["single"], "1")
    print(markdown(table), "\n")
    print(markdown(curve))
    write(args.json, {"coverage": table, "calibration": curve}, start)


if __name__ == "__main__":
    main()
