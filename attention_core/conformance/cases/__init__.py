"""Cases of attention: what they hold, how they are drawn, small and large, and which wrong answers they can tell."""

from __future__ import annotations
