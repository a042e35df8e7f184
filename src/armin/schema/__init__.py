"""What a row holds and what may change: :class:`Schema` and :class:`Feature`."""

from armin.schema.feature import Blank, Direction, Feature, Kind
from armin.schema.table import Rows, Schema
from armin.schema.values import Value, is_blank

__all__ = ["Blank", "Direction", "Feature", "Kind", "Rows", "Schema", "Value", "is_blank"]
