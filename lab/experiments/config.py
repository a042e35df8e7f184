"""Every experiment, declared: data sets, models, blanks, methods, people. Nothing here runs anything.

The settings are the paper's: see ``Settings``. What differs from it is said in a note, which the report repeats.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from armin.errors import ParameterError

__all__ = [
    "EXPERIMENTS",
    "PUBLISHED",
    "RUNGS",
    "TITLES",
    "Cell",
    "Experiment",
    "Settings",
    "cells_of",
    "quick",
    "with_blanks",
]

PAPER_DATA = ("FICO", "Attrition", "WineQuality", "Student")
FEW_DATA = ("Attrition", "WineQuality")
"""The data sets of a quick run where training the models is most of the work."""
PAPER_MODELS = ("LR", "MLP", "RF")
FAITHFUL = ("LR-published", "MLP-published", "RF-published")
BASELINES = ("mean-published", "knn-published", "mice-published", "robust-published")
RIVALS = ("dice", "dice-20", "dice-genetic", "dice-kdtree", "dice-multiple")
COMPARED = ("mean", "knn", "mice", "robust", "published", "exact-plain", "exact", "dice")
TIMED = ("mean", "knn", "mice", "robust", "published", "exact-plain", "exact")
"""Methods that say how long their search took."""
RHOS = tuple(round(0.5 + 0.05 * i, 2) for i in range(9))
SIZES = (100, 200, 300, 400, 500)

KINDS = ("mcar", "mar", "mnar", "column", "real")
"""How blanks are made; see ``Experiment.blanks``."""
Kind = Literal["compare", "path", "blanks", "picture", "model"]
RUNGS = (
    "rung-published", "rung-library", "rung-bounds", "rung-options", "rung-rule", "rung-exact", "rung-sampler",
    "rung-conditioned", "rung-cost",
)  # fmt: skip
"""From the published set-up to ours; each changes one thing of the one before."""


@dataclass(frozen=True)
class Settings:
    """What every method is told; the defaults are the paper's."""

    confidence: float = 0.75
    n_samples: int = 100
    max_changes: int = 4
    max_options: int = 100
    cost: Literal["tlps", "mad", "tlps-published", "l1-published"] = "tlps"
    grid: Literal["paper", "published"] = "paper"
    margin: float = 0.0
    time_limit: float = 5.0
    """Seconds for one exact solve."""
    sub_limit: float = 2.0
    """Seconds for each MILO subproblem of the published heuristic, where the paper allows 60."""
    milo_limit: float = 10.0
    """Seconds for a MILO of a complete row."""
    optimum: str = "optimal"
    """The method that says what the complete row's best action is: who can be helped, and which signs agree."""


PUBLISHED = Settings(
    cost="tlps-published", grid="published", max_options=101, margin=2.5e-5, optimum="optimal-published"
)
"""The published set-up: the authors ask for a score beyond the cut by 1e-4, a probability beyond it by 2.5e-5."""


@dataclass(frozen=True)
class Variant:
    """One value of what an experiment varies."""

    name: str = ""
    settings: Settings = field(default_factory=Settings)
    split: int = 0
    """The seed of the split into training and test rows, and of the model's training."""
    mask: int = 0
    """Which blanks, where chance makes them."""


@dataclass(frozen=True)
class Experiment:
    """One experiment: the product of its data sets, models, numbers of blanks and variants."""

    name: str
    letter: str
    kind: Kind
    datasets: tuple[str, ...]
    models: tuple[str, ...]
    methods: tuple[str, ...]
    blanks: str = "mcar"
    """How blanks are made: "mcar", "mar", "mnar", "mar:COLUMN:DRIVER", "mnar:COLUMN", "column:NAME", or "real" for the
    data's own; "mar@train" and "mnar@train" by the median of the training rows, as published."""
    missing: tuple[int, ...] = (2,)
    variants: tuple[Variant, ...] = (Variant(),)
    instances: int = 100
    fewer: tuple[tuple[str, int], ...] = ()
    """Methods that are run on the first few people only, because they are slow."""
    fewer_by_model: tuple[tuple[str, int], ...] = ()
    plausibility: bool = False
    """Whether isolation forest and LOF score the outcomes."""
    quick_variants: tuple[str, ...] = ()
    quick_people: int = 4
    quick_datasets: tuple[str, ...] = ()
    """The only data sets of a quick run, which then takes the first number of blanks only; all if left out."""
    note: str = ""

    @property
    def slow(self) -> bool:
        """Whether even a quick run takes one person only."""
        return bool(self.fewer_by_model) or "milo" in self.methods


@dataclass(frozen=True)
class Cell:
    """One file of results: an experiment on one data set, model, number of blanks and variant."""

    experiment: Experiment
    dataset: str
    model: str
    missing: int
    variant: Variant

    @property
    def name(self) -> str:
        variant = self.variant.name.replace("=", "").replace(":", "_")
        parts = (self.dataset, self.model, str(self.missing), variant)
        return "-".join(p for p in parts if p)

    def people(self, method: str) -> int:
        """On how many people ``method`` is run."""
        most = dict(self.experiment.fewer_by_model).get(self.model, self.experiment.instances)
        return min(most, dict(self.experiment.fewer).get(method, most))


def _rho(rho: float) -> Variant:
    return Variant(f"rho={rho:.2f}", Settings(confidence=rho))


def _size(n: int) -> Variant:
    return Variant(f"N={n}", Settings(n_samples=n))


_DICE = "DiCE takes about a second per person, so it is run on the first 25 people of each cell."
_SIXTY = "The first 60 people of each cell, where the paper has up to 100, to save time."
_ALL = (
    Experiment(
        "mcar", "a", "compare", PAPER_DATA, PAPER_MODELS, COMPARED, missing=(2, 1, 3), fewer=(("dice", 25),),
        plausibility=True, quick_people=3, quick_datasets=PAPER_DATA, note=_DICE,
    ),
    Experiment(
        "optimum", "a", "compare", PAPER_DATA, PAPER_MODELS, ("optimal",), missing=(0,),
        note="The optimum of the complete row, which the other methods are compared with.",
    ),
    Experiment(
        "published", "l", "compare", PAPER_DATA, ("LR-published", "LR", "MLP-published", "MLP", "RF-published", "RF"),
        ("optimal-published",), missing=(0,), variants=(Variant("cost=published", PUBLISHED),),
        quick_datasets=FEW_DATA, note="Complete rows.",
    ),
    Experiment(
        "models", "l", "model", (*PAPER_DATA, "GiveMeCredit"),
        ("LR-published", "LR", "MLP-published", "MLP", "MLP-scaled", "RF-published", "RF"), (), missing=(0,),
        quick_datasets=FEW_DATA,
    ),
    Experiment(
        "scaled", "l", "compare", PAPER_DATA, ("MLP", "MLP-scaled"),
        ("optimal", "mean", "robust", "published", "exact"), instances=30, quick_people=2,
        quick_datasets=FEW_DATA,
        note="The network with and without scaled columns, our cost and options; the first 30 people.",
    ),
    Experiment(
        "ladder", "l", "compare", PAPER_DATA, FAITHFUL, RUNGS, missing=(2, 1, 3), variants=(Variant("", PUBLISHED),),
        quick_people=2, quick_datasets=FEW_DATA,
        note="Costs are TLPS as published; the last rung minimises ours and is charged as published.",
    ),
    Experiment(
        "faithful", "l", "compare", PAPER_DATA, FAITHFUL, BASELINES, missing=(2, 1, 3),
        variants=(Variant("", PUBLISHED),), quick_people=2, quick_datasets=FEW_DATA,
        note="The paper's rivals as its code runs them.",
    ),
    Experiment(
        "ladder-mar", "l", "compare", ("GiveMeCredit",), ("LR-published",),
        ("optimal-published", *BASELINES, *RUNGS[:3]), "mar@train", (1,),
        variants=(Variant("", PUBLISHED),),
    ),
    Experiment(
        "ladder-mnar", "l", "compare", ("GiveMeCredit",), ("LR-published",),
        ("optimal-published", *BASELINES, *RUNGS[:3]), "mnar@train", (1,),
        variants=(Variant("", PUBLISHED),),
    ),
    Experiment(
        "splits", "m", "compare", PAPER_DATA, PAPER_MODELS, (*BASELINES, "rung-published", "rung-conditioned"),
        variants=tuple(Variant(f"split={s},mask={m}", PUBLISHED, s, m) for s in range(5) for m in range(5)),
        quick_variants=("split=0,mask=0", "split=0,mask=1", "split=1,mask=0", "split=1,mask=1"), instances=15,
        quick_people=2, quick_datasets=FEW_DATA,
        note="Two blanks; the first 15 rejected people of each split, each with five masks.",
    ),
    Experiment(
        "split-models", "m", "model", PAPER_DATA, PAPER_MODELS, (), missing=(0,),
        variants=tuple(Variant(f"split={s}", PUBLISHED, s) for s in range(5)), quick_variants=("split=0", "split=1"),
        quick_datasets=FEW_DATA,
    ),
    Experiment(
        "rivals", "r", "compare", PAPER_DATA, ("LR", "RF"), ("exact", *RIVALS), instances=10,
        quick_people=1, quick_datasets=("WineQuality",),
        note="Two blanks, ten people: the rivals take seconds for each.",
    ),
    Experiment("mar", "b", "compare", ("GiveMeCredit",), ("LR",), COMPARED, "mar", (1,), fewer=(("dice", 25),),
               note=_DICE),
    Experiment("mnar", "b", "compare", ("GiveMeCredit",), ("LR",), COMPARED, "mnar", (1,), fewer=(("dice", 25),),
               note=_DICE),
    Experiment(
        "rho", "c", "compare", PAPER_DATA, ("LR",), ("published", "exact"), variants=tuple(map(_rho, RHOS)),
        quick_variants=("rho=0.50", "rho=0.75", "rho=0.90"), instances=60, note=_SIXTY,
    ),
    Experiment(
        "rho-mar", "c", "compare", ("GiveMeCredit",), ("LR",), ("published", "exact"), "mar", (1,),
        tuple(map(_rho, RHOS)), quick_variants=("rho=0.50", "rho=0.75", "rho=0.90"),
    ),
    Experiment(
        "rho-mnar", "c", "compare", ("GiveMeCredit",), ("LR",), ("published", "exact"), "mnar", (1,),
        tuple(map(_rho, RHOS)), quick_variants=("rho=0.50", "rho=0.75", "rho=0.90"),
    ),
    Experiment(
        "size", "c", "compare", PAPER_DATA, ("LR",), ("published", "exact"), variants=tuple(map(_size, SIZES)),
        quick_variants=("N=100", "N=500"), instances=60, note=_SIXTY,
    ),
    Experiment(
        "promise", "p", "path", PAPER_DATA, ("LR",), ("exact",), instances=300,
        note="Two blanks; the first 300 rejected test rows, or as many as there are.",
    ),
    Experiment("path", "d", "path", PAPER_DATA, ("LR",), ("exact-plain", "exact"), instances=50),
    Experiment(
        "path-mar", "d", "path", ("GiveMeCredit",), ("LR",), ("exact-plain", "exact"), "mar", (1,), instances=50
    ),
    Experiment(
        "path-mnar", "d", "path", ("GiveMeCredit",), ("LR",), ("exact-plain", "exact"), "mnar", (1,), instances=50
    ),
    Experiment(
        "xgboost", "e", "compare", PAPER_DATA, ("XGBoost",), ("native", "exact"), missing=(0, 1, 2, 3, 4),
        variants=(Variant("cost=tlps"), Variant("cost=mad", Settings(cost="mad"))), instances=60, quick_people=2,
        note=_SIXTY,
    ),
    Experiment(
        "example-credit", "f", "compare", ("GiveMeCredit",), ("LR",),
        ("optimal", "mean", "robust", "published", "exact"), "mar", (1,), instances=40,
    ),
    Experiment(
        "example-fico", "f", "compare", ("FICO",), ("XGBoost",), ("optimal", "native", "exact"),
        "column:PercentInstallTrades", (1,), instances=40,
    ),
    Experiment(
        "figure1", "g", "picture", ("Loans",), ("LR",), ("optimal", "mean", "robust", "exact"), "column:Income", (1,),
        instances=1,
    ),
    Experiment(
        "blanks", "h", "blanks", ("FICO-raw", "GiveMeCredit-raw", "Adult"), ("LR", "RF"), COMPARED, "real", (-1,),
        instances=40, fewer=(("dice", 15),), plausibility=True,
        note="The first 40 people of each cell; DiCE on the first 15.",
    ),
    Experiment(
        "complete", "i", "compare", PAPER_DATA, PAPER_MODELS, ("optimal", "milo", "brute"), missing=(0,),
        variants=(Variant("changes=4"), Variant("changes=2", Settings(max_changes=2))), instances=3,
        note="Nothing is missing. Brute force lists at most five million choices; it refuses more by name.",
    ),
    Experiment(
        "engine", "t", "compare", PAPER_DATA, (*PAPER_MODELS, "XGBoost"), TIMED, instances=20, quick_people=2,
        quick_datasets=FEW_DATA,
        note="Two blanks, the first 20 people: seconds in the search beside seconds from end to end.",
    ),
    Experiment(
        "clock", "t", "compare", PAPER_DATA, PAPER_MODELS, ("published-milo",), instances=10,
        fewer_by_model=(("RF", 3), ("MLP", 3)),
        note="The published heuristic with its MILO subproblems on HiGHS, 2 s each instead of 60 s, for its time only.",
    ),
)  # fmt: skip

EXPERIMENTS: dict[str, Experiment] = {e.name: e for e in _ALL}
"""Every experiment by name."""

TITLES = {
    "a": "Blanks completely at random",
    "b": "Blanks at random, and not at random",
    "c": "Sensitivity to the confidence and to the number of completions",
    "d": "Confidence paths",
    "e": "A model with its own branch for blanks",
    "f": "Example tables",
    "g": "Why one guess is not enough",
    "h": "Rows with real blanks",
    "l": "From the published set-up to ours, step by step",
    "m": "Five splits, five masks",
    "p": "The promise, judged on people it has not seen",
    "r": "Rivals with a fair chance",
    "i": "Complete rows: is anybody cheaper?",
    "t": "Time",
}


def quick(experiment: Experiment) -> Experiment:
    """The same experiment on a few people and a few variants."""
    kept = tuple(v for v in experiment.variants if not experiment.quick_variants or v.name in experiment.quick_variants)
    slow = tuple((m, 1) for m, _ in experiment.fewer)
    few = 1 if experiment.slow else experiment.quick_people
    if experiment.quick_datasets:
        experiment = replace(experiment, datasets=experiment.quick_datasets, missing=experiment.missing[:1])
    by_model = tuple((m, 1) for m, _ in experiment.fewer_by_model)
    shorter = tuple(replace(v, settings=replace(v.settings, sub_limit=0.5, milo_limit=2.0)) for v in kept)
    return replace(experiment, variants=shorter, instances=few, fewer=slow, fewer_by_model=by_model)


def with_blanks(experiment: Experiment, blanks: str) -> Experiment:
    """The same experiment with other blanks, which its variants then name.

    >>> made = with_blanks(EXPERIMENTS["mcar"], "mnar:age")
    >>> made.blanks, made.missing, made.variants[0].name
    ('mnar:age', (1,), 'blanks=mnar:age')
    """
    if blanks.partition(":")[0].partition("@")[0] not in KINDS:
        raise ParameterError(
            f"Blanks are made by {', '.join(KINDS)}, such as mar:COLUMN:DRIVER, mnar:COLUMN or column:NAME. "
            f"Got {blanks!r} instead."
        )
    named = tuple(
        replace(v, name=",".join(part for part in (v.name, f"blanks={blanks}") if part)) for v in experiment.variants
    )
    missing = experiment.missing if blanks == "mcar" else (-1,) if blanks == "real" else (1,)
    return replace(experiment, blanks=blanks, missing=missing, variants=named)


def cells_of(
    experiment: Experiment, datasets: tuple[str, ...] = (), models: tuple[str, ...] = (), missing: tuple[int, ...] = ()
) -> list[Cell]:
    """The cells of an experiment, of all or of some data sets, models and numbers of blanks."""
    return [
        Cell(experiment, d, m, n, v)
        for d in experiment.datasets if not datasets or d in datasets
        for m in experiment.models if not models or m in models
        for n in experiment.missing if not missing or n in missing
        for v in experiment.variants
    ]  # fmt: skip
