"""One file that holds a model, its schema and all that explaining needs; safe to load, and open about what it keeps.

>>> import tempfile, pathlib
>>> from armin import ARMIN
>>> from armin.datasets import make_loans
>>> loans = make_loans()
>>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
>>> with tempfile.TemporaryDirectory() as folder:
...     file = save_bundle(pathlib.Path(folder) / "loans.armin", explainer)
...     print(inspect_bundle(file)["kept"][0])
Column names, column types, and the schema's bounds and categories.
"""

from armin.bundle.store import Bundle, inspect_bundle, load_bundle, save_bundle

__all__ = ["Bundle", "inspect_bundle", "load_bundle", "save_bundle"]
