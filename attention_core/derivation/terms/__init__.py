"""Typed terms, their shapes, and the context that declares their symbols.

`terms` and `shapes`; `random_symbols` are symbols with a law; `context` is the record of declarations and hypotheses;
`relevance` says which of them matter to a term, `same_sizes` which sizes hypotheses make equal.
"""
