"""Terms at sizes as nodes of the scalar graph.

`lower` hands a term to `arithmetic` or `limits` by a table that `probability.operations` completes;
`spaces` are the sizes and indices that are tried, `plans` the hypotheses at one tuple of them.
"""
