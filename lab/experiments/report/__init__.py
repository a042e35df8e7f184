"""The page and its figures, from stored rows only."""
