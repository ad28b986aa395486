r"""The typed claim of a step.

`claim` makes it, exact also of \approx, \gg and limits.
"""
