"""Classes that are found by a name, each entered by its own definition.

A class says its name in its first line, and no list has to know it. The files of the registry's package are looked
through when a name is not known yet, so that a new file there is enough; a class in a notebook is known once it is
defined.

>>> animals = Registry("animal", "armin.datasets")
>>> class Animal:
...     def __init_subclass__(cls, *, alias: str = "") -> None:
...         animals.add(alias, cls)
>>> class Hen(Animal, alias="hen"):
...     pass
>>> animals.find("hen").__name__
'Hen'
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Generic, TypeVar

from armin.errors import ParameterError

__all__ = ["Registry", "import_all"]

Kind = TypeVar("Kind")


class Registry(Generic[Kind]):
    """Names of classes.

    Parameters
    ----------
    what : what the classes are, for messages
    package : the package whose files define them

    Attributes
    ----------
    known : the classes that have been defined so far, by name
    """

    def __init__(self, what: str, package: str) -> None:
        self.what = what
        self.package = package
        self.known: dict[str, type[Kind]] = {}

    def add(self, alias: str, cls: type[Kind]) -> None:
        """Enter a class; without an alias it has no name and is not entered.

        A class may be defined again, as when a notebook's cell is run twice. Another class under a name that is taken
        is refused.
        """
        if not alias:
            return
        old = self.known.get(alias)
        if old is not None and (old.__module__, old.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ParameterError(
                f"The name {alias!r} of a {self.what} is taken by {old.__module__}.{old.__qualname__}. "
                f"Give {cls.__name__} another alias."
            )
        self.known[alias] = cls

    def find(self, alias: object) -> type[Kind] | None:
        """The class of this name, or None."""
        if not isinstance(alias, str):
            return None
        if alias not in self.known:
            import_all(self.package)
        return self.known.get(alias)

    def all(self) -> dict[str, type[Kind]]:
        """All classes by name, in the order of the names."""
        import_all(self.package)
        return dict(sorted(self.known.items()))

    def listed(self) -> str:
        """All names, for a message."""
        return ", ".join(repr(alias) for alias in self.all())


def import_all(package: str, prefix: str = "") -> list[str]:
    """Import the files of a package whose names start with ``prefix``; return the names of the modules.

    >>> import_all("armin.problem", "st")
    ['armin.problem.stated']
    """
    path = import_module(package).__path__
    names = [f"{package}.{one.name}" for one in iter_modules(path) if one.name.startswith(prefix)]
    for name in names:
        import_module(name)
    return names
