"""Cases that satisfy the hypotheses, generated and shrunk.

`problem` is the record that searches and proofs share: a claim, its hypotheses, its sites and what was seen. `generate`
makes and completes cases of values that the hypotheses admit; `counterexamples` shrinks and reports one.
"""
