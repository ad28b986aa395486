"""How far a correct kernel may be from the truth: rounding errors carried through attention and its derivatives."""

from __future__ import annotations
