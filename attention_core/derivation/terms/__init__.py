"""Typed terms, their shapes, and the context that declares their symbols.

`terms` have types and shapes; `context` is the record of declarations and hypotheses; `relevance` says which of them
matter to a term, and what symbols with a law are outside of expectations; `same_sizes` which sizes hypotheses make
equal.
"""
