"""Everything a person reads, rendered from plain summary dictionaries."""
