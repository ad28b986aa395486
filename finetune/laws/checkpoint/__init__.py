"""The contract `checkpoint`."""

from __future__ import annotations
