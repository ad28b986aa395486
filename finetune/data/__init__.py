"""Data: files into ids, and the objectives (span corruption, masked words, names) as pure functions on batches."""

from __future__ import annotations
