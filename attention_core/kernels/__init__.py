"""Attention as functions of (query, key, value): the definition, and faster ways to the same result."""

from __future__ import annotations
