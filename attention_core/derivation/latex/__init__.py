"""LaTeX formulas as syntax trees, and back.

`lexer` (with `commands` and the tables in `tables`) cuts a formula into `tokens`; `parse` makes a `syntax` tree of
them by a Lark `grammar`, built by `tree`. `printer` writes a tree as LaTeX, `mathml` as MathML.
"""
