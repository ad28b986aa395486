"""The contract `head-importance`."""

from __future__ import annotations
