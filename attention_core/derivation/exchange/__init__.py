"""Claims of steps handed over to SymPy.

`to_sympy` writes the claim of a step as a SymPy relation; `witness` asks SymPy whether it holds. The way back, from a
SymPy relation to a verdict, is `sympy_relations`, next to `check`.
"""
