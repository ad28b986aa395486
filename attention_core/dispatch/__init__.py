"""The public `attention(...)`: which kernel answers a call, and what is kept between calls."""

from __future__ import annotations
