"""The contract `vocabulary`."""

from __future__ import annotations
