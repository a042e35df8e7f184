"""The least a person must change to be accepted by a model, even when some of their values are missing.

The names are those of ``__init__.pyi``. Each is loaded when it is first used, so that ``import armin`` is quick and has
no side effects.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
