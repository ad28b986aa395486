"""What a law holds in its hands: the target bound to its conventions, the truth, and the evidence of a refutation."""

from __future__ import annotations
