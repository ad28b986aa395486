"""Whether a target is written with numba.cuda, read from its source: then its worker needs numba's simulator.

Numba decides when it is imported whether kernels are simulated, so that the variable must be set before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from attention_core.worker.triton import read_source

VARIABLE = "NUMBA_ENABLE_CUDASIM"
IMPORT = re.compile(
    r"^[ \t]*(?:import[ \t]+numba\.cuda\b|from[ \t]+numba\.cuda\b|from[ \t]+numba[ \t]+import\b[^\n#]*\bcuda\b)"
    r"|^[^#\n]*\bnumba\.cuda\.jit\b",
    re.MULTILINE,
)


def simulator_variables(
    target: str, device: str, runtime: str = "auto", variables: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What a worker's environment needs beside for a target written with numba.cuda.

    With the runtime "auto" a value that the caller has set is left as it is, and so is the target of another device.

    Example:
        >>> simulator_variables("json:dumps", "cpu")
        {}
        >>> simulator_variables("json:dumps", "cpu", "numba")
        {'NUMBA_ENABLE_CUDASIM': '1'}
    """
    given = os.environ if variables is None else variables
    if runtime != "auto":
        return {VARIABLE: "1" if runtime == "numba" else "0"}
    if device != "cpu" or VARIABLE in given or not IMPORT.search(read_source(target)):
        return {}
    return {VARIABLE: "1"}
