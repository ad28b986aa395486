"""Undeclared symbols: their kinds and shapes, from how a section uses them.

`usage` finds what a formula needs and which letters are indices, `written_domains` what any sentence says of a symbol
with `\\in`, `constraints` what the formulas ask of shapes, `solve` the shapes that fit, and `infer` the declarations.
"""
