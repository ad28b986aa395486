"""The contract `causal-lm`."""

from __future__ import annotations
