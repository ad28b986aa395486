"""Sessions: one target and the laws of its contract, as all three doors (command line, pytest, Python) run them."""

from __future__ import annotations
