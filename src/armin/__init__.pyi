"""What people type in an ordinary week, and where it lives: read by type checkers and, at run time, by the package."""

from .bundle import load_bundle as load_bundle
from .bundle import save_bundle as save_bundle
from .errors import ArminError as ArminError
from .explainer import ARMIN as ARMIN
from .explainer import ImputationAR as ImputationAR
from .explainer import RobustAR as RobustAR
from .explainer import compare as compare
from .prefit import Prefit as Prefit
from .promise import Promise as Promise
from .schema import Feature as Feature
from .schema import Schema as Schema

__version__: str
