"""A counterexample as a short program that shows the failure without this package."""

from __future__ import annotations
