"""Cases that satisfy the hypotheses, generated and shrunk.

`generate` and `complete` make them of `admissible` values; `sites` and `trials` say where a claim is tried, `tally`
what was seen; `counterexamples` shrinks and reports one.
"""
