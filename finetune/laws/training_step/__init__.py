"""The contract `training-step`."""

from __future__ import annotations
