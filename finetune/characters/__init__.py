"""The character model of the assignment: its recipes, and the answers that it gives."""

from __future__ import annotations
