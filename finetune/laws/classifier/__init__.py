"""The contract `classifier`."""

from __future__ import annotations
