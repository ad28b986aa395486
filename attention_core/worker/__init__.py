"""Processes that run code under test: what reaches them, how much they compute, and how all of them end."""

from __future__ import annotations
