"""The scalar graph, and what its nodes are worth.

`nodes` builds and differentiates it; `numbers` evaluates it by exact rationals, else by balls of python-flint, and at
many points at once in float64; `compare` judges two sides at a case; `bounds` looks at a node over all values of its
leaves; `choices` are the random numbers that a case is drawn from.
"""
