"""The kernel table: one record a row, our kernels and other people's, and how a row becomes a function."""

from __future__ import annotations
