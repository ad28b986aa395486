"""Syntax trees as typed terms, one module for each kind of expression.

`expressions` hands an expression to the module of its kind; `hypotheses` are the relations among them.
"""
