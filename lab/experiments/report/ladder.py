"""The section that goes from the published set-up to ours, one change at a time."""

from __future__ import annotations

from pathlib import Path

from lab.experiments.config import BASELINES, RUNGS
from lab.experiments.methods import label_of
from lab.experiments.report import figures
from lab.experiments.report.clusters import valid_of
from lab.experiments.report.faithful import faithful
from lab.experiments.report.published import published
from lab.experiments.report.stats import by, paired, summarise
from lab.experiments.report.tables import NONE, Rows, markdown, plural
from lab.experiments.store import Row

__all__ = ["ladder"]

NEAR = 0.005
"""How near to the paper's optimum ours should be."""


def ladder(read: Rows, pictures: Path) -> list[str]:
    """(l)"""
    return [
        "The tables of [the paper's experiments](reproduction.md) use a cost, options, imputers and models that are "
        "near the published ones, not the same. Here is the published set-up as the authors' code runs it: TLPS with "
        "its distribution function, its options (amounts on a grid between the least and the largest training value; "
        "for forests the thresholds of their splits), its margin, scikit-learn's imputers with their defaults, its "
        "rule, and models trained with its random numbers. Then each step changes one thing. Nothing was tuned to the "
        "published numbers. What is still not copied is listed in "
        "[lab/experiments/README.md](../experiments/README.md).",
        "A valid ratio in this section counts as the authors count: an action must work for the true row *and* stay "
        "within the bounds. (Elsewhere an amount that would leave the bounds stops there.) A row without a solution is "
        "not valid and costs nothing.",
        "### The models",
        *_models(read),
        "### Complete rows",
        *_optimum(read),
        "### The paper's methods, with blanks",
        *faithful(read),
        "### Rung by rung",
        *_rungs(read, pictures),
        "### Blank at random, and not at random",
        *_credit(read),
    ]


def _models(read: Rows) -> list[str]:
    rows = read("models")
    if not rows:
        return [NONE, *_scaled(read)]
    body = []
    for r in rows:
        theirs = published(r["dataset"], r["model"], "optimal") if r["model"].endswith("-published") else None
        body.append([
            r["dataset"], r["model"], f"{r['train']:,} / {r['test']:,}", f"{100 * r['accuracy']:.1f} %",
            f"{r['rejected']:,}", "–" if theirs is None else f"*{theirs['instances']:.0f}*",
        ])  # fmt: skip
    head = [
        "data set", "model", "training / test rows", "accuracy on test rows", "test rows rejected",
        "*the paper explains* (at most 100, who can be helped)",
    ]  # fmt: skip
    return [
        "“-published” models continue with the random numbers that the split has left over, because the authors' code "
        "seeds the generator once. Their regression and, on the paper's four data sets, their forests are those that "
        "scikit-learn 1.2.2 fits (`lab/experiments/published`); the networks are fitted anew. “MLP-scaled” is the same "
        "network on scaled columns, which the paper does not do.",
        markdown(head, body),
        read.source("models"),
        *_scaled(read),
    ]


def _scaled(read: Rows) -> list[str]:
    """The network with and without scaled columns."""
    rows = read("scaled")
    if not rows:
        return ["The network with and without scaled columns, with blanks: " + NONE]
    methods = list(dict.fromkeys(r["method"] for r in rows))
    body = []
    for (dataset, model), group in by(rows, "dataset", "model").items():
        mine = by(group, "method")
        fields = [summarise(mine.get(method, [])) for method in methods]
        body.append([
            dataset, model, len(by(group, "instance")), max(f.n for f in fields),
            *(f"{100 * f.valid.value:.0f} % · {f.cost}" if f.n else "–" for f in fields),
        ])  # fmt: skip
    head = ["data set", "model", "people", "who can be helped", *map(label_of, methods)]
    return [
        "**The network with and without scaled columns**, two values missing, our cost and options. In each field: "
        "valid "
        "ratio · average cost. A network on raw columns has other borders, and rejects other people; the order of the "
        "methods can be read within a line.",
        markdown(head, body),
        read.source("scaled"),
    ]


def _optimum(read: Rows) -> list[str]:
    rows = read("published")
    if not rows:
        return [NONE]
    body, near, far = [], [], []
    for (dataset, model), group in by(rows, "dataset", "model").items():
        mine = summarise(group)
        theirs = published(dataset, model, "optimal")
        if not mine.cost.n or theirs is None:
            continue
        off = mine.cost.value / theirs["average_cost"] - 1
        if model.endswith("-published"):
            (near if abs(off) <= NEAR else far).append(f"{dataset} {model}")
        body.append([
            dataset, model, len(by(group, "instance")), mine.n, f"{mine.cost.value:.4f}",
            f"*{theirs['average_cost']:.3f}* ({theirs['instances']:.0f})", f"{100 * off:+.1f} %",
        ])  # fmt: skip
    head = [
        "data set", "model", "rejected people, at most 100", "with an action", "average cost",
        "*the paper's* (people)", "difference",
    ]  # fmt: skip
    total = len(near) + len(far)
    return [
        markdown(head, body),
        read.source("published"),
        f"With the models of that time, {len(near)} of {plural(total, 'average')} are within {100 * NEAR:g} % of the "
        f"paper's{'' if not far else ' (not: ' + ', '.join(far) + ')'}. Today's liblinear stops elsewhere on columns "
        "that are not scaled, and today's forests draw other numbers, and that alone decides who is rejected and how "
        "far they are from the border.",
    ]


def counted_as_published(rows: list[Row]) -> list[Row]:
    """Rows whose validity is that of the authors' count."""
    return [{**row, "valid": bool(valid_of(row))} for row in rows]


def on_all_rungs(rows: list[Row]) -> list[Row]:
    """Rows of the people who were on every rung: of a cell that was stopped, the last may have been on some only."""
    found = []
    for group in by(rows, "dataset", "model", "missing", "variant").values():
        rungs = {r["method"] for r in group}
        whole = {i for i, mine in by(group, "instance").items() if {r["method"] for r in mine} == rungs}
        found += [r for r in group if r["instance"] in whole]
    return found


def _rungs(read: Rows, pictures: Path) -> list[str]:
    """An overview of two missing, then for each data set and model a figure and its tables."""
    rows = on_all_rungs(counted_as_published(read("ladder")))
    if not rows:
        return [NONE]
    order = [name for name in RUNGS if any(r["method"] == name for r in rows)]
    out = [
        "The same people on every rung. *Against the rung before*: the difference, person by person, with its 95 % "
        "interval; “!” where a sign test of the people says p < 0.05. Always the published cost, also for the last "
        "rung, which minimises ours. The published code has no heuristic for linear models, so “the paper's rule” and "
        "“exact search” change nothing for them.",
    ]
    two = [r for r in rows if r["missing"] == 2]
    if two:
        out += ["**Two values missing, all at a glance**", figures.ladder(two, order, pictures, "ladder")]
    for (dataset, model), mine in by(rows, "dataset", "model").items():
        name = f"ladder-{dataset}-{model}".lower()
        out += [f"#### {dataset}, {model}", figures.rungs(mine, order, pictures, name)]
        for missing, group in sorted(by(mine, "missing").items(), key=lambda item: item[0] != 2):
            table = markdown(HEAD, _body(group, order, with_paper=missing == 2))
            title = f"{plural(missing, 'value')} missing"
            whole = missing == 2 or len(by(mine, "missing")) == 1
            out += (
                [f"**{title}**", table] if whole else [f"<details><summary>{title}</summary>\n\n{table}\n\n</details>"]
            )
        out.append(read.source("ladder", dataset=dataset, model=model))
    return out


HEAD = [
    "rung", "people", "valid ratio", "against the rung before", "average cost", "against the rung before",
    "sign agreement",
]  # fmt: skip


def _body(rows: list[Row], order: list[str], *, with_paper: bool) -> list[list[object]]:
    """The lines of one data set, model and number of blanks."""
    mine = by(rows, "method")
    theirs = published(rows[0]["dataset"], rows[0]["model"], "published") if with_paper else None
    body: list[list[object]] = []
    if theirs is not None:
        body.append([
            "*the paper*", f"{theirs['instances']:.0f}", f"*{100 * theirs['valid_ratio']:.0f} %*", "",
            f"*{theirs['average_cost']:.2f}*", "", f"*{theirs['sign_agreement']:.2f}*",
        ])  # fmt: skip
    before: list[Row] | None = None
    for name in order:
        found = summarise(mine.get(name, []))
        if not found.n:
            body.append([label_of(name), 0, "not run", "", "", "", ""])
            continue
        gain = cost = ""
        if before is not None:
            step = paired(mine[name], before)
            gain = f"{100 * step.gain.value:+.0f} ± {100 * step.gain.half:.0f} points{' !' if step.p < 0.05 else ''}"
            gain = gain if step.n else "–"
            cost = f"{round(step.cost.value, 2) + 0.0:+.2f} ± {step.cost.half:.2f}" if step.cost.n else "–"
        body.append([label_of(name), found.n, found.valid, gain, found.cost, cost, found.sign])
        before = mine[name]
    return body


def _credit(read: Rows) -> list[str]:
    """GiveMeCredit, where the income is blank at random or not at random."""
    out = [
        "Here bounds are the 1 % and 99 % quantiles of the training rows, as published, and bound actions only: "
        "imputers, cost and completions learn from all training rows as they are, whoever lies beyond the bounds is "
        "asked like anybody else, the median age and income that decide who leaves the income blank are those of the "
        "training rows, and people without a valid optimum are left out. Our own set-up is "
        "[another one](reproduction.md): there the cost and the completions learn from the first 10,000 training rows, "
        "pulled within the bounds, and the bounds are stretched to hold the people who ask."
    ]
    for name, title in (("ladder-mar", "blank at random (MAR)"), ("ladder-mnar", "blank not at random (MNAR)")):
        mine = _with_an_optimum(read(name))
        out.append(f"**GiveMeCredit, the income {title}**")
        if not mine:
            out.append(NONE)
            continue
        order = [name for name in ("optimal-published", *BASELINES, *RUNGS) if name in mine]
        lines = [[label_of(m), (found := summarise(mine[m])).n, found.valid, found.cost, found.sign] for m in order]
        head = ["method", "people", "valid ratio", "average cost", "sign agreement"]
        out += [markdown(head, lines), read.source(name)]
    claims = _claims(read)
    if claims:
        out += [
            "The paper shows these two as a picture, and in words. The authors' results for each person are public; "
            "they were not looked at, so that agreement means something. What the paper says of the picture, asked of "
            "the rows:",
            markdown(["what the paper says", "here", "in figures"], claims),
            read.source("ladder-mar", "ladder-mnar"),
        ]
    return out + _table_1(read)


def _with_an_optimum(rows: list[Row]) -> dict[str, list[Row]]:
    """By method, the rows of the people who have a valid optimum: the paper leaves out the others."""
    counted = counted_as_published(rows)
    kept = {r["instance"] for r in counted if r["method"] == "optimal-published" and r["valid"]}
    return by([r for r in counted if r["instance"] in kept], "method")


PAPER_TABLE_1 = {
    "optimal-published": ("90 days late −3", "True", 3.00),
    "mean-published": ("revolving utilisation −0.49", "False", 2.75),
    "robust-published": ("revolving utilisation −0.36, 90 days late −3", "True", 5.42),
    "rung-published": ("90 days late −3", "True", 3.00),
}
"""The paper's examples of actions under MAR: what changes, whether it is valid, and its cost."""
LATE, USED = "NumberOfTimes90DaysLate", "RevolvingUtilizationOfUnsecuredLines"


def _table_1(read: Rows) -> list[str]:
    """The people whose optimum and mean imputation are those of the paper's Table 1, found in the rows."""
    found = []
    for instance, rows in by(read("ladder-mar"), "instance").items():
        mine = {r["method"]: r for r in rows}
        if all(name in mine for name in PAPER_TABLE_1) and _is_table_1(mine):
            found.append((instance, mine))
    if not found:
        return ["Nobody here has the optimum and the mean imputation of the paper's Table 1."]
    out = [
        f"**The person of the paper's Table 1.** Of those who are asked under MAR, {plural(len(found), 'person')} "
        f"{'has' if len(found) == 1 else 'have'} 90 days late −3 as the optimum, and revolving utilisation −0.49 after "
        "mean imputation, which fails:"
    ]
    for instance, mine in found:
        body = []
        for name, (change, valid, cost) in PAPER_TABLE_1.items():
            r = mine[name]
            made = ", ".join(f"{_short(c[0])} {str(c[3]).replace('-', '−')}" for c in r["changes"])
            body.append(
                [
                    label_of(name),
                    made,
                    str(bool(valid_of(r))),
                    f"{r['cost']:.2f}",
                    f"*{change}*",
                    f"*{valid}*",
                    f"*{cost:.2f}*",
                ]
            )
        head = ["method", f"row {instance}", "valid", "cost", "*the paper*", "*valid*", "*cost*"]
        out += [markdown(head, body), read.source("ladder-mar")]
    out.append("RobustAR depends on the completions that were drawn, which are others here.")
    return out


def _is_table_1(mine: dict[str, Row]) -> bool:
    optimum, mean = mine["optimal-published"]["changes"], mine["mean-published"]["changes"]
    return (
        [(c[0], float(c[3])) for c in optimum] == [(LATE, -3.0)]
        and [(c[0], round(float(c[3]), 2)) for c in mean] == [(USED, -0.49)]
        and not valid_of(mine["mean-published"])
    )


def _short(name: str) -> str:
    return {LATE: "90 days late", USED: "revolving utilisation"}.get(name, name)


def _claims(read: Rows) -> list[list[str]]:
    """What the paper says of its picture, whether the rows say so, and by how much."""
    out = []
    for name, title in (("ladder-mar", "MAR"), ("ladder-mnar", "MNAR")):
        mine = _with_an_optimum(read(name))
        ours, robust = mine.get("rung-published"), mine.get("robust-published")
        if not ours or not robust:
            continue
        fills = [m for m in ("mean-published", "knn-published", "mice-published") if m in mine]
        less = [m for m in fills if paired(mine[m], ours).less_valid]
        out.append([
            f"{title}: the valid ratio of ImputationAR is significantly lower than the others",
            "yes" if len(less) == len(fills) else "no",
            f"{len(less)} of {plural(len(fills), 'imputer')} by a sign test (p < 0.05)",
        ])  # fmt: skip
        more = paired(robust, ours).cost
        out.append([
            f"{title}: the costs of RobustAR are higher than ARMIN's",
            "yes" if more.n and more.value > more.half else "no",
            f"{more.value:+.2f} ± {more.half:.2f}, person by person" if more.n else "–",
        ])  # fmt: skip
    return out
