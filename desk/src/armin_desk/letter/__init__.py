"""A one-page letter for the person: decision, reasons, plan, other ways, what is not known, what is not promised.

The names are those of ``__init__.pyi``. Each is loaded when it is first used: a company's texts can be checked without
the libraries that write a letter.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
