"""Exact search for sums of maps of scores, each map one that never turns back.

It goes the way of the search over tree ensembles, and stands on its cells, masks and nodes. What is new is the bound:
every score is bounded on its own, the maps keep the bounds, and the sum of the maps is compared with the cut.
"""
