"""Choosing among many runs by dev alone, in several processes."""

from __future__ import annotations
