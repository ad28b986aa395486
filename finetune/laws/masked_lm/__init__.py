"""The contract `masked-lm`."""

from __future__ import annotations
