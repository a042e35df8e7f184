"""DiCE: the practitioner's baseline. It is random search, and it proves nothing.

A feature that DiCE leaves alone keeps the person's true value; one that it changes gets DiCE's value.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any, Self

import numpy as np
import pandas as pd

from armin import Schema
from armin.arrays import FloatArray
from armin.explain.draw import row_stream
from armin.sampling import MeanImputer
from lab.experiments.methods import Context, Outcome, register

LIMIT = 120.0
"""CPU seconds for one question: the genetic search was seen to go on for more than an hour about one person."""


@register("dice")
class Dice:
    """Fill the blanks with the mean, ask DiCE for one counterfactual, and do as it says."""

    label = "DiCE after mean imputation"
    clocked = False
    search = "random"
    asked = 1

    def fit(self, context: Context) -> Self:
        self.context_ = context
        self.engine_: Any = None
        os.environ["TQDM_DISABLE"] = "1"
        try:
            import dice_ml  # type: ignore[import-untyped]
        except ImportError:
            return self
        schema = context.schema
        self.imputer_ = MeanImputer().fit(context.codes, schema)
        filled = [self.imputer_.impute(row) for row in context.codes]
        train = schema.decode(pd.DataFrame(filled).to_numpy(), like=context.train)
        label = (context.labels.to_numpy() == context.desired).astype(int)
        with _quietly():
            data = dice_ml.Data(
                dataframe=train.assign(_label=label),
                continuous_features=[f.name for f in schema if f.is_number],
                outcome_name="_label",
            )
            model = dice_ml.Model(model=_Binary(context.classifier, context.desired), backend="sklearn")
            self.engine_ = dice_ml.Dice(data, model, method=self.search)
        self.vary_ = [f.name for f in schema if f.actionable]
        self.ranges_ = {f.name: [f.low_code, f.high_code] for f in schema if f.actionable and f.is_number}
        return self

    def explain(self, row: pd.DataFrame) -> Outcome:
        """Advise one person."""
        if self.engine_ is None:
            return Outcome("skipped", note="dice-ml is not installed")
        try:
            return self._advice(row)
        except _TooLong:
            return Outcome("unknown", note=f"no answer within {LIMIT:g} CPU seconds")

    def _advice(self, row: pd.DataFrame) -> Outcome:
        """The cheapest of what DiCE finds for the row as it was filled in."""
        filled = self.imputer_.impute(self.context_.schema.encode(row)[0])
        found = [(old, new) for old, new in self._found(filled, self.asked) if self._accepted(new[None, :]).all()]
        if not found:
            return Outcome("unknown", note="no counterfactual found")
        return self._outcome(*min(found, key=lambda pair: self._price(*pair)))

    def _found(self, codes: FloatArray, count: int) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Rows of codes (D,): the one that DiCE was asked about, and what it would make of it."""
        schema = self.context_.schema
        filled = schema.decode(codes[None, :], like=self.context_.train)
        seeded = {"random_seed": 0} if self.search == "random" else {}
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002  DiCE's genetic search draws from the global generators
        with _quietly(), _for_at_most(LIMIT):
            try:
                found = self.engine_.generate_counterfactuals(
                    filled, total_CFs=count, desired_class=1, features_to_vary=self.vary_,
                    permitted_range=self.ranges_, verbose=False, **seeded,
                )  # fmt: skip
            except Exception as error:
                if "No counterfactuals found" not in str(error):
                    raise
                return
        after = found.cf_examples_list[0].final_cfs_df
        before = filled.reset_index(drop=True)
        for i in range(0 if after is None else len(after)):
            target = after[schema.names].iloc[[i]].reset_index(drop=True)
            yield schema.encode(before)[0], schema.encode(_typed(target, before, schema), clip=True)[0]

    def _accepted(self, codes: FloatArray) -> Any:
        frame = self.context_.schema.decode(codes, like=self.context_.train)
        return np.asarray(self.context_.classifier.predict(frame) == self.context_.desired)

    def _price(self, old: FloatArray, new: FloatArray) -> float:
        cost = self.context_.cost
        return sum(float(cost.table(i, old[i : i + 1], new[i : i + 1, None])[0, 0]) for i in np.flatnonzero(old != new))

    def _changed(self, old: FloatArray, new: FloatArray, people: FloatArray) -> FloatArray:
        """What people (n, D) become who do as they are told."""
        after = people.copy()
        after[:, old != new] = new[old != new]
        return after

    def _outcome(self, old: FloatArray, new: FloatArray) -> Outcome:
        schema = self.context_.schema

        def apply(rows: pd.DataFrame) -> pd.DataFrame:
            codes = self._changed(old, new, schema.encode(rows, clip=True))
            return schema.decode(codes, like=rows).set_axis(rows.index)

        return Outcome("feasible", apply)


@register("dice-20")
class Dice20(Dice):
    """Twenty counterfactuals, of which the cheapest that is accepted is taken."""

    label = "DiCE, best of 20"
    asked = 20


@register("dice-genetic")
class DiceGenetic(Dice20):
    """The same by DiCE's genetic search."""

    label = "DiCE genetic, best of 20"
    search = "genetic"


@register("dice-kdtree")
class DiceTree(Dice20):
    """The same from a tree of training rows."""

    label = "DiCE k-d tree, best of 20"
    search = "kdtree"


@register("dice-multiple")
class DiceMultiple(Dice20):
    """Five completions, DiCE for each, and the cheapest action that works for the confidence among a hundred more."""

    label = "multiple imputation + DiCE + majority"
    completions = 5

    def _advice(self, row: pd.DataFrame) -> Outcome:
        settings = self.context_.settings
        codes = self.context_.schema.encode(row)[0]
        sampler = self.context_.sampler("chained")
        people = sampler.sample(codes, self.completions + settings.n_samples, row_stream(0, codes, "candidates")).values
        first, judges = people[: self.completions], people[self.completions :]
        best: tuple[float, FloatArray, FloatArray] | None = None
        for person in first:
            for old, new in self._found(person, self.asked):
                price = self._price(old, new)
                if best is not None and price >= best[0]:
                    continue
                if self._accepted(self._changed(old, new, judges)).mean() >= settings.confidence:
                    best = price, old, new
        return Outcome("unknown", note="no counterfactual found") if best is None else self._outcome(best[1], best[2])


class _TooLong(BaseException):
    """Time is up. No ``Exception``, since DiCE catches some of these."""


@contextmanager
def _for_at_most(seconds: float) -> Iterator[None]:
    """End what takes longer, in CPU seconds; where there are no such signals, or in another thread, wait."""
    if not hasattr(signal, "SIGPROF") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def _quietly() -> Iterator[None]:
    with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        warnings.simplefilter("ignore")  # it prints when it finds nothing
        yield


def _typed(target: pd.DataFrame, like: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """DiCE's row in the types of the data; whole numbers are rounded."""
    out = target.copy()
    for feature in schema:
        column = out[feature.name]
        if feature.kind == "integer":
            column = column.astype(float).round()
        out[feature.name] = column.astype(like[feature.name].dtype)
    return out


class _Binary:
    """The classifier with the labels 0 and 1, which DiCE expects."""

    def __init__(self, classifier: Any, desired: Any) -> None:
        self.classifier = classifier
        self.place = list(classifier.classes_).index(desired)
        self.classes_ = [0, 1]

    def predict_proba(self, X: pd.DataFrame) -> Any:
        chance = self.classifier.predict_proba(X)
        return chance if self.place == 1 else chance[:, ::-1]

    def predict(self, X: pd.DataFrame) -> Any:
        return (self.classifier.predict(X) == self.classifier.classes_[self.place]).astype(int)
