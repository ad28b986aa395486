"""Normal forms of the scalar graph: proofs of equality.

`normal` expands a graph into quotients of atoms (`ratios`), modulo the declared identities; `roots` are exact sums of
square roots, `frames` exact orthogonal vectors.
"""
