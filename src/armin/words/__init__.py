"""Everything that is said to people, as data: a code, its values, and one catalogue per language.

>>> few = Message("draws.few", kept=12, drawn=5000)
>>> few.code, few["kept"]
('draws.few', 12)
>>> print(few)
Only 12 of 5,000 plausible completions agree with what is known (the rejection): the answer rests on these.
"""

from armin.words.catalogue import Catalogue
from armin.words.files import catalogue, languages
from armin.words.message import Message
from armin.words.printable import Printable
from armin.words.things import Name, Quantity

__all__ = ["Catalogue", "Message", "Name", "Printable", "Quantity", "catalogue", "languages"]
