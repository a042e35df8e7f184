"""The section that goes from the published set-up to ours, one change at a time."""

from __future__ import annotations

from pathlib import Path

from experiments.config import RUNGS
from experiments.methods import label_of
from experiments.report import figures
from experiments.report.clusters import valid_of
from experiments.report.faithful import faithful
from experiments.report.published import published
from experiments.report.stats import by, paired, summarise
from experiments.report.tables import NONE, Rows, markdown, plural
from experiments.store import Row

__all__ = ["ladder"]


def ladder(read: Rows, pictures: Path) -> list[str]:
    """(l)"""
    optimum, rungs = read("published"), read("ladder")
    out = [
        "The tables of the paper's experiments (reproduction.md) use a cost, options, imputers and models that are "
        "near the published ones, not the same. Here is the published set-up as the authors' code runs it: TLPS with "
        "its distribution function, its options (amounts on a grid between the least and the largest training value; "
        "for forests the thresholds of their splits), its margin, scikit-learn's imputers with their defaults, its "
        "rule, and models trained with its random numbers. Then each step changes one thing. Nothing was tuned to the "
        "published numbers. What is still not copied is listed in experiments/README.md.",
        "A valid ratio in this section counts as the authors count: an action must work for the true row *and* stay "
        "within the bounds. (Elsewhere an amount that would leave the bounds stops there.) A row without a solution is "
        "not valid and costs nothing.",
        "### The models",
    ]
    out += _models(read)
    out.append("### Complete rows")
    out += [*_optimum(optimum), read.source("published")] if optimum else [NONE]
    out.append("### The paper's methods, with blanks")
    out += faithful(read)
    out.append("### Rung by rung")
    if not rungs:
        return [*out, NONE]
    for missing, mine in sorted(by(rungs, "missing").items(), key=lambda item: item[0] != 2):
        out += _rungs(mine, missing, pictures)
    out += [*_credit(read, pictures), read.source("ladder", "ladder-mar", "ladder-mnar")]
    return out


def _models(read: Rows) -> list[str]:
    rows = read("models")
    if not rows:
        return [NONE]
    body = [
        [
            r["dataset"], r["model"], f"{r['train']:,} / {r['test']:,}", f"{100 * r['accuracy']:.1f} %",
            f"{r['rejected']:,}",
        ]
        for r in rows
    ]  # fmt: skip
    return [
        "“-published” models continue with the random numbers that the split has left over, because the authors' code "
        "seeds the generator once. Their regression and, on the paper's four data sets, their forests are those that "
        "scikit-learn 1.2.2 fits (`experiments/published`); the networks are fitted anew. “MLP-scaled” is the same "
        "network on scaled columns, which the paper does not do.",
        markdown(["data set", "model", "training / test rows", "accuracy on test rows", "test rows rejected"], body),
        read.source("models"),
    ]


def _optimum(rows: list[Row]) -> list[str]:
    body = []
    for (dataset, model), group in by(rows, "dataset", "model").items():
        mine = summarise(group)
        theirs = published(dataset, model, "optimal")
        if not mine.n or theirs is None:
            continue
        body.append([
            dataset, model, len(by(group, "instance")), mine.n, f"{mine.cost.value:.4f}",
            f"*{theirs['average_cost']:.3f}* ({theirs['instances']:.0f})",
            f"{100 * (mine.cost.value / theirs['average_cost'] - 1):+.1f} %",
        ])  # fmt: skip
    head = [
        "data set", "model", "rejected people, at most 100", "with an action", "average cost",
        "*the paper's* (people)", "difference",
    ]  # fmt: skip
    return [
        markdown(head, body),
        "With the models of that time the paper's averages come out, and as many people. Today's liblinear stops "
        "elsewhere on columns that are not scaled, and today's forests draw other numbers, and that alone decides who "
        "is rejected and how far they are from the border.",
    ]


def counted_as_published(rows: list[Row]) -> list[Row]:
    """Rows whose validity is that of the authors' count."""
    return [{**row, "valid": bool(valid_of(row))} for row in rows]


def _rungs(rows: list[Row], missing: int, pictures: Path) -> list[str]:
    order = [name for name in RUNGS if any(r["method"] == name for r in rows)]
    mine = counted_as_published(rows)
    picture = figures.ladder(mine, order, pictures, "ladder" if missing == 2 else f"ladder-{missing}")
    text = [
        "The same people on every rung. *People*: how many more are helped than one rung before (“!” where a sign test "
        "says p < 0.05). *Cost*: the mean difference, person by person, with its 95 % interval; always the published "
        "cost, also for the last rung, which minimises ours. The published code has no heuristic for linear models, so "
        "“the paper's rule” and “exact search” change nothing for them.",
    ]
    table = markdown(HEAD, _body(mine, order, with_paper=missing == 2))
    title = f"**{plural(missing, 'value')} missing**"
    if missing == 2:
        return [title, picture, *text, table]
    return [title, picture, f"<details><summary>The table</summary>\n\n{table}\n\n</details>"]


HEAD = [
    "data set", "model", "rung", "people", "valid ratio", "people, against the rung before", "average cost",
    "cost, against the rung before", "sign agreement",
]  # fmt: skip


def _body(rows: list[Row], order: list[str], *, with_paper: bool) -> list[list[object]]:
    body: list[list[object]] = []
    for (dataset, model), group in by(rows, "dataset", "model").items():
        mine = by(group, "method")
        theirs = published(dataset, model, "published") if with_paper else None
        if theirs is not None:
            body.append([
                dataset, model, "*the paper*", f"{theirs['instances']:.0f}", f"*{100 * theirs['valid_ratio']:.0f} %*",
                "", f"*{theirs['average_cost']:.2f}*", "", f"*{theirs['sign_agreement']:.2f}*",
            ])  # fmt: skip
        before: list[Row] | None = None
        for name in order:
            found = summarise(mine.get(name, []))
            if not found.n:
                continue
            step = None if before is None else paired(mine.get(name, []), before)
            body.append([
                dataset, model, label_of(name), found.n, found.valid,
                "" if step is None else f"{step.better - step.worse:+d}{' !' if step.p < 0.05 else ''}", found.cost,
                "" if step is None else f"{step.cost.value:+.2f} ± {step.cost.half:.2f}", found.sign,
            ])  # fmt: skip
            before = mine.get(name, [])
    return body


def _credit(read: Rows, pictures: Path) -> list[str]:
    """GiveMeCredit, where the income is blank at random or not at random."""
    out = []
    for name, title in (("ladder-mar", "blank at random (MAR)"), ("ladder-mnar", "blank not at random (MNAR)")):
        rows = counted_as_published(read(name))
        if not rows:
            continue
        order = list(dict.fromkeys(r["method"] for r in rows if r["method"] not in RUNGS)) + [
            rung for rung in RUNGS if any(r["method"] == rung for r in rows)
        ]
        body = []
        for method in order:
            found = summarise([r for r in rows if r["method"] == method])
            body.append([label_of(method), found.n, found.valid, found.cost, found.sign])
        out += [
            f"**GiveMeCredit, the income {title}**",
            markdown(["method or rung", "people", "valid ratio", "average cost", "sign agreement"], body),
        ]
    return out
