"""The scalar graph, and what its nodes are worth.

`nodes` builds it; `numbers` evaluates it by exact rationals, else by balls of python-flint, and `floats` at many
points at once; `compare` judges two sides at a case; `bounds` and `gradient` look at a node as a function of its
leaves; `choices` are the random numbers that a case is drawn from.
"""
