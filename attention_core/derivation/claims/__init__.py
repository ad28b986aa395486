r"""The typed claim of a step.

`claim` makes it; `approximate` and `limit_claims` make exact claims of \approx, \gg and limits.
"""
