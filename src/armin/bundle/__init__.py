"""One file that holds a model, its schema and all that explaining needs; signed, and open about what it keeps.

The names are those of ``__init__.pyi``. Each is loaded when it is first used, so that looking at a bundle is quick.

>>> import tempfile, pathlib
>>> from armin import ARMIN
>>> from armin.bundle import inspect_bundle, save_bundle
>>> from armin.datasets import make_loans
>>> loans = make_loans()
>>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
>>> with tempfile.TemporaryDirectory() as folder:
...     file = save_bundle(pathlib.Path(folder) / "loans.armin", explainer)
...     print(inspect_bundle(file)["kept"][0])
Column names, column types, and the schema's bounds and categories.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
