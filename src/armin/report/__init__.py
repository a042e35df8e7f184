"""Everything a person reads: messages from plain summary dictionaries, and text, HTML and pictures from these."""
