"""What is known, and who judges: are the answers right where the model itself decides about blanks?

``python -m lab.benchmarks.worlds``, or with ``--help``; ``--parts`` picks from:

- ``desk``: the pipeline of ``docs/tutorial.md``, 400 people who do not tell their income. Who is given a plan although
  the model accepts the row as it stands, and who is told that nothing needs to change although it rejects it?
- ``again``: people with real blanks in GiveMeCredit and Adult whom a model that takes blanks rejects. They follow the
  plan and leave the same fields blank again. Who is accepted, and who as the answer had said?
- ``promise``: ``promise=0.9`` on repeated splits; blanks are made in complete people. For how many people whom nobody
  has seen does their plan work, judged as ``reapply`` says, and who gets a plan at all?
- ``hidden``: people hide a value because of what it is (low incomes, many late payments, little schooling). The promise
  tested on everybody with that value hidden, by a missingness model, and on those who hide.
- ``decides``: the blank decides: the number of prior offences in a made-up table like recidivism data. A plan at 0.75,
  and with ``promise=0.75``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from armin import ARMIN, Schema
from armin.datasets import make_loans, mcar, mnar
from armin.promise import Promise
from armin.promise.promise import Missingness
from armin.recourse import Recourse
from lab.benchmarks.tables import Data, accepted, interval, load, markdown, options, require_data, share, train, write

MODELS = ("HistGradientBoosting", "XGBoost", "LightGBM", "forest, imputer", "MLP, imputer", "LR, imputer")
PROMISED = ("HistGradientBoosting", "XGBoost", "LR, imputer")
Rows = list[dict[str, Any]]


def follow(
    plan: Recourse, row: pd.DataFrame, truth: pd.DataFrame | None = None, *, disclosed: bool = True
) -> pd.DataFrame:
    """What the person submits after the plan, in user units, worked out here and not by the library.

    With the ``truth`` everything is disclosed, or, where that is not so, what is to be reached; other blanks stay.
    Without it, who is to reach a value gives just that value.
    """
    if truth is not None and disclosed:
        return plan.apply(truth)
    after = row.copy()
    for change in plan.changes:
        name = change.feature.name
        if truth is not None and change.mode != "shift":
            after[name] = plan.apply(truth)[name]
        elif change.after is not None:
            after[name] = pd.Series([change.after], index=row.index).astype(row[name].dtype)
    return after


# ---------------------------------------------------------------- desk


def tutorial() -> tuple[pd.DataFrame, pd.DataFrame, Any, Schema]:
    """Training rows, other rows, the pipeline and the schema of ``docs/tutorial.md``."""
    loans = make_loans()
    frame = loans.X.copy()
    frame.loc[frame.index % 9 == 0, ["Income", "Education"]] = None
    X, others, y, _ = train_test_split(frame, loans.y, random_state=0)
    model = make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), ["Age", "Income", "ExistingLoans"]),
            (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["Purpose", "Education"]),
        ),
        LogisticRegression(),
    ).fit(X, y)
    schema = Schema.infer(
        X, kinds={"Education": "ordinal"}, categories={"Education": ["HighSchool", "Bachelor", "Masters", "Doctorate"]},
        immutable=["Age", "Income"], increase_only=["Education"], decrease_only=["ExistingLoans"],
        units={"Income": "$"},
    )  # fmt: skip
    return X, others, model, schema


def desk(rows: int) -> Rows:
    """Who is told what, by what has been decided."""
    X, others, model, schema = tutorial()
    complete = others.dropna().head(rows)
    people = complete.assign(Income=np.nan)
    stands = model.predict(people) == "approved"
    known = model.predict(complete) == "approved"
    lines = []
    for decision in ("complete", "auto", None):
        explainer = ARMIN(model, schema, desired="approved", decision=decision).fit(X)
        answers = [explainer.explain(people.iloc[[i]]) for i in range(len(people))]
        plan = np.array([bool(a.changes) for a in answers])
        nothing = np.array([a.outcome == "already_accepted" for a in answers])
        tell = np.array([a.outcome == "tell" for a in answers])
        lines.append(
            {
                "decision": repr(decision), "people": len(people), "accepted as they stand": int(stands.sum()),
                "of these given a plan": int((stands & plan).sum()),
                "(of these accepted as complete people)": int((stands & plan & known).sum()),
                "rejected as they stand": int((~stands).sum()),
                "of these told that nothing needs to change": int((~stands & nothing).sum()),
                "told to tell": int((~stands & tell).sum()), "given a plan": int((~stands & plan).sum()),
                "no plan": int((~stands & ~plan & ~nothing & ~tell).sum()),
            }
        )  # fmt: skip
    return lines


# ---------------------------------------------------------------- again


def again(rows: int, datasets: tuple[str, ...] = ("GiveMeCredit", "Adult")) -> Rows:
    """People with real blanks follow the plan and leave the same fields blank again."""
    lines = []
    for dataset in datasets:
        data = load(dataset, blanks=True)
        X, others, y = data.split()
        known = ARMIN(train("LR, imputer", X, y, data.desired), data.schema, desired=1).fit(X).fitted_
        for name in MODELS:
            model = train(name, X, y, data.desired)
            holed = others[others.isna().any(axis=1)]
            people = holed[~accepted(model, holed)].head(rows)
            # costs and completions do not depend on the model: they are learned once
            explainer = ARMIN(model, data.schema, desired=1)
            explainer.bind(X.iloc[:0], cost=known.cost, sampler=known.sampler)
            for reapply in ("disclosed", "blank", "either"):
                explainer.set_params(reapply=reapply)
                lines.append({"data": dataset, "model": name, "reapply": reapply, **_again(explainer, people)})
            print(f"{dataset} {name}: {time.process_time():.0f} s", flush=True)
    return lines


def _again(explainer: ARMIN, people: pd.DataFrame) -> dict[str, Any]:
    plans = tells = works = as_said = wrong = 0
    for i in range(len(people)):
        row = people.iloc[[i]]
        answer = explainer.explain(row)
        wrong += answer.outcome == "already_accepted"
        tells += answer.outcome == "tell"
        if answer.found and answer.changes:
            verdict = bool(_accepts(explainer, follow(answer, row))[0])
            plans, works = plans + 1, works + verdict
            as_said += verdict or not answer.resubmitted
    return {
        "rejected people": len(people), "plans": plans, "told to tell": tells, "told nothing to change": wrong,
        "accepted with the same blanks": share(works, plans), "as the answer said": share(as_said, plans),
    }  # fmt: skip


# ---------------------------------------------------------------- promise


def promise(rows: int, splits: int, dataset: str, models: list[str], *, random: bool, n_people: int = 80) -> Rows:
    """A promise of 0.9 on repeated splits, for people whom nobody has seen."""
    data = load(dataset)
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for seed in range(splits):
        for key, one in _promised(data, seed, rows, models, random, n_people):
            found.setdefault(key, []).append(one)
        print(f"split {seed}: {time.process_time():.0f} s of computing", flush=True)
    return [
        {"data": dataset, "model": name, "reapply": reapply, **_pooled(ones, 0.9)}
        for (name, reapply), ones in found.items()
    ]


def _promised(
    data: Data, seed: int, rows: int, models: list[str], random: bool, n_people: int
) -> Iterator[tuple[tuple[str, str], dict[str, float]]]:
    """One split: models that saw blanks in training, calibrated on some complete people and tried on others.

    The same two values of everybody are hidden, other ones in each split; or, with ``random``, one value of each person
    at random.
    """
    X, others, y = data.split(seed)
    X = mcar(X, 1, random_state=seed).X
    half = len(others) // 2
    people, unseen = others[:half], others[half:]
    schema = data.schema.widened(data.X)
    chosen = np.random.default_rng(seed).choice(list(schema.names), 2, replace=False).tolist()
    hides: Callable[[pd.DataFrame], pd.DataFrame] = partial(_hide, None if random else chosen, seed)
    test = Promise(0.9, n_people=n_people, missingness=hides if random else None)
    known = ARMIN(train("LR, imputer", X, y, data.desired), schema, desired=1).fit(X).fitted_
    masked = hides(unseen)
    for name in models:
        model = train(name, X, y, data.desired)
        rejected = ~accepted(model, masked)
        for reapply in ("disclosed", "either"):
            explainer = ARMIN.from_settings(
                model, schema, desired=1, promise=test, reapply=reapply, n_samples=50, n_fresh=0
            )
            explainer.bind(X.iloc[:0], cost=known.cost, sampler=known.sampler)
            explainer.calibrate(people, blanks=None if random else chosen)
            yield (name, reapply), _try(explainer, masked[rejected][:rows], unseen[rejected][:rows])


def _hide(names: list[str] | None, seed: int, frame: pd.DataFrame) -> pd.DataFrame:
    if names is None:
        return mcar(frame, 1, random_state=seed).X
    return frame.assign(**{name: frame[name].mask(np.ones(len(frame), dtype=bool)) for name in names})


def _accepts(explainer: ARMIN, rows: pd.DataFrame) -> np.ndarray:
    return np.asarray(explainer.classifier.predict(rows) == explainer.desired)


def _try(explainer: ARMIN, masked: pd.DataFrame, truth: pd.DataFrame) -> dict[str, float]:
    """Advise people, let them follow their plan, and judge them as ``reapply`` says."""
    plans = works = promised = told = 0
    levels = []
    for i in range(len(masked)):
        row, person = masked.iloc[[i]], truth.iloc[[i]]
        answer = explainer.explain(row)
        calibration = None if answer.certificate is None else answer.certificate.calibration
        promised += calibration is not None and calibration.kept
        if calibration is not None:
            levels.append(calibration.used_level)
        if not answer.found or calibration is None or not calibration.kept:
            continue
        known = bool(_accepts(explainer, follow(answer, row, person))[0])
        submitted = follow(answer, row, person, disclosed=False)
        blank = explainer.reapply != "disclosed" and bool(_accepts(explainer, submitted)[0])
        plans, told = plans + 1, told + known
        works += {"disclosed": known, "blank": blank, "either": known and blank}[explainer.reapply]
    level = float(np.median(levels)) if levels else float("nan")
    return {
        "people": len(masked), "promised": promised, "plans": plans, "works": works, "told": told, "level": level
    }  # fmt: skip


def _pooled(found: list[dict[str, float]], asked: float) -> dict[str, Any]:
    """All splits together."""
    total = {key: sum(one[key] for one in found) for key in ("people", "promised", "plans", "works")}
    some = [one for one in found if one["plans"]]
    below = [one["works"] / one["plans"] < asked for one in some]
    # clearly below: fewer than chance would leave at the promised share in 19 of 20 splits
    clearly = [binom.cdf(one["works"], one["plans"], asked) < 0.05 for one in some]
    low, high = interval(total["works"], total["plans"])
    return {
        "splits": len(found), "promise kept by the test": sum(one["promised"] > 0 for one in found),
        "unseen people": int(total["people"]), "with a promised plan": share(total["plans"], total["people"]),
        "plans that work": share(total["works"], total["plans"]), "95 % interval": f"{low:.3f} to {high:.3f}",
        f"splits below {asked}": f"{sum(below)} of {len(some)}", "clearly below": sum(clearly),
        "median level": float(np.nanmedian([one["level"] for one in found])) if found else None,
    }  # fmt: skip


# ---------------------------------------------------------------- hidden


@dataclass(frozen=True)
class Hiding:
    """A number that nobody can change, and who does not tell it."""

    dataset: str
    target: str
    side: Any
    quantile: float
    words: str


HIDING = (
    Hiding("Synthetic", "Income", "below", 0.5, "low incomes"),
    Hiding("GiveMeCredit", "NumberOfTimes90DaysLate", "above", 0.97, "many late payments"),
    Hiding("Adult", "education", "below", 0.5, "little schooling"),
)


def hidden(rows: int, splits: int, datasets: list[str] | None = None, *, n_people: int = 100) -> Rows:
    """Values hide because of what they are: the promise tested on everybody, and on those who hide."""
    found: dict[tuple[Hiding, str], list[dict[str, float]]] = {}
    for hiding in HIDING:
        if datasets is not None and hiding.dataset not in datasets:
            continue
        data = load(hiding.dataset)
        for seed in range(splits):
            for whom, one in _hidden(data, hiding, seed, rows, n_people):
                found.setdefault((hiding, whom), []).append(one)
        print(f"{hiding.dataset}: {time.process_time():.0f} s of computing", flush=True)
    return [
        {"data": hiding.dataset, "who hides": hiding.words, "tested on": whom, **_pooled(ones, 0.9)}
        for (hiding, whom), ones in found.items()
    ]


def _hidden(data: Data, hiding: Hiding, seed: int, rows: int, n_people: int) -> Iterator[tuple[str, dict[str, float]]]:
    """One split: rows to learn from, people to test on, people to try. The hidden value can only be told."""
    X, others, y = data.split(seed)
    half = len(others) // 2
    people, unseen = others[:half], others[half:]
    schema = data.schema.widened(data.X).update(immutable=[hiding.target])
    model = train("LR", X, y, data.desired)
    hides = partial(
        mnar, target=hiding.target, quantile=hiding.quantile, side=hiding.side, steepness=3.0, random_state=seed
    )
    came = hides(unseen)
    asks = came.mask[hiding.target].to_numpy() & ~accepted(model, unseen)
    tests: dict[str, Missingness | None] = {
        "everybody": None, "a missingness model": lambda frame: hides(frame).X, "those who hide": None,
    }  # fmt: skip
    known = ARMIN(model, schema, desired=1).fit(X).fitted_
    for whom, missingness in tests.items():
        test = Promise(0.9, n_people=n_people, missingness=missingness)
        explainer = ARMIN.from_settings(
            model, schema, desired=1, decision="complete", promise=test, n_samples=50, n_fresh=0
        )
        explainer.bind(X.iloc[:0], cost=known.cost, sampler=known.sampler)
        if whom == "those who hide":
            explainer.calibrate(people, submitted=hides(people).X)
        else:
            explainer.calibrate(people, blanks=None if missingness else [hiding.target])
        yield whom, _try(explainer, came.X[asks][:rows], unseen[asks][:rows])


# ---------------------------------------------------------------- decides


def offenders(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """People of whom the number of prior offences decides, and other columns say next to nothing about it."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 65, n)
    priors = rng.negative_binomial(1.5, 1.5 / (6.5 - 0.02 * (age - 40)), n).clip(0, 38)
    X = pd.DataFrame(
        {
            "Age": age,
            "Priors": priors,
            "County": np.array([f"county {i:02d}" for i in range(12)], dtype=object)[rng.integers(0, 12, n)],
            "Charge": rng.choice(["misdemeanour", "felony"], n),
            "Employed": rng.choice(["no", "yes"], n),
            "ProgrammeMonths": rng.integers(0, 13, n),
        }
    )
    score = 0.3 - 0.5 * priors + 0.01 * (age - 40) - 0.1 * (X["Charge"] == "felony")
    score += 0.8 * (X["Employed"] == "yes") + 0.2 * X["ProgrammeMonths"]
    return X, np.where(score + rng.logistic(0, 0.5, n) > 0, "released", "held")


@dataclass(frozen=True)
class Decided:
    """What happened to people of one table who hide what decides.

    Attributes
    ----------
    people, plans, works : how many were advised, got a plan, and were accepted when they followed it
    stated : the mean of the shares that the plans state
    kept, best : whether the promise could be made, and the largest that could
    sentence : of one plan's certificate
    """

    people: int
    plans: int
    works: int
    stated: float
    kept: bool
    best: float
    sentence: str


def decide(seed: int, rows: int, known: int, n_people: int = 400) -> tuple[Decided, Decided]:
    """One table: what happens to people who hide their priors, without and with a promise of 0.75.

    ``known`` is how many rows the explainer learns from; the model was trained on 3,000.
    """
    X, y = offenders(3000, 3 * seed)
    held_out, unseen = offenders(3000, 3 * seed + 1)[0], offenders(8 * rows, 3 * seed + 2)[0]
    encoder = make_column_transformer((OneHotEncoder(), ["County", "Charge", "Employed"]), remainder=StandardScaler())
    model = make_pipeline(encoder, LogisticRegression()).fit(X, y)
    schema = Schema.infer(
        pd.concat([X, held_out, unseen]), immutable=["Age", "Priors", "County", "Charge"],
        increase_only=["ProgrammeMonths"],
    )  # fmt: skip
    truth = unseen[model.predict(unseen) == "held"].head(rows)
    masked = truth.assign(Priors=np.nan)
    plain = ARMIN(model, schema, desired="released").fit(X[:known])
    test = Promise(0.75, n_people=n_people)
    promising = ARMIN(model, schema, desired="released", promise=test).fit(X[:known], people=held_out)
    return _decided(plain, masked, truth), _decided(promising, masked, truth)


def _decided(explainer: ARMIN, masked: pd.DataFrame, truth: pd.DataFrame) -> Decided:
    answers = [explainer.explain(masked.iloc[[i]]) for i in range(len(masked))]
    plans = [(i, answer) for i, answer in enumerate(answers) if answer.found and answer.changes]
    after = [answer.apply(truth.iloc[[i]]) for i, answer in plans]
    works = int((explainer.classifier.predict(pd.concat(after)) == "released").sum()) if after else 0
    calibrations = [a.certificate.calibration for a in answers if a.certificate and a.certificate.calibration]
    return Decided(
        len(masked), len(plans), works, float(np.mean([a.share for _, a in plans])) if plans else float("nan"),
        bool(calibrations) and calibrations[0].kept, calibrations[0].best if calibrations else float("nan"),
        str(plans[0][1].certificate.sentence) if plans and plans[0][1].certificate else "",
    )  # fmt: skip


def decides(rows: int, splits: int) -> Rows:
    """A plan where the blank decides, for real people, without and with a promise."""
    lines = []
    for known in (250, 1000, 3000):
        both = [decide(seed, rows, known) for seed in range(splits)]
        for way, found in (("confidence 0.75", [one for one, _ in both]), ("promise 0.75", [two for _, two in both])):
            people, plans, works = (sum(getattr(one, key) for one in found) for key in ("people", "plans", "works"))
            low, high = interval(works, plans) if plans else (0.0, 1.0)
            line: dict[str, Any] = {
                "rows learned from": known, "asked": way, "tables": splits, "people": people, "plans": plans,
                "mean stated share": sum(one.stated * one.plans for one in found if one.plans) / max(plans, 1),
                "works for the real person": share(works, plans), "95 % interval": f"{low:.2f} to {high:.2f}",
            }  # fmt: skip
            if way.startswith("promise"):
                some = [one for one in found if one.plans]
                broken = sum(binom.cdf(one.works, one.plans, min(one.best, 0.75)) < 0.05 for one in some)
                line["promised"] = f"{sum(one.kept for one in found)} of {splits}"
                line["best that can be promised"] = float(np.median([one.best for one in found]))
                line["clearly below that"] = f"{broken} of {len(some)}"
            lines.append(line)
        print(markdown(lines[-2:]), flush=True)
    return lines


def main() -> None:
    parser = options(__doc__, rows=40)
    parts = ("desk", "again", "promise", "hidden", "decides")
    parser.add_argument("--parts", nargs="*", default=list(parts), choices=parts)
    parser.add_argument("--dataset", default="Synthetic", help="for promise; the loan book or a data set")
    parser.add_argument("--models", nargs="*", default=list(PROMISED), help="for promise")
    parser.add_argument("--random", action="store_true", help="for promise: other blanks for each person")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--people", type=int, default=80, help="for promise: test on so many")
    args = parser.parse_args()
    start = time.perf_counter()
    if {"again", "hidden"} & set(args.parts) or args.dataset != "Synthetic":
        require_data()
    rows, splits = (5, 2) if args.quick else (args.rows, args.splits)
    work: dict[str, Callable[[], Rows]] = {
        "desk": lambda: desk(30 if args.quick else 400),
        "again": lambda: again(rows),
        "promise": lambda: promise(
            rows, splits, args.dataset, args.models, random=args.random, n_people=40 if args.quick else args.people
        ),
        "hidden": lambda: hidden(rows, splits, n_people=40 if args.quick else 100),
        "decides": lambda: decides(20 if args.quick else 200, 1 if args.quick else 5),
    }
    results = {}
    for part in args.parts:
        since = time.perf_counter()
        results[part] = work[part]()
        print(f"\n### {part} ({time.perf_counter() - since:.0f} s)\n\n{markdown(results[part])}\n", flush=True)
    write(args.json, results, start)


if __name__ == "__main__":
    main()
