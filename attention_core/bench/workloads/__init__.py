"""What is measured: shapes, masks and the tensors of one cell."""

from __future__ import annotations
