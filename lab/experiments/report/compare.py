"""Sections that compare methods: MCAR, MAR and MNAR."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lab.experiments.methods import label_of
from lab.experiments.report import figures
from lab.experiments.report.published import published
from lab.experiments.report.stats import by, summarise
from lab.experiments.report.tables import (
    NONE,
    Rows,
    agreement_with_paper,
    at_least_as_good,
    file_name,
    listed,
    markdown,
    matrix,
    order_breaks,
    plural,
)
from lab.experiments.store import Row

__all__ = ["mar_mnar", "mcar"]


def _methods(rows: list[Row]) -> list[str]:
    present = {r["method"] for r in rows}
    order = ("mean", "knn", "mice", "robust", "published", "exact-plain", "exact", "dice")
    return [m for m in order if m in present] + sorted(present - set(order))


def _beside(measure: str) -> Callable[[str, str, str], str | None]:
    def given(dataset: str, model: str, method: str) -> str | None:
        found = published(dataset, model, method)
        if found is None:
            return None
        return f"{100 * found[measure]:.0f} %" if measure == "valid_ratio" else f"{found[measure]:.2f}"

    return given


def mcar(read: Rows, pictures: Path) -> list[str]:
    """(a)"""
    rows = read("mcar")
    if not rows:
        return [NONE, *_optimum(read)]
    out = [
        "The first rejected test rows of each data set lose 1, 2 or 3 values. In a table, *italics are the "
        "paper's number* (public for two missing only). Ratios and means are over the people who can be helped: "
        "those for whom an action exists when nothing is missing. The others are counted at the end. (The paper's "
        "optimum is valid for all of its people, so it seems to do the same.) A method that finds no action for "
        "somebody has not helped them. Costs are those of the action on the true row, averaged over the people "
        "who got one.",
        "All methods here have our cost, options and draws, and the models of today's scikit-learn; “ARMIN, paper's "
        "heuristic” is the published algorithm in that set-up. The published set-up itself, and each step from there "
        "to here, has [a page of its own](section-l.md).",
    ]
    out += _optimum(read)
    methods = _methods(rows)
    for (missing, variant), mine in sorted(by(rows, "missing", "variant").items()):
        paper = missing == 2 and not variant
        out.append(f"### {plural(missing, 'value')} missing" + (f", {variant}" if variant else ""))
        name = "-".join([str(missing), *([file_name(variant)] if variant else [])])
        out.append(figures.trade_off(mine, pictures, f"mcar-{name}", with_published=paper))
        for title, measure, show in (
            ("Valid ratio", "valid_ratio", lambda s: s.valid),
            ("Average cost", "average_cost", lambda s: s.cost),
            ("Sign agreement", "sign_agreement", lambda s: s.sign),
        ):
            out.append(f"**{title}**")
            out.append(matrix(mine, methods, show, _beside(measure) if paper else None))
            out.append(read.source("mcar", missing=missing))
        out.append(figures.bars(mine, pictures, f"sign-{name}", with_published=paper))
    return [*out, *_picture_holds(rows), *_exact_against_published(rows, read), *_against_paper(rows)]


def _optimum(read: Rows) -> list[str]:
    """Nothing missing: our optimum beside the paper's."""
    rows = read("optimum")
    if not rows:
        return []
    body = []
    for (dataset, model), group in by(rows, "dataset", "model").items():
        found, theirs = summarise(group), published(dataset, model, "optimal")
        line = [
            dataset,
            model,
            len(group),
            found.n,
            f"{found.cost.value:.3f} ± {found.cost.half:.3f}" if found.cost.n else "–",
        ]
        if theirs is not None and found.cost.n:
            line += [
                f"*{theirs['average_cost']:.3f}* ({theirs['instances']:.0f})",
                f"{100 * (found.cost.value / theirs['average_cost'] - 1):+.1f} %",
            ]
        body.append([*line, *["–"] * (7 - len(line))])
    head = [
        "data set", "model", "people, at most 100", "who can be helped", "average cost of the optimum",
        "*the paper's* (people)", "difference",
    ]  # fmt: skip
    return [
        "### Nothing missing",
        "The optimum that all methods are compared with, with our cost and options and today's models. With the "
        "paper's "
        "cost, options and models [its averages come out](section-l.md).",
        markdown(head, body),
        read.source("optimum"),
    ]


def _picture_holds(rows: list[Row]) -> list[str]:
    out = [
        "### Does the published picture hold?",
        "The paper's order is ImputationAR < ARMIN < RobustAR, in validity and in cost. By the averages, error "
        "left aside:",
    ]
    for middle in ("exact", "published"):
        total, breaks = order_breaks(rows, middle)
        if not total:
            continue
        lists = [f"{text} than it, {plural(len(which), 'case')}:\n\n{listed(which, '')}"
                 for text, which in breaks.items() if which]  # fmt: skip
        holds = f"the order holds in all of {plural(total, 'cell')}."
        broken = f"the order does not hold everywhere in {plural(total, 'cell')}."
        out.append(f"**{label_of(middle)}**: {broken if lists else holds}")
        joined = "\n\n".join(lists)
        out += [f"<details><summary>Where it breaks</summary>\n\n{joined}\n\n</details>"] if lists else []
    return out


def _exact_against_published(rows: list[Row], read: Rows) -> list[str]:
    out = ["### Exact against the paper's heuristic"]
    total, less, dearer, table = at_least_as_good(rows, "exact", "published")
    if not total:
        return [*out, "One of the two has no rows."]
    out.append(
        "Person by person. *Less valid*: sign test, p < 0.05. *Dearer*: the 95 % interval of the difference in "
        "cost, where both are valid, lies above 0. Exact here means the default: completions that agree with the "
        "rejection. Where the heuristic does too little, it is cheap because it does not work, so costs "
        "are compared where both work."
    )
    out.append(
        f"Less valid, beyond error, in {len(less)} of {plural(total, 'cell')}:\n\n" + listed(less, "- in no cell")
    )
    out.append(
        f"Dearer, beyond error, in {len(dearer)} of {plural(total, 'cell')}:\n\n" + listed(dearer, "- in no cell")
    )
    out.append(f"<details><summary>All cells</summary>\n\n{table}\n\n</details>")
    out.append(read.source("mcar"))
    plain, above = _same_completions(rows)
    if plain:
        out.append(
            "With the same, unconditioned completions the exact search solves the same problem. Of "
            f"{plural(plain, 'person', 'people')} (each number of blanks counted) its own cost is above the "
            f"heuristic's for {len(above)}" + (":\n\n" + listed(above, "") if above else ".")
        )
    return out


def _same_completions(rows: list[Row]) -> tuple[int, list[str]]:
    """People for whom both solved the same problem, and those for whom the exact search is dearer."""
    n, above = 0, []
    for key, group in by(rows, "dataset", "model", "missing", "variant", "instance").items():
        found = {r["method"]: r for r in group}
        plain, other = found.get("exact-plain"), found.get("published")
        if plain and other and other.get("own_cost") is not None:
            n += 1
            if plain.get("own_cost") is None or plain["own_cost"] > other["own_cost"] * (1 + 1e-7) + 1e-9:
                above.append(f"{key}: {plain.get('own_cost')} ({plain['status']}) against {other['own_cost']}")
    return n, above


def _against_paper(rows: list[Row]) -> list[str]:
    two = [r for r in rows if r["missing"] == 2 and not r["variant"]]
    out = ["### Our numbers against the paper's"]
    for measure, title in (
        ("valid_ratio", "Valid ratio"), ("average_cost", "Average cost"), ("sign_agreement", "Sign agreement")
    ):  # fmt: skip
        agree, total, others = agreement_with_paper(two, measure)
        if total:
            out.append(f"**{title}**: {agree} of {total} agree within error (95 %).")
            if others:
                out.append(f"<details><summary>The others</summary>\n\n{listed(others, '')}\n\n</details>")
    out.append(
        "Equal numbers are not to be expected. The published code accepts a heuristic solution by its mean "
        "predicted probability instead of the share of accepted completions, rounds and arg-maxes imputed values, "
        "freezes a missing binary feature when imputations disagree, and draws other blanks. Its models and "
        "completions come from another release of scikit-learn, whose completions scatter more. “Paper's heuristic” "
        "here is its algorithm (N' = 10, P = 10, plain completions; for linear models too, where its code has no "
        "heuristic and solves for all completions at once) with the rule of the paper's text, our cost, options, draws "
        "and models, and every subproblem solved to optimality, which favours it. [Step by step](section-l.md) has the "
        "published set-up itself, and what each difference does."
    )
    return out


def mar_mnar(read: Rows, pictures: Path) -> list[str]:
    """(b)"""
    rows = read("mar") + read("mnar")
    if not rows:
        return [NONE]
    out = [
        "GiveMeCredit, LR. MonthlyIncome is blank for people older than the median (MAR) or with more than the "
        "median income (MNAR). Options lie between the 1 % and 99 % quantiles, as in the paper. People beyond "
        "these bounds are not left out: the bounds are stretched just enough to hold the first hundred people of "
        "each kind."
    ]
    out.append(figures.trade_off(rows, pictures, "mar-mnar", across="experiment", down="model"))
    body = [
        [experiment.upper(), label_of(method), s.n, s.valid, s.cost, s.sign]
        for (experiment, method), group in by(rows, "experiment", "method").items()
        for s in [summarise(group)]
    ]
    out.append(markdown(["blanks", "method", "people", "valid ratio", "cost", "sign agreement"], body))
    out.append(read.source("mar", "mnar"))
    for experiment in by(rows, "experiment"):
        mine = [r for r in rows if r["experiment"] == experiment]
        _, breaks = order_breaks(mine, "exact")
        _, less, dearer, _ = at_least_as_good(mine, "exact", "published")
        order = "; ".join(f"{text} than exact: {', '.join(which)}" for text, which in breaks.items() if which)
        out.append(
            f"{experiment.upper()}: {order or 'the order ImputationAR < ARMIN, exact < RobustAR holds'}. Beyond "
            f"error, exact is {'less valid' if less else 'not less valid'} and "
            f"{'dearer' if dearer else 'not dearer'} than the paper's heuristic."
        )
    return out
