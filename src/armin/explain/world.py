"""Which question a row asks: what has been decided about it, and who will judge afterwards."""

from __future__ import annotations

import numpy as np

from armin.arrays import FloatArray
from armin.errors import ModelError, ParameterError
from armin.explain.fitted import Fitted
from armin.recourse.world import World

__all__ = ["World", "find_world"]


def find_world(fitted: Fitted, codes: FloatArray) -> World:
    """The world of one row (D,): as the settings say, or for "auto" as the model knows blanks."""
    settings = fitted.settings
    if not np.isnan(codes).any():
        return World(settings.decision if settings.decision != "auto" else "complete", "disclosed", False, None)
    if settings.decision not in ("auto", "complete", "blank", None):
        raise ParameterError(f"'decision' must be 'auto', 'complete', 'blank' or None. Got {settings.decision!r}.")
    refusal = fitted.refusal(codes)
    if refusal is not None:
        if settings.decision == "blank" or settings.reapply != "disclosed":
            what = "decision='blank'" if settings.decision == "blank" else f"reapply={settings.reapply!r}"
            raise ModelError(
                f"{what} needs a model that decides about blanks, and this one does not take them ({refusal}). "
                "Use decision='complete' and reapply='disclosed', or a pipeline that fills blanks by itself."
            )
        return World(None if settings.decision is None else "complete", "disclosed", True, None)
    if fitted.read.complete_only and (settings.reapply != "disclosed" or fitted.native):
        what = "NativeMissing" if fitted.native else f"reapply={settings.reapply!r}"
        raise ModelError(
            f"{what} asks the model about the row with its blanks, and this model fills them from the other columns, "
            "which can only be followed where nothing is blank. Use reapply='disclosed', or "
            "ExpertOptions(method='blackbox')."
        )
    decision = settings.decision
    if decision == "auto":
        decision = "blank" if fitted.decides(codes) else "complete"
    return World(decision, settings.reapply, True, _verdict(fitted, codes))


def _verdict(fitted: Fitted, codes: FloatArray) -> bool:
    """What the model says to a row with blanks; by its reading where that may stand in until the answer is judged."""
    if fitted.uses_surrogate and not fitted.read.complete_only:
        return bool(fitted.read.model.accepts(fitted.read.encode(codes[None, :]))[0])
    return bool(fitted.decision.accepts(codes[None, :])[0])
