"""The main comparison over several splits and masks."""

from __future__ import annotations

import math
from pathlib import Path

from lab.experiments.methods import label_of
from lab.experiments.report.clusters import ALONE, by_cell, clustered, cost_of, difference, valid_of, valid_share
from lab.experiments.report.published import published
from lab.experiments.report.stats import by
from lab.experiments.report.tables import NONE, Rows, listed, markdown, plural
from lab.experiments.store import Row

__all__ = ["splits"]

NAMES = {
    "mean-published": "mean", "knn-published": "knn", "mice-published": "mice", "robust-published": "robust",
    "rung-published": "published",
}  # fmt: skip
"""Under which name the paper has a method."""


def splits(read: Rows, pictures: Path) -> list[str]:
    """(m)"""
    rows = read("splits")
    if not rows:
        return [NONE]
    seeds, masks = sorted({r["split"] for r in rows}), sorted({r["mask"] for r in rows})
    worlds = by(rows, "dataset", "model", "split").values()
    people = max(len({r["instance"] for r in world}) for world in worlds)
    out = [
        f"{plural(len(seeds), 'split')} into training and test rows, and for each {plural(len(masks), 'draw')} of two "
        f"blanks; at most {plural(people, 'rejected person', 'rejected people')} of each split and model. The "
        "published cost, options, completions, rule and way of counting (see the ladder), with today's scikit-learn "
        "models, because those of that time are known for the paper's own split only.",
        "Intervals are 95 % over both: a split is one cluster, because the people and masks of a split share its "
        "model; the mean is over all rows, its error is that of the splits' residuals, and the quantile is Student's "
        "with one degree of freedom less than there are splits; where all rows are valid, or none is, it is Wilson's "
        "over the "
        "people. *Italics: the paper's number*, from one split and one "
        "mask; bold where it lies outside our interval.",
        *_alone(rows),
        *_models(read),
        "**Valid ratio**",
        _table(rows, "valid_ratio"),
        read.source("splits"),
        "**Average cost**",
        _table(rows, "average_cost"),
        read.source("splits"),
        "**ARMIN: ours against the published code, person by person**",
        _against(rows),
        read.source("splits"),
        "**What varies**: standard deviations of a valid ratio, in points. A single split with a single mask, as in "
        "the paper, is one draw from both.",
        _spread(rows),
        *_outside(rows),
    ]
    return [*out, read.source("splits")]


def _models(read: Rows) -> list[str]:
    """The models of each split: how good they are, and how many people they reject."""
    rows = read("split-models")
    if not rows:
        return []
    seeds = sorted({r["split"] for r in rows})
    body = []
    for (dataset, model), mine in by(rows, "dataset", "model").items():
        of = {r["split"]: r for r in mine}
        fields = (f"{100 * of[s]['accuracy']:.1f} % · {of[s]['rejected']:,}" if s in of else "–" for s in seeds)
        body.append([dataset, model, *fields])
    none = [f"{r['dataset']} {r['model']} split {r['split']}" for r in rows if not r["rejected"]]
    said = f" Nobody is rejected, and so nobody can be explained: {', '.join(none)}." if none else ""
    return [
        "**The models of each split**: accuracy on the test rows · test rows rejected." + said,
        markdown(["data set", "model", *(f"split {s}" for s in seeds)], body),
        read.source("split-models"),
    ]


def _order(rows: list[Row]) -> list[str]:
    present = {r["method"] for r in rows}
    known = (*NAMES, "rung-conditioned")
    return [m for m in known if m in present]


def _table(rows: list[Row], measure: str) -> str:
    methods = _order(rows)
    body = []
    for (dataset, model), mine in by_cell(rows).items():
        line: list[object] = [dataset, model]
        for method in methods:
            group = mine.get(method, [])
            found = valid_share(group) if measure == "valid_ratio" else clustered(group, cost_of)
            text = found.text(100, 0, " %") if measure == "valid_ratio" else found.text()
            theirs = published(dataset, model, NAMES.get(method, ""))
            if theirs is not None and found.n:
                said = f"{100 * theirs[measure]:.0f} %" if measure == "valid_ratio" else f"{theirs[measure]:.2f}"
                text += f" · *{said}*" if found.holds(theirs[measure]) else f" · ***{said}***"
            line.append(text)
        body.append([*line, clustered(mine.get(methods[0], []), valid_of).n])
    heads = ["ARMIN, published code" if m == "rung-published" else label_of(m) for m in methods]
    heads = ["ARMIN, exact and conditioned" if h == label_of("rung-conditioned") else h for h in heads]
    return markdown(["data set", "model", *heads, "rows"], body)


def _against(rows: list[Row]) -> str:
    body = []
    for (dataset, model), mine in by_cell(rows).items():
        ours, theirs = mine.get("rung-conditioned", []), mine.get("rung-published", [])
        valid, cost = difference(ours, theirs, valid_of), difference(ours, theirs, cost_of)
        body.append([dataset, model, valid.n, valid.text(100, 0, " points"), cost.text()])
    return markdown(["data set", "model", "rows", "valid ratio", "cost"], body)


def _spread(rows: list[Row]) -> str:
    body = []
    for (dataset, model), mine in by_cell(rows).items():
        line: list[object] = [dataset, model]
        for method in ("robust-published", "rung-published", "rung-conditioned"):
            found = clustered(mine.get(method, []), valid_of)
            line.append(" · ".join("–" if math.isnan(v) else f"{100 * v:.0f}" for v in (found.between, found.within)))
        body.append(line)
    head = ["data set", "model", *(label_of(m) for m in ("robust-published", "rung-published", "rung-conditioned"))]
    return markdown(head, body) + "\n\nIn each field: between splits · between masks of one split."


def _outside(rows: list[Row]) -> list[str]:
    total, valid, cost = 0, [], []
    for (dataset, model), mine in by_cell(rows).items():
        for method in _order(rows):
            theirs = published(dataset, model, NAMES.get(method, ""))
            found = valid_share(mine.get(method, [])), clustered(mine.get(method, []), cost_of)
            if theirs is None or not found[0].n:
                continue
            total += 1
            name = f"{dataset} {model} {label_of(method)}"
            if not found[0].holds(theirs["valid_ratio"]):
                valid.append(f"{name}: {found[0].text(100, 0, ' %')}, paper {100 * theirs['valid_ratio']:.0f} %")
            if not found[1].holds(theirs["average_cost"]):
                cost.append(f"{name}: {found[1].text()}, paper {theirs['average_cost']:.2f}")
    return [
        f"Of {total} pairs of a cell and a method, the paper's valid ratio lies outside our interval in {len(valid)}, "
        f"its cost in {len(cost)}.",
        f"<details><summary>Which</summary>\n\n{listed(valid + cost, '- none')}\n\n</details>",
    ]


def _alone(rows: list[Row]) -> list[str]:
    """A warning for cells of which one split has rows."""
    few = [
        " ".join(cell) for cell, group in by(rows, "dataset", "model").items() if len({r["split"] for r in group}) == 1
    ]
    if not few:
        return []
    return [
        f"**One split only ({ALONE.strip()})**: {', '.join(few)}. There the interval is over the people and masks of "
        "that "
        "split, each person being a cluster; it does not say what another split would give."
    ]
