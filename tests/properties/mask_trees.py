"""Random structured masks for two sequences: leaves of every kind, joined by & and |."""

from __future__ import annotations

from hypothesis import strategies as st

from attention_core.masking import Align, Mask, causal, padding, prefix, segments, sliding_window, window

B, LONGEST = 2, 24
ALIGN: st.SearchStrategy[Align] = st.sampled_from(["top_left", "bottom_right"])


@st.composite
def masks(draw: st.DrawFn, n_q: int, n_kv: int) -> Mask:
    """A mask that fits n_q <= n_kv tokens, of up to four leaves."""
    ids = st.lists(st.integers(0, 3), min_size=n_kv, max_size=n_kv)
    lengths = st.lists(st.integers(0, n_kv), min_size=B, max_size=B)
    packed = ids.map(sorted)
    leaf: st.SearchStrategy[Mask] = st.one_of(
        st.builds(causal, ALIGN),
        st.builds(sliding_window, st.integers(1, LONGEST), ALIGN),
        st.builds(window, st.integers(-1, LONGEST), st.integers(-1, LONGEST), ALIGN),
        st.builds(prefix, st.integers(0, LONGEST), ALIGN),
        st.builds(segments, st.lists(ids, min_size=B, max_size=B), ALIGN),
        st.builds(segments, st.lists(packed, min_size=B, max_size=B), ALIGN),
        st.builds(padding, lengths),
    )
    mask = draw(leaf)
    for _ in range(draw(st.integers(0, 3))):
        other = draw(leaf)
        mask = mask & other if draw(st.booleans()) else mask | other
    return mask


SIZES = st.integers(1, LONGEST).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n)))
