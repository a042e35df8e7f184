"""DiCE after single imputation: the practitioner's baseline. It is random search, and it proves nothing."""

from __future__ import annotations

import os
import warnings
from contextlib import redirect_stdout
from io import StringIO
from typing import Any, Self

import pandas as pd

from armin import Schema
from armin.impute import MeanImputer
from experiments.methods import Context, Outcome, register


@register("dice")
class Dice:
    """Fill the blanks with the mean, ask DiCE for one counterfactual, and do as it says.

    A feature that DiCE leaves alone keeps the person's true value; one that it changes gets DiCE's value.
    """

    label = "DiCE after mean imputation"
    clocked = False

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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = dice_ml.Data(
                dataframe=train.assign(_label=label),
                continuous_features=[f.name for f in schema if f.is_number],
                outcome_name="_label",
            )
            model = dice_ml.Model(model=_Binary(context.classifier, context.desired), backend="sklearn")
            self.engine_ = dice_ml.Dice(data, model, method="random")
        self.vary_ = [f.name for f in schema if f.actionable]
        self.ranges_ = {f.name: [f.low_code, f.high_code] for f in schema if f.actionable and f.is_number}
        return self

    def explain(self, row: pd.DataFrame) -> Outcome:
        if self.engine_ is None:
            return Outcome("skipped", note="dice-ml is not installed")
        schema = self.context_.schema
        filled = schema.decode(self.imputer_.impute(schema.encode(row)[0])[None, :], like=self.context_.train)
        with warnings.catch_warnings(), redirect_stdout(StringIO()):  # it prints when it finds nothing
            warnings.simplefilter("ignore")
            try:
                found = self.engine_.generate_counterfactuals(
                    filled, total_CFs=1, desired_class=1, features_to_vary=self.vary_,
                    permitted_range=self.ranges_, random_seed=0, verbose=False,
                )  # fmt: skip
            except Exception as error:
                if "No counterfactuals found" not in str(error):
                    raise
                return Outcome("unknown", note="no counterfactual found")
        after = found.cf_examples_list[0].final_cfs_df
        if after is None or after.empty:
            return Outcome("unknown", note="no counterfactual found")
        target = after[schema.names].iloc[[0]].reset_index(drop=True)
        before = filled.reset_index(drop=True)
        new, old = schema.encode(_typed(target, before, schema), clip=True)[0], schema.encode(before)[0]
        changed = [f.name for f, a, b in zip(schema, new, old, strict=True) if a != b]

        def apply(rows: pd.DataFrame) -> pd.DataFrame:
            codes = schema.encode(rows, clip=True)
            for name in changed:
                codes[:, schema.position(name)] = new[schema.position(name)]
            return schema.decode(codes, like=rows).set_axis(rows.index)

        return Outcome("feasible", apply)


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
