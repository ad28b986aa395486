"""The search for a counterexample: cases from both sources, and the first failure made as small as it can be."""

from __future__ import annotations
