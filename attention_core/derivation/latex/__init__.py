"""LaTeX formulas as syntax trees, and back.

`lexer` (with `commands`) cuts a formula into `tokens` by the tables that stand with them; `parse` makes a `syntax` tree
of them by Lark's grammar, whose LALR table `table` follows. `printer` writes a tree as LaTeX, `mathml` as MathML.
"""
