"""Searches for a counterexample.

`trials` judges cases at one tuple of sizes. Then at extreme values (`far`), at large and huge sizes (`larger_sizes`,
`huge`, `huge_search`, `size_sweep`), where a claim could fail (`targeted`), where two sides meet (`irrational_points`),
and at solutions of hypotheses that no case is built from (`solved_points`, `certified_points`).
"""
