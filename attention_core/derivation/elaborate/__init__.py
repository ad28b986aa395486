"""Syntax trees as typed terms, one module for each kind of expression.

`expressions` is the table of kinds, `elaborator` what all of them share; `hypotheses` are the relations among them.
"""
