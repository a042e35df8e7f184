"""The command line of the experiments."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from armin.errors import ArminError, DataError, ParameterError
from lab.experiments.config import EXPERIMENTS, TITLES, Cell, Experiment, cells_of, quick, with_blanks
from lab.experiments.methods import make_method
from lab.experiments.run import run_cells
from lab.experiments.store import Row, pack, read_rows
from lab.experiments.worlds import DATASETS, MODELS

__all__ = ["choose", "main"]

ROWS = Path(__file__).parent / "rows"
"""The rows that the pages were written from."""


def choose(
    name: str,
    *,
    few: bool = False,
    instances: int | None = None,
    datasets: Sequence[str] = (),
    models: Sequence[str] = (),
    methods: Sequence[str] = (),
    missing: Sequence[int] = (),
    blanks: str | None = None,
) -> list[Cell]:
    """The cells that a command asks for.

    Parameters
    ----------
    name : an experiment, a letter of the list, or "all"
    few : a few people and variants only
    instances : at most this many people in each cell
    datasets, models, methods, missing : only these; all if left out
    blanks : how blanks are made, instead of the experiment's own way, such as "mar:COLUMN:DRIVER" or "mnar:COLUMN"

    Examples
    --------
    >>> len(choose("mcar", datasets=["FICO"], models=["LR"]))
    3
    """
    for what, given, known in (("data set", datasets, DATASETS), ("model", models, MODELS)):
        for one in given:
            if one not in known:
                raise ParameterError(f"There is no {what} {one!r}. There are: {', '.join(known)}.")
    for one in methods:
        make_method(one)
    if name == "all":
        chosen = list(EXPERIMENTS.values())
    elif name in TITLES:
        chosen = [e for e in EXPERIMENTS.values() if e.letter == name]
    elif name in EXPERIMENTS:
        chosen = [EXPERIMENTS[name]]
    else:
        raise ParameterError(f"There is no experiment {name!r}. There are: all, {', '.join([*TITLES, *EXPERIMENTS])}.")
    cells = []
    for experiment in chosen:
        asked = quick(experiment) if few else experiment
        asked = asked if blanks is None else with_blanks(asked, blanks)
        asked = _with_new(_limited(asked, instances, methods), datasets, models)
        cells += cells_of(asked, tuple(datasets), tuple(models), tuple(missing))
    if not cells:
        known = sorted({cell.dataset for e in chosen for cell in cells_of(e)})
        models_ = sorted({cell.model for e in chosen for cell in cells_of(e)})
        blanks = sorted({cell.missing for e in chosen for cell in cells_of(e)})
        raise ParameterError(
            f"Nothing to run: {name!r} has the data sets {', '.join(known)}, the models {', '.join(models_)} and "
            f"{', '.join(map(str, blanks))} missing. Got --datasets {' '.join(datasets) or '(all)'}, "
            f"--models {' '.join(models) or '(all)'} and --missing {' '.join(map(str, missing)) or '(all)'}."
        )
    return cells


def _with_new(experiment: Experiment, datasets: Sequence[str], models: Sequence[str]) -> Experiment:
    """The experiment with data sets and models that no declared one has: those that a plug-in has registered."""
    data = {d for e in EXPERIMENTS.values() for d in e.datasets}
    named = {m for e in EXPERIMENTS.values() for m in e.models}
    return replace(
        experiment,
        datasets=(*experiment.datasets, *(d for d in datasets if d not in data)),
        models=(*experiment.models, *(m for m in models if m not in named)),
    )


def _limited(experiment: Experiment, instances: int | None, methods: Sequence[str]) -> Experiment:
    if methods:
        extra = [m for m in methods if m not in experiment.methods]
        kept = (*(m for m in experiment.methods if m in methods), *extra)
        experiment = replace(experiment, methods=kept)
    if instances is None:
        return experiment
    if instances < 1:
        raise ParameterError(f"The number of instances must be at least 1. Got {instances} instead.")
    return replace(
        experiment,
        instances=instances,
        fewer=tuple((m, min(n, instances)) for m, n in experiment.fewer),
        fewer_by_model=tuple((m, min(n, instances)) for m, n in experiment.fewer_by_model),
    )


def _listing() -> str:
    lines = []
    for e in EXPERIMENTS.values():
        shape = f"{len(cells_of(e))} cells of at most {e.instances} people"
        lines.append(f"({e.letter}) {e.name:<15} {TITLES[e.letter]}: {', '.join(e.datasets)} · {', '.join(e.models)}")
        lines.append(f"    {shape}; blanks: {e.blanks}; methods: {', '.join(e.methods)}")
        if e.note:
            lines.append(f"    {e.note}")
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab.experiments", description="The paper's experiments.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="what there is to run")
    run = commands.add_parser("run", help="run experiments; rows are stored one by one")
    run.add_argument("name", help="an experiment, a letter, or all")
    run.add_argument("--instances", type=int, help="at most this many people in each cell")
    run.add_argument("--datasets", nargs="+", default=[])
    run.add_argument("--models", nargs="+", default=[])
    run.add_argument("--missing", nargs="+", type=int, default=[], help="only these numbers of blanks")
    run.add_argument("--methods", nargs="+", default=[], help="only these; others than declared are added")
    run.add_argument("--blanks", help="other blanks: mcar, mar:COLUMN:DRIVER, mnar:COLUMN, column:NAME, real")
    run.add_argument("--docs", type=Path, help="write the pages and the figures there afterwards")
    run.add_argument("--jobs", type=int, default=1, help="processes; the rows do not depend on it")
    run.add_argument("--resume", action="store_true", help="keep the rows that are there")
    report = commands.add_parser("report", help="write the pages and the figures from the stored rows")
    report.add_argument("--docs", type=Path, help="where the pages go: docs, or the rows' folder with --quick")
    report.add_argument("--section", choices=sorted(TITLES), help="only this one, as a page of its own")
    packed = commands.add_parser("pack", help="write the stored rows, and their times, to compressed files")
    packed.add_argument("--out", type=Path, nargs="+", default=[Path("out/paper")], help="the rows' folders: out/paper")
    packed.add_argument("--to", type=Path, default=ROWS, help="where the files go: lab/experiments/rows")
    rows = commands.add_parser("rows", help="print the rows behind a table, one line each")
    rows.add_argument("name", help="an experiment")
    for option in ("--datasets", "--models", "--methods"):
        rows.add_argument(option, nargs="+", default=[])
    rows.add_argument("--missing", nargs="+", type=int, default=[])
    rows.add_argument("--out", type=Path, default=ROWS, help="the rows' folder: lab/experiments/rows")
    for command in (run, report):
        command.add_argument(
            "--plugin", nargs="+", default=[], help="modules to import first: they register methods, models or data"
        )
        command.add_argument("--quick", action="store_true", help="a few people and variants, kept apart")
        command.add_argument("--out", type=Path, help="the rows' folder: out/paper, or out/paper-quick with --quick")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line."""
    args = _parser().parse_args(argv)
    if args.command == "list":
        print(_listing())
        return
    folder = args.out or Path("out") / ("paper-quick" if args.quick else "paper")
    try:
        for plugin in getattr(args, "plugin", ()):
            import_module(plugin)
        _COMMANDS[args.command](args, folder)
    except ArminError as error:
        sys.exit(f"experiments: {error}")
    except KeyboardInterrupt:
        sys.exit("experiments: stopped. The rows so far are kept; go on with --resume.")


def _pack(args: argparse.Namespace, folders: list[Path]) -> None:
    written = pack(folders, args.to)
    print("\n".join(f"{path} {path.stat().st_size:,} bytes" for path in written))
    print(f"{len(written)} files, {sum(path.stat().st_size for path in written):,} bytes")


def _rows(args: argparse.Namespace, folder: Path) -> None:
    if args.name not in EXPERIMENTS:
        raise ParameterError(f"There is no experiment {args.name!r}. There are: {', '.join(EXPERIMENTS)}.")
    found = [row for row in read_rows(folder, args.name) if _asked_for(row, args)]
    if not found:
        raise DataError(
            f"There are no such rows of {args.name!r} in {folder}. Run: python -m lab.experiments run {args.name}."
        )
    with suppress(BrokenPipeError):  # somebody wanted the first few only
        print("\n".join(json.dumps(row, ensure_ascii=False) for row in found), flush=True)


def _asked_for(row: Row, args: argparse.Namespace) -> bool:
    columns = {"dataset": args.datasets, "model": args.models, "method": args.methods, "missing": args.missing}
    return all(not given or row[column] in given for column, given in columns.items())


def _run(args: argparse.Namespace, folder: Path) -> None:
    start = time.perf_counter()
    cells = choose(
        args.name, few=args.quick, instances=args.instances, datasets=args.datasets, models=args.models,
        methods=args.methods, missing=args.missing, blanks=args.blanks,
    )  # fmt: skip
    run_cells(cells, folder, jobs=args.jobs, resume=args.resume, plugins=args.plugin)
    print(f"{len(cells)} cells in {folder}, {time.perf_counter() - start:.0f} s")
    if args.docs:
        _write(args, folder, args.docs)


def _report(args: argparse.Namespace, folder: Path) -> None:
    docs = args.docs or (folder if args.quick else Path("lab/pages"))
    if args.section:
        from lab.experiments.report.page import write_section

        print(write_section(folder, docs, args.section, few=args.quick))
    else:
        _write(args, folder, docs)


def _write(args: argparse.Namespace, folder: Path, docs: Path) -> None:
    from lab.experiments.report.page import write_pages

    print("\n".join(map(str, write_pages(folder, docs, few=args.quick))))


_COMMANDS: dict[str, Callable[[argparse.Namespace, Any], None]] = {
    "pack": _pack, "rows": _rows, "run": _run, "report": _report,
}  # fmt: skip
