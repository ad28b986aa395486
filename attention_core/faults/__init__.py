"""The catalogue of faults: attention as people get it wrong, filed by subject, and correct code that only looks wrong.

Each fault is a correct implementation with one thing changed; its docstring says what, and where people made it. The
tests put laws to them, `tox run -e power` counts which law refutes which, the pages of laws show the smallest one, and
`attention-core audit` puts them in the place of a user's function. Nothing else of the product imports them.
"""
