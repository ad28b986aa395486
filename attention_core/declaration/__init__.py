"""What is declared of an implementation: the record, its words, sizes, scales and known failures, and a kernel's row.

Verification, the kernel table and the adapters of other people's kernels import this room; it imports none of them.
"""

from __future__ import annotations
