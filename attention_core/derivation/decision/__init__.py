"""The verdict of a step.

`decide` searches, then proves what holds; `statistics` decides by samples; `agreement` is the verdict
without a counterexample; `doubts` makes UNDECIDED of REFUTED where a hypothesis may not have been read, and AMBIGUOUS
where another reading (`conventions`, `groupings`) makes a step true; `advice` says what would make a step true, and
which hypotheses it needs.
"""
