"""The contract `trainer`."""

from __future__ import annotations
