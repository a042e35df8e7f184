"""What people type in an ordinary week, and where it lives: read by type checkers and, at run time, by the package."""

from . import solve as solve
from .bundle import load_bundle as load_bundle
from .bundle import save_bundle as save_bundle
from .errors import ArminError as ArminError
from .explain import ARMIN as ARMIN
from .explain import ExpertOptions as ExpertOptions
from .models import register_model as register_model
from .problem import Problem as Problem
from .promise import Promise as Promise
from .recourse import Recourse as Recourse
from .recourse import RecoursePath as RecoursePath
from .schema import Feature as Feature
from .schema import Schema as Schema
from .schema import rules as rules

__version__: str
