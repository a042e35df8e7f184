"""Exact search for linear models: a multiple-choice knapsack over an order statistic.

Candidates whose scores all move by the same amount matter only through the score that must still
be lifted over the cut: the weighted k-th best. What remains is to buy a total gain at least cost,
one option per feature. A multiplier λ prices gain; the search leaves the best priced options only
as far as the gap to the incumbent allows, so that few nodes are visited. Where that is still too
many, the states after each feature that no other state beats are kept instead.

Options of a missing feature that move candidates differently (a category set to one value) are
sorted by *pattern*: all options of one pattern move the candidates by the pattern plus a constant.
Each combination of patterns is a *context*, searched on its own.
"""
