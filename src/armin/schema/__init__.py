"""What a row holds and what may change: :class:`Schema` and :class:`Feature`."""

from armin.schema.feature import Blank, Direction, Feature, Kind, Value, is_blank
from armin.schema.table import Rows, Schema

__all__ = ["Blank", "Direction", "Feature", "Kind", "Rows", "Schema", "Value", "is_blank"]
