"""Where kernels run: worker processes, the messages to them, and the jobs they do."""

from __future__ import annotations
