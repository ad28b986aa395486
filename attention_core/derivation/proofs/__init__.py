"""Proofs that raise agreement to EXACT or PROVED, and certified contradictions.

`all_sizes` proves by `indexed` polynomials, and it has the proofs that a search asks for as well.
`modular` tests at large sizes, `size_degree` counts sizes that suffice; `contradiction` certifies.
"""
