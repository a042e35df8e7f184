"""What a bundle offers, and where it lives: read by type checkers and, at run time, by the package."""

from .look import inspect_bundle as inspect_bundle
from .store import Bundle as Bundle
from .store import load_bundle as load_bundle
from .store import save_bundle as save_bundle
