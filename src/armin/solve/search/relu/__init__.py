"""Exact search over ReLU networks: the cheapest choice, proved over all candidates.

A node of the search gives each feature a range of options. The action enters the network once, as
u = sum of U_d[j_d] in the first layer, so one box for u and one linear bound on the scores, with
offsets of its own for each candidate, say whether candidates of the required weight can still be
accepted, and at what cost at least. As the same bound serves every required weight, one search finds
the whole path: a node is dropped when it can improve the answer for no weight.
"""
