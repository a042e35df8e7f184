"""Exact search for tree ensembles: sets of features first, then ranges of their options.

The budget grows in stages. Within a stage every node whose cheapest choice costs too much, or whose
best leaves cannot convince enough candidates, is cut off; a stage that ends without a choice proves
that none costs less than its budget.
"""
