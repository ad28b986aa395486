"""What a training step holds in memory, and the largest batch that fits."""

from __future__ import annotations
