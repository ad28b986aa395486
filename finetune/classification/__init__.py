"""Fine-tuning a classifier, from options to result.json."""

from __future__ import annotations
