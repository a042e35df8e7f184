"""Tools for maintainers, which are not shipped: see README.md in this folder."""
