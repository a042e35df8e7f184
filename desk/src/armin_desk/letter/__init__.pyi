"""What a letter needs, and where it lives: read by type checkers and, at run time, by the package."""

from .given import read_given as read_given
from .pack import packs as packs
from .pack import read_pack as read_pack
from .reference import check_reference as check_reference
from .reference import new_reference as new_reference
from .write import Letter as Letter
from .write import write_incomplete_notice as write_incomplete_notice
from .write import write_letter as write_letter
