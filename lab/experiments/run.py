"""Run cells: rows one by one, to their own files, in any number of processes, with the same content."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from armin.errors import ArminError, DataError
from lab.experiments.config import Cell
from lab.experiments.measure import Judge, Moves, Plausibility, moves, on_completions, on_person, tidy
from lab.experiments.methods import Context, Method, Outcome, make_method
from lab.experiments.origin import Origin, cell_mark, locked, origin
from lab.experiments.progress import Progress, machine
from lab.experiments.store import CellFile, Row, refuse_other_code
from lab.experiments.worlds import MOST_ROWS, People, World, make_people, make_world, published_schema

__all__ = ["run_cells"]

OPTIMA = ("optimal", "optimal-published")
"""Methods that are told everything."""
SCORED = (2, -1)
"""Numbers of blanks (-1: the data's own) for which plausibility is scored."""


def run_cells(
    cells: Sequence[Cell], folder: Path, *, jobs: int = 1, resume: bool = False, plugins: Sequence[str] = ()
) -> None:
    """Run cells; those of one data set, model and split go to one process, which trains the model once.

    Parameters
    ----------
    cells : what to run
    folder : where the rows go
    jobs : how many processes
    resume : keep the rows that are there, and compute the others
    plugins : modules to import first, such as one that registers a method
    """
    from joblib import Parallel, delayed

    groups: dict[tuple[int, bool, str, str], list[Cell]] = {}
    for cell in cells:
        later = cell.missing != cell.experiment.missing[0]
        groups.setdefault((cell.variant.split, later, cell.dataset, cell.model), []).append(cell)
    # the paper's split and the first number of blanks first, so that a run that is stopped has a small table in full
    ordered = [g for _, g in sorted(groups.items(), key=lambda item: (item[0][:2], -sum(map(_weight, item[1]))))]
    now = origin(plugins)
    tasks = [delayed(run_group)(group, folder, resume, tuple(plugins), tuple(sys.path), now) for group in ordered]
    with locked(folder), Progress(cells, folder):
        if resume:
            names = [(cell.experiment.name, cell.name) for cell in cells]
            refuse_other_code(folder, names, [{**now, "settings": cell_mark(cell)} for cell in cells])
        (folder / "times").mkdir(parents=True, exist_ok=True)
        (folder / "times" / "machine.json").write_text(json.dumps({**machine(), "jobs": jobs}), encoding="utf-8")
        if jobs == 1:
            refused = [function(*args, **kwargs) for function, args, kwargs in tasks]
        else:
            refused = Parallel(n_jobs=jobs, backend="loky", batch_size=1, pre_dispatch="all")(tasks)
    reasons = sorted({reason for reason in refused if reason})
    if reasons:
        raise DataError(f"{len([r for r in refused if r])} of {len(tasks)} groups could not run. " + " ".join(reasons))


def _weight(cell: Cell) -> float:
    slow = {"MLP": 2.0, "RF": 2.0, "XGBoost": 2.0}.get(cell.model, 1.0)
    return slow * sum(cell.people(m) * {"dice": 10, "published-milo": 60, "milo": 60}.get(m, 1)
                      for m in cell.experiment.methods)  # fmt: skip


def run_group(
    cells: Iterable[Cell],
    folder: Path,
    resume: bool,
    plugins: tuple[str, ...] = (),
    places: tuple[str, ...] = (),
    now: Origin | None = None,
) -> str:
    """Run the cells of one data set and model; if they cannot be had, say why, so that the others still run."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # a process that was started earlier, for something else, does not know where this one finds its modules
    sys.path.extend(place for place in places if place not in sys.path)
    for name in plugins:
        import_module(name)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for cell in cells:
            try:
                make_world(cell.dataset, cell.model, cell.variant.split)
            except ArminError as error:
                return f"{cell.dataset}, {cell.model}: {error}"
            made_by = {**(now or {}), "settings": cell_mark(cell)}
            run_cell(cell, CellFile(folder, cell.experiment.name, cell.name, resume=resume, origin=made_by))
    return ""


def run_cell(cell: Cell, file: CellFile) -> None:
    """Every person and method of one cell that is not in its file yet."""
    world = make_world(cell.dataset, cell.model, cell.variant.split)
    if cell.experiment.kind == "model":
        _about_model(cell, world, file)
        return
    count = max(cell.people(method) for method in cell.experiment.methods)
    people = make_people(world, cell.experiment.blanks, cell.missing, count, cell.variant.mask)
    labels = [int(label) for label in people.masked.index]
    wanted = [(i, m) for i in range(len(labels)) for m in cell.experiment.methods if i < cell.people(m)]
    todo = [(i, m) for i, m in wanted if (labels[i], m) not in file.done]
    if not todo:
        return
    bench = Bench(cell, people, context_of(people, cell))
    for i, method in todo:
        row, spent = bench.row(i, method)
        key = {"instance": labels[i], "method": method}
        common = {**_named(cell), **key}
        clock: Row = {**key, **{name: round(seconds, 6) for name, seconds in spent.items()}}
        if bench.method(method).clocked:
            clock["row"], row = row, {"status": "clocked"}
        file.add({**common, **row}, clock)


def _named(cell: Cell) -> Row:
    found = {
        "experiment": cell.experiment.name, "dataset": cell.dataset, "model": cell.model, "missing": cell.missing,
        "variant": cell.variant.name,
    }  # fmt: skip
    if cell.variant.split or cell.variant.mask or "split=" in cell.variant.name:
        found |= {"split": cell.variant.split, "mask": cell.variant.mask}
    return found


def _about_model(cell: Cell, world: World, file: CellFile) -> None:
    """One row about the model itself."""
    key = {"instance": 0, "method": "model"}
    if (0, "model") in file.done:
        return
    about = {
        "status": "optimal", "accuracy": tidy(world.accuracy), "rejected": int(world.rejected.sum()),
        "test": len(world.test), "train": len(world.train), "columns": len(world.schema),
    }  # fmt: skip
    file.add({**_named(cell), **key, **about}, {**key, "seconds": 0.0})


@dataclass
class _Broken:
    """Stands in for a method that could not be fitted."""

    error: str
    clocked: bool = False
    label: str = ""

    def fit(self, context: Context) -> _Broken:
        return self

    def explain(self, row: pd.DataFrame) -> Outcome:
        return Outcome("failed", note=self.error)


class Bench:
    """Fitted methods and measures of one cell."""

    def __init__(self, cell: Cell, people: People, context: Context) -> None:
        self.cell, self.people, self.context = cell, people, context
        self.methods: dict[str, Method] = {}
        self.judges: dict[int, Judge] = {}
        self.before: dict[int, tuple[float, float]] = {}
        scored = cell.experiment.plausibility and cell.missing in SCORED
        self.plausibility = context.remember("plausibility", lambda: Plausibility(context)) if scored else None

    def method(self, name: str) -> Method:
        """A fitted method, shared by the cells of one world and settings."""
        if name not in self.methods:
            key = ("method", name, self.context.settings)
            self.methods[name] = self.context.remember(key, lambda: self._fitted(name))
        return self.methods[name]

    def _fitted(self, name: str) -> Method:
        method = make_method(name)
        try:
            method = method.fit(self.context)
        except Exception as error:  # a method of somebody else may raise anything; it is counted and named
            return _Broken(_said(error), method.clocked)
        if not method.clocked and self.cell.experiment.kind != "path":
            with suppress(Exception):  # the first call compiles, which is not the time to measure
                method.explain(self._person(0, name))
        return method

    def _person(self, i: int, method: str) -> pd.DataFrame:
        """What the method sees: the optimum, and it alone, is told everything."""
        if method in OPTIMA and self.people.complete is not None:
            return self.people.complete.iloc[[i]]
        return self.people.masked.iloc[[i]]

    def row(self, i: int, name: str) -> tuple[Row, dict[str, float]]:
        """The row of one person and method, and the seconds it took: all, and in the search if that is known."""
        method, seen = self.method(name), self._person(i, name)
        blanks = [str(c) for c in seen.columns[seen.isna().to_numpy()[0]]]
        if self.cell.experiment.kind == "path":
            row, seconds = self._path(i, method, seen)
            return {"blanks": blanks, **row}, {"seconds": seconds}
        start = time.perf_counter()
        try:
            outcome = method.explain(seen)
        except Exception as error:  # counted and named, never dropped
            outcome = Outcome("failed", note=_said(error))
        spent = {"seconds": time.perf_counter() - start}
        if outcome.engine is not None:
            spent["engine"] = outcome.engine
        row = {"status": outcome.status, "note": outcome.note, "own_cost": tidy(outcome.cost), "blanks": blanks}
        try:
            row |= self._measured(i, outcome)
        except Exception as error:  # an action that cannot be carried out
            row |= {"status": "failed", "note": _said(error), **on_nobody()}
        return row, spent

    def _measured(self, i: int, outcome: Outcome) -> Row:
        if self.people.complete is None:
            if i not in self.judges:
                seed = int(self.people.masked.index[i])
                self.judges = {i: Judge.of(self.context, self.people.masked.iloc[[i]], seed)}
            row = on_completions(self.context, self.judges[i], outcome)
            return row | self._scored(i, self._completed(i), outcome)
        person = self.people.complete.iloc[[i]]
        best = optimum_moves(self.people, self.context, i)
        row = on_person(self.context, person, outcome, best) | {"possible": best is not None}
        if self.cell.experiment.kind == "picture":
            row["picture"] = self._picture(person, outcome)
        return row | self._scored(i, person, outcome)

    def _completed(self, i: int) -> pd.DataFrame:
        values, _ = self.judges[i].by_sampler["donors"]
        return self.context.schema.decode(values[:20], like=self.context.train)

    def _scored(self, i: int, rows: pd.DataFrame, outcome: Outcome) -> Row:
        if self.plausibility is None or outcome.apply is None:
            return {}
        schema = self.context.schema
        if i not in self.before:
            self.before = {i: self.plausibility.scores(schema.encode(rows, clip=True))}
        before = self.before[i]
        after = self.plausibility.scores(schema.encode(outcome.apply(rows), clip=True))
        return {
            "isolation": tidy(after[0]), "lof": tidy(after[1]),
            "isolation_before": tidy(before[0]), "lof_before": tidy(before[1]),
        }  # fmt: skip

    def _path(self, i: int, method: Any, seen: pd.DataFrame) -> tuple[Row, float]:
        assert self.people.complete is not None  # noqa: S101  paths are drawn for people who are known
        person = self.people.complete.iloc[[i]]
        start = time.perf_counter()
        try:
            path = method.path(seen)
        except (ArminError, AttributeError) as error:
            return {"status": "failed", "note": _said(error), "points": []}, time.perf_counter() - start
        seconds = time.perf_counter() - start
        points = []
        for point in path:
            measured = on_person(self.context, person, Outcome.of(point), None)
            points.append([tidy(point.validity.share), tidy(point.cost), measured["valid"], measured["cost"]])
        return {"status": path.end.value, "note": "", "points": points}, seconds

    def _picture(self, person: pd.DataFrame, outcome: Outcome) -> Row:
        """Figure 1: where the border is, and where people are, in two features."""
        across, up = "Income", "ExistingLoans"
        train, border = self.context.train, []
        incomes = np.linspace(0, 120_000, 241)
        for loans in range(int(train[up].max()) + 1):
            line = pd.concat([person] * incomes.size, ignore_index=True).assign(**{across: incomes, up: loans})
            accepted = np.asarray(self.context.classifier.predict(line) == self.context.desired)
            border.append([loans, float(incomes[accepted].min()) if accepted.any() else None])
        after = person if outcome.apply is None else outcome.apply(person)
        return {
            "border": border,
            "person": [float(person[across].iloc[0]), float(person[up].iloc[0])],
            "guess": tidy(float(train[across].mean())),
            "after": [float(after[across].iloc[0]), float(after[up].iloc[0])],
            "row": {str(k): str(v) for k, v in person.iloc[0].items()},
        }


def on_nobody() -> Row:
    """The measures where there is nothing to measure."""
    return {"valid": False, "cost": None, "sign": None, "n_changes": None, "changes": []}


@lru_cache(maxsize=4)
def _memory(world: World, how: str) -> dict[Any, Any]:
    return {}


def context_of(people: People, cell: Cell) -> Context:
    """A context that shares what is fitted with the other cells of its data set and model."""
    world, settings = people.world, cell.variant.settings
    published = settings.grid == "published"
    kind = "published" if published else "" if world.fit_all else cell.experiment.blanks
    raw = None
    if published and not world.fit_all:
        raw = Context(
            world.classifier, people.schema.widened(world.train), world.desired, world.train, world.labels, settings,
            _memory(world, "raw"), trimmed=world.schema,
        )  # fmt: skip
    return Context(
        world.classifier, published_schema(people) if published else people.schema, world.desired,
        world.train.head(MOST_ROWS), world.labels.head(MOST_ROWS), settings, _memory(world, kind), raw,
    )  # fmt: skip


def optimum_moves(people: People, context: Context, i: int) -> Moves | None:
    """The moves of the cheapest action on the complete row; None if there is none."""
    assert people.complete is not None  # noqa: S101  asked for known people only
    person, schema = people.complete.iloc[[i]], context.schema
    kind = (context.settings.cost, context.settings.max_changes, context.settings.optimum)
    name = context.settings.optimum
    solver = context.remember((name, *kind), lambda: make_method(name).fit(context))

    def find() -> Moves | None:
        outcome = solver.explain(person)
        if outcome.apply is None:
            return None
        return moves(schema, schema.encode(person, clip=True)[0], schema.encode(outcome.apply(person), clip=True)[0])

    best: Moves | None = context.remember(("moves", people.complete.index[i], *kind), find)
    return best


def _said(error: Exception) -> str:
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:300]
