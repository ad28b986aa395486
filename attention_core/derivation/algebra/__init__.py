"""Normal forms of the scalar graph: proofs of equality.

`normal` expands a graph into quotients (`ratios`) of `atoms`, modulo the declared identities; `roots` are exact sums of
square roots, `frames` exact orthogonal vectors.
"""
