"""Kernels of ours in Triton: for a GPU, and verified without one in Triton's interpreter.

Every kernel is two files. `flash` and `paged` are what people call: they check the call, choose blocks and launch.
`flash_programs` and `paged_programs` are what runs, and import triton, which the others import where they call it.
"""

from __future__ import annotations
