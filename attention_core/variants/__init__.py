"""Other ways to attend, each in a file of its own; those that compute the same function say so.

Same function as `dot_product_attention`: `tiled`, `split_merge`. A counterexample: `naive_causal`. Another function:
`synthesizer`, whose scores come from one token alone.
"""

from __future__ import annotations
