"""Models to read in one sitting; their attention comes from `attention_core` by name."""

from __future__ import annotations
