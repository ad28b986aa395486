"""The command line `finetune`, one module a command."""

from __future__ import annotations
