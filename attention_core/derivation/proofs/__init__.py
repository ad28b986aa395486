"""Proofs that raise agreement to EXACT or PROVED, and certified contradictions.

`prove` runs the stages: `modular`, `all_sizes`, `size_degree`, `size_signs` by `indexed` polynomials.
"""
