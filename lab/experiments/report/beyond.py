"""Sections that the paper does not have, and the time table: real blanks, complete rows, seconds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lab.experiments.config import EXPERIMENTS
from lab.experiments.methods import label_of
from lab.experiments.report import figures
from lab.experiments.report.published import published_seconds
from lab.experiments.report.stats import by, mean, summarise
from lab.experiments.report.tables import (
    NONE,
    Rows,
    listed,
    markdown,
    matrix,
    plural,
)
from lab.experiments.store import Row

__all__ = ["blanks", "clock", "complete"]


def blanks(read: Rows, pictures: Path) -> list[str]:
    """(h)"""
    rows, known = read("blanks"), [r for r in read("mcar") if r.get("isolation") is not None]
    out = []
    if rows:
        out.append(
            "People whose rows really have blanks: FICO's special codes, GiveMeCredit's unknown incomes and "
            "dependents, Adult's question marks. Nobody knows the true values, so an action is judged by 200 "
            "fresh completions that the model rejects, from two samplers: chained equations and nearest donors. "
            "Models are trained behind a median or mode imputation; people are those whom the model rejects as "
            "they are."
        )
        judges = ("chained", "donors")
        out += [figures.trade_off(rows, pictures, f"blanks-{judge}", judge=judge) for judge in judges]
        body = []
        for (dataset, model, method), group in by(rows, "dataset", "model", "method").items():
            s = summarise(group)
            shares = [figures.fresh_share(group, judge) for judge in ("chained", "donors")]
            body.append([dataset, model, label_of(method), s.n, *shares, s.cost])
        head = ["data set", "model", "method", "people", "fresh share (chained)", "fresh share (donors)", "cost"]
        out += [markdown(head, body), read.source("blanks")]
    else:
        out.append(NONE)
    scored = [r for r in rows if r.get("isolation") is not None]
    out.append("### Plausibility of the outcome")
    if not scored and not known:
        return [*out, NONE]
    out.append(
        "Scores of the person after the action minus before, by an isolation forest and a local outlier factor "
        "learned from training rows: below 0 the outcome is less usual than the person was. An action that does "
        "nothing scores 0, so the cheapest method looks best here; read it beside validity."
    )
    for name, group in (("plausibility-mcar", known), ("plausibility-blanks", scored)):
        if group:
            out.append(figures.plausibility(group, pictures, name))
            body = [
                [label_of(m), len(g), f"{mean(r['isolation'] - r['isolation_before'] for r in g).value:+.4f}",
                 f"{mean(r['lof'] - r['lof_before'] for r in g).value:+.4f}"]
                for m, g in by(group, "method").items()
            ]  # fmt: skip
            where = "two missing (MCAR)" if name.endswith("mcar") else "real blanks"
            out.append(markdown([f"method, {where}", "rows", "isolation forest", "LOF"], body))
            out.append(read.source("mcar" if name.endswith("mcar") else "blanks"))
    return out


def complete(read: Rows, pictures: Path) -> list[str]:
    """(i)"""
    rows = read("complete")
    if not rows:
        return [NONE]
    asked, above, body = 0, [], []
    for (dataset, model, variant), group in by(rows, "dataset", "model", "variant").items():
        people = by(group, "instance")
        beaten, proved, listed_, answered = 0, 0, 0, 0
        for instance, mine in people.items():
            found = {r["method"]: r for r in mine}
            ours = found.get("optimal", {}).get("own_cost")
            rivals = [
                found[m]["own_cost"] for m in ("milo", "brute") if m in found and found[m].get("own_cost") is not None
            ]
            proved += found.get("milo", {}).get("status") in ("optimal", "infeasible")
            listed_ += found.get("brute", {}).get("status") in ("optimal", "infeasible")
            answered += bool(rivals)
            asked += 1
            if rivals and (ours is None or ours > min(rivals) * (1 + 1e-7) + 1e-9):
                beaten += 1
                above.append(f"{dataset} {model} {variant}, person {instance}: {ours} against {min(rivals)}")
        seconds = {m: summarise(g).seconds for m, g in by(group, "method").items()}
        body.append([
            dataset, model, variant, len(people), answered, proved, listed_, beaten,
            *(f"{seconds[m].value:.2f} s" if m in seconds and seconds[m].n else "–"
                for m in ("optimal", "milo", "brute")),
        ])  # fmt: skip
    head = [
        "data set", "model", "", "people", "a rival answered", "MILO proved", "brute force finished", "a rival cheaper",
        "exact search", "MILO", "brute force",
    ]  # fmt: skip
    verdict = (
        f"Our optimum is above the best of MILO and brute force for none of {plural(asked, 'problem')}."
        if not above
        else f"Our optimum is above a rival's for {plural(len(above), 'problem')}:\n\n{listed(above, '')}"
    )
    return [
        "Nothing is missing; the paper's grid and cost. MILO is given "
        f"{EXPERIMENTS['complete'].variants[0].settings.milo_limit:g} s in a complete run; brute force lists at "
        "most five million choices.",
        verdict,
        markdown(head, body),
        read.source("complete"),
    ]


def clock(read: Rows, pictures: Path) -> list[str]:
    """(t)"""
    rows, milo, engine = read("mcar"), read("clock"), read("engine")
    if not rows and not milo and not engine:
        return [NONE]
    return [
        "Mean seconds for one person, everything included (sampling, stating the problem, "
        "solving, checking). *Italics: the paper's mean ± standard deviation* (Intel Xeon E-2274G, 4 GHz, Gurobi "
        "10). The paper's three time tables, for 1, 2 and 3 missing, hold the same numbers. Machines differ, and ours "
        "may "
        "have had other work, so compare columns, not machines.",
        *_by_blanks(read, rows, milo),
        "### In the search, and from end to end",
        *_engine(read, engine),
    ]


def _by_blanks(read: Rows, rows: list[Row], milo: list[Row]) -> list[str]:
    """Seconds from end to end for 1, 2 and 3 missing, beside the paper's."""
    methods = ["mean", "knn", "mice", "robust", "published-milo", "published", "exact-plain", "exact", "dice"]

    def beside(dataset: str, model: str, method: str) -> str | None:
        given = published_seconds(dataset, model, "published" if method == "published-milo" else method)
        return None if given is None or method == "published" else f"{given[0]:.3g} ± {given[1]:.3g}"

    out = [
        f"“{label_of('published-milo')}” solves its ten subproblems on HiGHS with "
        f"{EXPERIMENTS['clock'].variants[0].settings.sub_limit:g} s each in a complete "
        "run, where the paper allows 60 s, on a few people only: its times are cut off and so too small. “ARMIN, "
        "paper's heuristic” solves the same subproblems by the exact search.",
    ]
    plain = [r for r in rows if not r["variant"]]
    for missing in (1, 2, 3):
        # a solve takes time whether or not there is an action to find
        mine = [
            {**r, "possible": True} for r in [*plain, *milo] if r["missing"] == missing and r.get("seconds") is not None
        ]
        out.append(f"**{plural(missing, 'value')} missing**")
        if not mine:
            out.append(NONE)
            continue
        present = {r["method"] for r in mine}
        shown = [m for m in methods if m in present] + sorted(present - set(methods))
        out.append(matrix(mine, shown, lambda s: f"{s.seconds.value:.3g} s (n = {s.n})", beside))
        out.append(read.source("mcar", *(["clock"] if missing == 2 else []), missing=missing))
    return out


def _engine(read: Rows, rows: list[Row]) -> list[str]:
    """Seconds in the search beside those from end to end, for each method and model."""
    timed = [r for r in rows if r.get("engine") is not None]
    if not timed:
        return [NONE]
    head = ["method", "people", "search, median", "95th percentile", "end to end, median", "95th percentile",
            "share of the search"]  # fmt: skip
    every = [[*key, *_spent(group)] for key, group in by(timed, "dataset", "model", "method").items()]
    table = markdown(["data set", "model", *head], [[d, m, label_of(k), *rest] for d, m, k, *rest in every])
    return [
        "Two values missing. *Search*: what the solver takes to find and prove the action. *End to end*: with drawing "
        "completions, stating the problem, asking the model and checking, as in the tables above. All data sets "
        "together:",
        markdown(
            ["model", *head],
            [[m, label_of(k), *_spent(group)] for (m, k), group in sorted(
                by(timed, "model", "method").items(), key=lambda item: _order(timed, item[0]))],
        ),
        read.source("engine"),
        f"<details><summary>By data set</summary>\n\n{table}\n\n</details>",
        read.source("engine"),
    ]  # fmt: skip


def _order(rows: list[Row], pair: tuple[str, str]) -> tuple[int, int]:
    """Models and methods in the order in which they first come."""
    models, methods = list(by(rows, "model")), list(by(rows, "method"))
    return models.index(pair[0]), methods.index(pair[1])


def _spent(rows: list[Row]) -> list[object]:
    """People, and medians and 95th percentiles of the seconds in the search and from end to end."""
    search, whole = [r["engine"] for r in rows], [r["seconds"] for r in rows]
    shares = [_shown(at(values, share)) for values in (search, whole) for share in (0.5, 0.95)]
    return [len(rows), *shares, f"{100 * sum(search) / sum(whole):.0f} %"]


def at(values: list[float], share: float) -> float:
    """A quantile.

    >>> at([1.0, 2.0, 3.0], 0.5)
    2.0
    """
    return float(np.quantile(values, share))


def _shown(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"
