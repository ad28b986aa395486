"""How it is measured: clocks, interleaved samples, paired ratios, and the limits of the machine."""

from __future__ import annotations
