"""Proofs that raise agreement to EXACT or PROVED, and certified contradictions.

`all_sizes` proves by `indexed` polynomials; `modular` tests at large sizes; `contradiction`
certifies; `shortcuts` are what a search may ask for.
"""
