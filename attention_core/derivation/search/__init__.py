"""Searches for a counterexample.

`trials` judges cases at one tuple of sizes. Then at extreme values (`far`), at large and huge sizes (`larger_sizes`,
`huge`, `huge_search`, `size_sweep`), and where a claim could fail (`targeted`).
"""
