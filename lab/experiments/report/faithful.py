"""The paper's own methods beside the paper's own numbers, and what explains the differences there were."""

from __future__ import annotations

import math

from lab.experiments.methods import label_of
from lab.experiments.report.clusters import valid_of
from lab.experiments.report.published import published
from lab.experiments.report.stats import Mean, Share, by, shown, summarise
from lab.experiments.report.tables import NONE, Rows, listed, markdown, plural
from lab.experiments.store import Row

__all__ = ["faithful"]

NAMES = {
    "mean-published": "mean", "knn-published": "knn", "mice-published": "mice", "robust-published": "robust",
    "rung-published": "published",
}  # fmt: skip
"""Under which name the paper has a method."""


def faithful(read: Rows) -> list[str]:
    """Tables for each number of blanks; with two, the paper's numbers and how many agree."""
    rows = [*read("faithful"), *(r for r in read("ladder") if r["method"] == "rung-published")]
    if not rows:
        return [NONE]
    rows = [{**row, "valid": bool(valid_of(row))} for row in rows]
    out = [
        "In each field: valid ratio · average cost · sign agreement; *in italics the paper's*, public for two missing."
    ]
    for missing, mine in sorted(by(rows, "missing").items(), key=lambda item: item[0] != 2):
        table = _table(mine, with_paper=missing == 2)
        title = f"**{plural(missing, 'value')} missing**"
        if missing == 2:
            out += [title, table, read.source("faithful", "ladder", missing=2), *_agreement(mine)]
        else:
            out += [title, f"<details><summary>The table</summary>\n\n{table}\n\n</details>"]
            out.append(read.source("faithful", "ladder", missing=missing))
    return [*out, *_explained(read)]


def _table(rows: list[Row], *, with_paper: bool) -> str:
    methods = [m for m in NAMES if any(r["method"] == m for r in rows)]
    body = []
    for (dataset, model), group in by(rows, "dataset", "model").items():
        mine, line = by(group, "method"), [dataset, model]
        for method in methods:
            found = summarise(mine.get(method, []))
            theirs = published(dataset, model, NAMES[method]) if with_paper else None
            text = "–" if not found.n else (
                f"{100 * found.valid.value:.0f} % · {shown(found.cost.value, '.2f')} · {shown(found.sign.value, '.2f')}"
            )  # fmt: skip
            if theirs is not None:
                text += (
                    f"<br>*{100 * theirs['valid_ratio']:.0f} % · {theirs['average_cost']:.2f} · "
                    f"{theirs['sign_agreement']:.2f}*"
                )
            line.append(text)
        body.append([*line, summarise(mine.get(methods[0], [])).n])
    heads = ["ARMIN, published code" if m == "rung-published" else label_of(m) for m in methods]
    return markdown(["data set", "model", *heads, "people"], body)


def _agreement(rows: list[Row]) -> list[str]:
    """For each measure, in how many of the cells our number and the paper's agree within error."""
    out = []
    for title, measure in (
        ("valid ratio", "valid_ratio"), ("average cost", "average_cost"), ("sign agreement", "sign_agreement")
    ):  # fmt: skip
        agree, total, others = 0, 0, []
        for (dataset, model, method), group in by(rows, "dataset", "model", "method").items():
            theirs, found = published(dataset, model, NAMES[method]), summarise(group)
            ours: Share | Mean = {"valid_ratio": found.valid, "average_cost": found.cost}.get(measure, found.sign)
            if theirs is None or not ours.n:
                continue
            total += 1
            if _near(ours, theirs[measure], theirs["instances"]):
                agree += 1
            else:
                others.append(f"{dataset} {model} {label_of(method)}: {ours.value:.2f}, paper {theirs[measure]:.2f}")
        text = (
            f"**{title}**: {agree} of {total} agree within error (95 %; the masks are drawn anew, and the error of "
            "both sides counts)."
        )
        if others:
            text += f"\n\n<details><summary>The others</summary>\n\n{listed(others, '')}\n\n</details>"
        out.append(text)
    return out


def _near(ours: Share | Mean, theirs: float, n: float) -> bool:
    if isinstance(ours, Share):
        p = (ours.k + theirs * n + 1) / (ours.n + n + 2)
        error = math.sqrt(p * (1 - p) * (1 / ours.n + 1 / n))
    else:
        error = ours.deviation * math.sqrt(1 / ours.n + 1 / n)
    return abs(ours.value - theirs) <= 1.96 * error + 0.005


def _explained(read: Rows) -> list[str]:
    """What the large differences of earlier versions of this page came from, and what is left."""
    return [
        "#### What was tried, and what remains",
        "Three things that this page used to call unexplained have an explanation.",
        "**The spread of the completions** (WineQuality, LR and MLP above all). Older releases of scikit-learn, such "
        "as "
        "1.2.2, take the deviation of a "
        "Bayesian ridge's prediction at the columns as they are instead of the columns minus their means (scikit-learn "
        "issue 33757, mended by pull request 33918; 1.9.1 has it). Where a column's mean is large beside its spread, "
        "such as the density of a wine, draws then scatter too much. The paper's completions were drawn so, and left "
        "beyond the bounds where they fell there; that is why RobustAR and ARMIN were so dear on WineQuality. The "
        "rungs “today's scikit-learn” and “completions within bounds” undo the one and the other:",
        *_wine(read),
        "**The networks and forests.** The authors' code seeds the global generator once, before the split, and the "
        "models draw from what is left. Done in the same order, today's networks give the paper's optimum; the forests "
        "are those of scikit-learn 1.2.2.",
        "**The valid ratio of RobustAR** below 100 % where it works for all completions: an amount that takes the true "
        "row beyond a bound counts as not valid.",
        "What remains are the pairs listed above as not agreeing, if there are any. Which values are blank is drawn "
        "anew "
        "here, because the paper's masks come from a generator that the completions of everybody before have drawn "
        "from; [five splits and five masks](section-m.md) say how much that alone moves an average.",
    ]


def _wine(read: Rows) -> list[str]:
    """ARMIN on WineQuality, with the draws of that time and with today's."""
    rungs = ("rung-published", "rung-library", "rung-bounds")
    rows = [r for r in read("ladder") if r["dataset"] == "WineQuality" and r["missing"] == 2 and r["method"] in rungs]
    body = []
    for model, group in by([{**r, "valid": bool(valid_of(r))} for r in rows], "model").items():
        theirs, mine = published("WineQuality", model, "published"), by(group, "method")
        if theirs is None:
            continue
        found = [summarise(mine.get(rung, [])) for rung in rungs]
        body.append([
            model, f"*{100 * theirs['valid_ratio']:.0f} % · {theirs['average_cost']:.2f}*",
            *(f"{100 * f.valid.value:.0f} % · {f.cost}" if f.n else "–" for f in found),
        ])  # fmt: skip
    if not body:
        return ["(No rows of WineQuality with two values missing are stored.)"]
    head = ["ARMIN on WineQuality, two missing", "*the paper*", *map(label_of, rungs)]
    source = read.source("ladder", dataset="WineQuality", missing=2)
    return [markdown(head, body), "In each field: valid ratio · average cost.", source]
