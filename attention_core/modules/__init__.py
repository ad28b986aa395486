"""What stands around a kernel: heads, positions, self-attention modules, synthesizers."""

from __future__ import annotations
