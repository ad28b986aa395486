"""Asymptotic expansions, and limits decided by them.

`scales` of growth, `transseries` in them with coefficients that may depend on a random number; `expander`
makes them of nodes, takes limits under averages and reads a limit off.
"""
