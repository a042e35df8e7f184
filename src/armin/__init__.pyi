"""What people type in an ordinary week, and where it lives: read by type checkers and, at run time, by the package."""

from .bundle import load_bundle as load_bundle
from .bundle import save_bundle as save_bundle
from .errors import ArminError as ArminError
from .explain import ARMIN as ARMIN
from .explain import ExpertOptions as ExpertOptions
from .explain import ImputationAR as ImputationAR
from .explain import RobustAR as RobustAR
from .explain import compare as compare
from .prefit import Prefit as Prefit
from .promise import Promise as Promise
from .schema import Feature as Feature
from .schema import Schema as Schema

__version__: str
