"""Attention that other people ship, verified row by row: the rows, their runs, and the page of verdicts.

python -m attention_core.matrix --data matrix.json --page matrix.md
"""
