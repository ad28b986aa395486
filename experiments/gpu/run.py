"""Put kernels to the laws on a GPU, and write docs/gpu.md.

From the root of the repository, on a machine with a CUDA device:
python experiments/gpu/run.py --folder build/gpu [--jobs J] [--minutes M] [ROW...]
python experiments/gpu/run.py --folder build/gpu --page docs/gpu.md        (the page alone, from what the folder holds)

Each row of `ROWS` is judged by `attention-core verify ... --device cuda` in processes of its own, whose report in JSON
stays in the folder. A row that has its report is not judged again.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Row:
    """A target and its options; `share` is how many processes judge it."""

    target: str
    options: str = ""
    share: int = 1
    about: str = ""
    """What sets it apart from another row of the same target."""

    @property
    def name(self) -> str:
        """What its report is called."""
        return re.sub(r"\W+", "_", f"{self.target} {self.about}").strip("_")


HALVES = "--dtype bfloat16,float16"
FUSED = "--sizes 'd == d_v and d % 8 == 0'"
NO_SCALE = "--claims attn_mask,is_causal,enable_gqa"
ROWS = (
    Row("core:triton_flash", f"--shapes pool {HALVES}", 2, "in two bytes"),
    Row("core:triton_flash", "--shapes pool --dtype float32 --no-gradients", 2, "forward in float32"),
    Row("core:triton_flash_lse", f"--shapes pool {HALVES}", about="in two bytes"),
    Row("core:triton_paged", share=2),
    Row("torch:efficient", FUSED),
    Row("torch:efficient", f"{FUSED} {NO_SCALE}", about="without a scale"),
    Row("torch:cudnn", FUSED),
    Row("torch:cudnn", f"{FUSED} {NO_SCALE}", about="without a scale"),
    Row("torch:flash", f"{HALVES} {FUSED} --claims is_causal,enable_gqa,scale"),
    Row(
        "torch:flash",
        f"{HALVES} {FUSED} --claims is_causal,enable_gqa",
        about="without a scale",
    ),
    Row("torch.nn.attention.varlen:varlen_attn", f"--contract varlen {HALVES} --untested return_aux {FUSED}"),
    Row("torch:default"),
    Row("torch:default", f"{FUSED} {NO_SCALE}", about="without a scale"),
    Row("core:attention"),
    Row("core:fused"),
    Row("core:block_sparse"),
    Row("core:packed"),
    Row("core:paged"),
    Row("core:gated_delta"),
    Row("core:linear"),
    Row("core:retention"),
    Row("core:gated_linear"),
    Row("torch:flex_compiled", "--shapes pool"),
    Row("transformers:sdpa"),
    Row("transformers:eager"),
    Row("torch:mha"),
    Row("torch:mha_weights"),
    Row(
        "jax.nn:dot_product_attention", "--array jax --layout bnhd --shapes pool --sizes 'd == d_v' --dead-rows uniform"
    ),
    Row("torch:math"),
    Row("core:dot_product"),
    Row("core:dot_product_lse"),
    Row("core:tiled"),
    Row("core:split_merge"),
    Row("core:featured"),
    Row("core:naive_causal"),
)


def judge(row: Row, folder: Path, until: float) -> str:
    """Judge a row in processes of its own, until a moment; what came of it, in a line."""
    report, log = folder / f"{row.name}.json", folder / f"{row.name}.log"
    if report.exists():
        return "judged before"
    words = [
        sys.executable,
        "-m",
        "attention_core",
        "verify",
        row.target,
        *shlex.split(row.options),
        "--device",
        "cuda",
    ]
    words += ["--effort", "quick", "--jobs", str(row.share), "--json", str(report), "--save", str(folder / "saved")]
    start = time.perf_counter()
    with log.open("w") as stream:
        try:
            told = subprocess.run(
                words, stdout=stream, stderr=subprocess.STDOUT, timeout=max(1.0, until - time.time()), cwd=ROOT
            )
        except subprocess.TimeoutExpired:
            return "out of time"
    return f"exit status {told.returncode} after {time.perf_counter() - start:.0f} s"


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help="targets of rows; all rows when empty")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "gpu")
    parser.add_argument("--jobs", type=int, default=4, help="rows judged at the same time")
    parser.add_argument("--minutes", type=float, default=30.0, help="what is not judged by then is left out")
    chosen = parser.parse_args(argv)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    rows = [row for row in ROWS if not chosen.rows or row.target in chosen.rows]
    until = time.time() + 60 * chosen.minutes
    with ThreadPoolExecutor(chosen.jobs) as pool:
        judging = {row: pool.submit(judge, row, chosen.folder, until) for row in rows}
        for row, future in judging.items():
            print(f"{row.target:40} {future.result()}", flush=True)


if __name__ == "__main__":
    main()
