"""What people type in an ordinary week, and where it lives: read by type checkers and, at run time, by the package."""

from .costs import CustomCost as CustomCost
from .costs import MaxPercentileShift as MaxPercentileShift
from .costs import NumberOfChanges as NumberOfChanges
from .costs import TableCost as TableCost
from .costs import TotalLogPercentileShift as TotalLogPercentileShift
from .costs import WeightedL1 as WeightedL1
from .costs import WeightedL2 as WeightedL2
from .errors import ArminError as ArminError
from .explainer import ARMIN as ARMIN
from .explainer import AskOrAct as AskOrAct
from .explainer import Comparison as Comparison
from .explainer import ImputationAR as ImputationAR
from .explainer import RobustAR as RobustAR
from .explainer import StressTest as StressTest
from .explainer.ask import ask_or_act as ask_or_act
from .explainer.compare import compare as compare
from .explainer.compare import compare_samplers as compare_samplers
from .explainer.stress import stress_test as stress_test
from .impute import NativeMissing as NativeMissing
from .impute.assess import Assessment as Assessment
from .impute.assess import assess as assess
from .problem import Options as Options
from .problem import PairRule as PairRule
from .problem import Problem as Problem
from .problem import Solution as Solution
from .problem import Status as Status
from .promise import Calibration as Calibration
from .recourse import Change as Change
from .recourse import Recourse as Recourse
from .recourse import RecoursePath as RecoursePath
from .recourse import Recourses as Recourses
from .recourse.certificate import Certificate as Certificate
from .recourse.certificate import Validity as Validity
from .schema import AtLeast as AtLeast
from .schema import AtMostOne as AtMostOne
from .schema import Condition as Condition
from .schema import Feature as Feature
from .schema import Forbid as Forbid
from .schema import IfThen as IfThen
from .schema import Schema as Schema
from .schema import Together as Together

__version__: str
