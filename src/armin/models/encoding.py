"""A classifier as tables: :func:`read_classifier` splits a pipeline.

The part that works column by column, or on a few columns together, is run as it is; the final model is read into plain
arrays.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from armin.arrays import IntArray
from armin.errors import UnreadableError
from armin.models.encoder import AsTheyAre, Encode, Encoder, Steps
from armin.models.folding import affine, fold
from armin.models.inputs import dense
from armin.models.joint import JOINT, JointColumns, JointEncoder
from armin.models.kinds import BlackBox, LinearModel, Model, ReluNetwork
from armin.models.oracle import Oracle, laid_open
from armin.models.probing import comparable, probe_dependencies
from armin.models.read import prepare_inputs, read_model, unwrap
from armin.models.tracing import AtMost, Behind, Trace, UntraceableError, fills_by_others, through, trace
from armin.schema import Schema
from armin.schema.columns import places

__all__ = ["MOST_TOGETHER", "ReadClassifier", "read_classifier"]

MOST_TOGETHER = 3
"""Features that may change and stand behind one model input together; more are left to the black box."""


@dataclass(frozen=True, eq=False)
class ReadClassifier:
    """A classifier that was read exactly.

    Attributes
    ----------
    model : the final model as arrays
    encode : codes (n, D) to model inputs (n, P), through the user's own fitted transformers
    owners : int array of shape (P,), the schema position behind each model input; -1 if constant, -2 if several
    complete_only : whether a blank is filled from the other columns, so that the arrays hold for complete rows only
    joint : the inputs that have several positions behind them
    """

    model: Model
    encode: Encode
    owners: IntArray
    complete_only: bool = False
    joint: tuple[JointColumns, ...] = ()

    def carrying(self, oracle: Oracle) -> ReadClassifier:
        """The same for the carried columns of an oracle; ``owners`` stays the very same array."""
        model = BlackBox(oracle.accepts, self.model.n_inputs) if isinstance(self.model, BlackBox) else self.model
        return replace(self, model=model, encode=self.encode.carrying(oracle))


def read_classifier(oracle: Oracle, *, blackbox: bool = False) -> ReadClassifier:
    """Read the estimator behind an oracle; or wrap it whole, if a black box is asked for."""
    schema = oracle.schema
    if blackbox:
        box = BlackBox(oracle.accepts, len(schema))
        return ReadClassifier(box, AsTheyAre(), np.arange(len(schema), dtype=np.intp))
    wrapped, final = unwrap(oracle.estimator)
    steps = [step for outer in wrapped for step in laid_open(outer)]
    model: Model = read_model(final, oracle.target.labels, threshold=oracle.threshold)
    behind: Trace = [places(schema, name) for name in oracle.taken]
    wide = _too_wide(schema, behind)
    if wide:
        raise UntraceableError(
            f"A column that is derived from {wide} features that may change stands before {type(final).__name__}, "
            f"and at most {MOST_TOGETHER} can be followed exactly. Use method='blackbox', or hold some of them fixed."
        )
    followed: list[Any] = []
    prepare = prepare_inputs(final)
    for i, step in enumerate(steps):
        try:
            behind = _behind(oracle, model, followed, steps[i:], behind)
        except UntraceableError as error:
            model, prepare = fold(model, steps[i:], error), dense
            break
        followed.append(step)
    if len(behind) != model.n_inputs:
        raise UnreadableError(
            f"The steps before {type(final).__name__} were traced to {len(behind)} columns, but it takes "
            f"{model.n_inputs}. Use ExpertOptions(method='blackbox'), and please report this."
        )
    whole = Steps(oracle, tuple(followed), prepare)
    owners = np.array([-1 if p is None else JOINT if isinstance(p, frozenset) else p for p in behind], dtype=np.intp)
    sets = sorted({p for p in behind if isinstance(p, frozenset)}, key=sorted)
    joint = tuple(
        JointColumns(tuple(sorted(one)), np.array([i for i, p in enumerate(behind) if p == one], dtype=np.intp))
        for one in sets
    )
    alone = Encoder(whole, owners)
    filled = any(fills_by_others(step) for step in followed)
    return ReadClassifier(
        model, JointEncoder(whole, alone, joint, schema=schema) if joint else alone, owners, filled, joint
    )


def _behind(oracle: Oracle, model: Model, followed: Collection[Any], rest: list[Any], behind: Trace) -> Trace:
    """What stands behind the outputs of the next step: known, or found by asking.

    Raises
    ------
    UntraceableError
        If too many columns stand behind an output, or the step is better folded into the model.
    """
    step = rest[0]
    name = type(step).__name__
    try:
        found = through(behind, trace(step, len(behind)))
        asks = any(isinstance(one, AtMost) and _too_wide(oracle.schema, [one]) for one in found)
    except UntraceableError:
        if isinstance(model, LinearModel | ReluNetwork) and all(affine(later) is not None for later in rest):
            raise
        asks = True
    if asks:
        found = probe_dependencies(oracle.schema, Steps(oracle, (*followed, step), comparable), name)
        found = [_with_derived(oracle.schema, one) for one in found]
    wide = _too_wide(oracle.schema, found)
    if wide:
        raise UntraceableError(
            f"The step {name} mixes columns: {wide} features that may change stand behind one output, and at most "
            f"{MOST_TOGETHER} can be followed exactly. Use ExpertOptions(method='blackbox'), or train the model "
            "without it."
        )
    return found


def _with_derived(schema: Schema, one: Behind) -> Behind:
    """What was found by asking about complete rows, with the derived columns that blanks would let show through."""
    if not isinstance(one, frozenset):
        return one
    return one.union(made.position for made in schema.derived if one.issuperset(made.parts.values()))


def _too_wide(schema: Schema, behind: Trace) -> int:
    """How many features that may change stand behind one output, if they are too many; else 0."""
    sets = {one for one in behind if isinstance(one, frozenset)}
    most = max((sum(schema.features[p].actionable for p in one) for one in sets), default=0)
    return most if most > MOST_TOGETHER else 0
