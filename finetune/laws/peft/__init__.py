"""The contract `peft`."""

from __future__ import annotations
