"""The least a person must change to be accepted by a model, even when some of their values are missing.

Most names are loaded when they are first used, so that ``import armin`` is quick and has no side effects.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# eager, because the function shares its name with its package, whose import would hide it
from armin.solve import solve

if TYPE_CHECKING:
    from armin.costs import CustomCost as CustomCost
    from armin.costs import MaxPercentileShift as MaxPercentileShift
    from armin.costs import NumberOfChanges as NumberOfChanges
    from armin.costs import TableCost as TableCost
    from armin.costs import TotalLogPercentileShift as TotalLogPercentileShift
    from armin.costs import WeightedL1 as WeightedL1
    from armin.costs import WeightedL2 as WeightedL2
    from armin.errors import ArminError as ArminError
    from armin.explainer import ARMIN as ARMIN
    from armin.explainer import AskOrAct as AskOrAct
    from armin.explainer import Comparison as Comparison
    from armin.explainer import ImputationAR as ImputationAR
    from armin.explainer import RobustAR as RobustAR
    from armin.explainer import StressTest as StressTest
    from armin.explainer import ask_or_act as ask_or_act
    from armin.explainer import compare as compare
    from armin.explainer import compare_samplers as compare_samplers
    from armin.explainer import stress_test as stress_test
    from armin.impute import NativeMissing as NativeMissing
    from armin.impute.assess import Assessment as Assessment
    from armin.impute.assess import assess as assess
    from armin.problem import Options as Options
    from armin.problem import PairRule as PairRule
    from armin.problem import Problem as Problem
    from armin.problem import Solution as Solution
    from armin.problem import Status as Status
    from armin.promise import Calibration as Calibration
    from armin.recourse import Change as Change
    from armin.recourse import Recourse as Recourse
    from armin.recourse import RecoursePath as RecoursePath
    from armin.recourse import Recourses as Recourses
    from armin.recourse.certificate import Certificate as Certificate
    from armin.recourse.certificate import Validity as Validity
    from armin.schema import AtLeast as AtLeast
    from armin.schema import AtMostOne as AtMostOne
    from armin.schema import Condition as Condition
    from armin.schema import Feature as Feature
    from armin.schema import Forbid as Forbid
    from armin.schema import IfThen as IfThen
    from armin.schema import Schema as Schema
    from armin.schema import Together as Together

__version__ = "0.1.0"

_HOMES = {
    "costs": "CustomCost MaxPercentileShift NumberOfChanges TableCost TotalLogPercentileShift WeightedL1 WeightedL2",
    "errors": "ArminError",
    "certificate": "Certificate Validity",
    "explainer": "ARMIN AskOrAct Comparison ImputationAR RobustAR StressTest",
    "explainer.ask": "ask_or_act",
    "explainer.compare": "compare compare_samplers",
    "explainer.stress": "stress_test",
    "impute": "NativeMissing",
    "impute.assess": "Assessment assess",
    "problem": "Options PairRule Problem Solution Status",
    "promise": "Calibration",
    "recourse": "Change Recourse RecoursePath Recourses",
    "schema": "AtLeast AtMostOne Condition Feature Forbid IfThen Schema Together",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = ["__version__", "solve", *sorted(_HOME_OF)]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'armin' has no attribute {name!r}")
    value = getattr(import_module(f"armin.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
