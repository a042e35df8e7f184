"""What is learned from training data and may travel in a bundle: costs, samplers and imputers.

Such a class knows its name, how to say in a line what it does, how to leave out what it no longer needs, and what it
keeps about people. Nobody else has to know these things about it.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from armin.registry import Registry

__all__ = ["Learned", "kept", "slim", "summaries"]


class Learned(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Base of costs, samplers and imputers; a subclass says in its first line how it is called.

    Parameters of a class definition
    --------------------------------
    alias : the name by which users ask for it; a class without one is used as an object only
    summary : what it does, in one line for the command line and the docs

    Attributes
    ----------
    role : what such a thing is, such as "sampler"
    """

    alias: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    role: ClassVar[str]

    def __init_subclass__(cls, *, alias: str = "", summary: str = "") -> None:
        super().__init_subclass__()
        cls.alias, cls.summary = alias, summary
        # a subclass may need what its parent would leave out, so only a class itself can say
        if "slim" not in vars(cls):
            cls.slim = Learned.slim  # type: ignore[method-assign]

    @classmethod
    def usual(cls) -> Self:
        """The object that the alias stands for."""
        return cls()

    def slim(self) -> Self:
        """The same without training values that it never looks at after ``fit``; it answers as before."""
        return self

    def kept(self) -> list[str]:
        """What it keeps about the people in the training data, one sentence for each thing."""
        return [_not_known(self, self.role)]

    def stored(self) -> dict[str, Any]:
        """Its parameters and what it has learned, by attribute: what a bundle holds of it."""
        return dict(vars(self))

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Self:
        """The object behind :meth:`stored`; made without calling anything else, as the file may be anybody's."""
        made = cls.__new__(cls)
        made.__dict__.update(state)
        return made

    def _keeps(self, what: str) -> str:
        return f"{type(self).__name__}, the {self.role}: {what}"


def slim(thing: Any) -> Any:
    """Anything without what it no longer needs, if it knows how to leave that out."""
    return thing.slim() if isinstance(thing, Learned) else thing


def kept(thing: Any, role: str) -> list[str]:
    """What anything in the role of a cost, a sampler or an imputer keeps about people.

    >>> kept(object(), "cost")
    ["object, the cost: not one of ARMIN's own, so what it keeps is not known."]
    """
    return thing.kept() if isinstance(thing, Learned) else [_not_known(thing, role)]


def _not_known(thing: Any, role: str) -> str:
    return f"{type(thing).__name__}, the {role}: not one of ARMIN's own, so what it keeps is not known."


def summaries(registry: Registry[Any]) -> dict[str, str]:
    """What each of the classes of a registry does, by name.

    >>> from armin.sampling import IMPUTERS
    >>> summaries(IMPUTERS)["knn"]
    'the middle of the nearest training rows'
    """
    return {alias: cls.summary for alias, cls in registry.all().items()}
