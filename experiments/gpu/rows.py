"""What is judged on a GPU, the most important first: ours, torch's, planted faults, and what others wrote in Triton."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HALVES = "--dtype bfloat16,float16"
FUSED = "--sizes 'd == d_v and d % 8 == 0'"
NO_SCALE = "--claims attn_mask,is_causal,enable_gqa"
POOL = "--shapes pool"  # cuDNN plans, and Triton compiles, for every size


COMPILING = 150
"""Seconds that a call may take: it may compile first, beside fifteen others."""


@dataclass(frozen=True)
class Row:
    """A target and its options."""

    target: str
    options: str = ""
    about: str = ""
    """What sets it apart from another row of the same target."""
    share: int = 1
    """How many processes judge it."""
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """What its report is called."""
        return re.sub(r"\W+", "_", f"{self.target} {self.about}").strip("_")


OURS = (
    Row("core:triton_flash", f"{POOL} {HALVES}", "in two bytes", 2),
    Row("core:triton_flash", f"{POOL} --dtype float32 --no-gradients", "forward in float32", 2),
    Row("core:triton_flash_lse", f"{POOL} {HALVES}", "in two bytes", 2),
    Row("core:triton_paged", share=2),
    Row("core:packed"),
    Row("core:paged"),
    Row("core:linear"),
    Row("core:retention"),
    Row("core:gated_linear"),
    Row("core:gated_delta"),
    Row("core:gated_delta_recurrent"),
    Row("core:quantised_tensor"),
    Row("core:quantised_sequence"),
    Row("core:quantised_token"),
    Row("core:quantised_block"),
    Row("core:mla_absorbed"),
    Row("core:mla_materialised"),
    Row("core:block_map"),
    Row("core:block_sparse", POOL),
    Row("torch:flex_compiled", f"{POOL} --dtype float16"),
    Row("core:flex", f"{POOL} --dtype float16 --arg block=128 --arg compiled=True", "compiled"),
    Row("core:attention", POOL),
    Row("core:fused", POOL),
    Row("torch:default", POOL),
    Row("torch:cudnn", f"{POOL} {FUSED}"),
    Row("torch:cudnn", f"{POOL} {FUSED} {NO_SCALE}", "without a scale"),
    Row("torch:default", f"{POOL} {FUSED} {NO_SCALE}", "without a scale"),
)
LATER = (
    Row("core:triton_flash", f"{POOL} --dtype float32", "in float32"),
    Row("core:flex", "--arg block=128", "the reference of the operator"),
    Row("core:invariant"),
    Row("core:merge"),
    Row("core:batch_invariant"),
    Row("core:half_accuracy"),
    Row("core:cache"),
    Row("core:self_attention"),
    Row("core:rotary"),
    Row("attention_core.peers.torch_functions:flex_blocks", "--contract block-mask --no-gradients"),
    Row("transformers:sdpa", POOL),
    Row("torch:mha_weights", POOL),
    Row(
        "jax.nn:dot_product_attention",
        f"--array jax --layout bnhd {POOL} --sizes 'd == d_v' --dead-rows uniform",
        environment=(("XLA_PYTHON_CLIENT_PREALLOCATE", "false"),),
    ),
)
JUDGED = (
    Row("torch:efficient", FUSED),
    Row("torch:efficient", f"{FUSED} {NO_SCALE}", "without a scale"),
    Row("torch:flash", f"{HALVES} {FUSED} --claims is_causal,enable_gqa,scale"),
    Row("torch:flash", f"{HALVES} {FUSED} --claims is_causal,enable_gqa", "without a scale"),
    Row("torch.nn.attention.varlen:varlen_attn", f"--contract varlen {HALVES} --untested return_aux {FUSED}"),
    Row("transformers:eager"),
    Row("torch:mha"),
    Row("torch:math"),
    Row("core:dot_product"),
    Row("core:dot_product_lse"),
    Row("core:tiled"),
    Row("core:split_merge"),
    Row("core:featured"),
    Row("core:naive_causal"),
)
"""Rows whose verdicts docs/data/gpu_verdicts.json has."""
IN_TRITON = f"{HALVES} {POOL} --no-gradients"
MORE_OF_OTHERS = (
    Row(
        "attention_core.peers.cuda_triton_multiarch:flash",
        f"{IN_TRITON} --sizes 'n_q == n_kv and d == d_v and d in (16, 32, 64)'",
    ),
    Row(
        "attention_core.peers.fla:parallel",
        f"{IN_TRITON} --layout bnhd --accumulate float32 --always-causal --sizes 'n_q == n_kv and d == d_v'",
    ),
    Row("attention_core.peers.sglang:decode_latent", f"--contract mla {HALVES} --sizes 'n_q == 1'"),
    Row("attention_core.peers.flash_attn_triton:flash", f"{IN_TRITON} --layout bnhd --sizes 'd == d_v'"),
)
"""Kernels of others in Triton that docs/data/matrix.json does not have."""
ALL_DTYPES = "--dtype float32,bfloat16,float16"


def of_others(dtype: str, about: str) -> Iterator[Row]:
    """The rows of the public matrix that were judged in Triton's interpreter, with the options they were judged with.

    Kernels with products are judged in some dtypes alone: in float32 Triton takes tf32 on a GPU, the interpreter never.
    """
    matrix = json.loads((ROOT / "docs" / "data" / "matrix.json").read_text(encoding="utf-8"))
    for one in matrix["rows"]:
        if one["runtime"] != "Triton's interpreter":
            continue
        options = f"--contract {one['contract']}{one['conventions'].replace('--runtime triton', '')}"
        options = options.replace("page in (1, 2, 4, 8, 16", "page in (16")  # a GPU multiplies 16 keys or more
        shapes = POOL if one["contract"] == "attention" else ""
        if one["contract"] in ("rotary", "merge"):
            if not about:
                yield Row(one["target"], options)
        else:
            yield Row(one["target"], f"{options.replace(ALL_DTYPES, dtype)} {shapes}", about)


@dataclass(frozen=True)
class Job:
    """One process: its group and name, the words after the interpreter, how many processors it keeps busy."""

    group: str
    name: str
    words: tuple[str, ...]
    slots: int = 1
    environment: tuple[tuple[str, str], ...] = ()


def verdict_job(row: Row, group: str, device: str) -> Job:
    """The job that judges a row."""
    options = [*shlex.split(row.options), "--device", device]
    if device == "cpu" and group == "others":
        options += ["--runtime", "triton"]
    if device != "cpu":
        options += ["--timeout", str(COMPILING)]
    words = ("experiments/gpu/judge.py", "{folder}", row.name, str(row.share), row.target, *options)
    return Job(group, row.name, words, row.share, row.environment)


def fault_job(name: str, device: str) -> Job:
    """The job that judges one planted fault of a Triton kernel."""
    words = ["experiments/triton_faults/run.py", "--device", device, "--effort", "quick", "--only", f"={name}="]
    words += ["--shapes", "pool", "--log", f"{{folder}}/fault_{name}.jsonl"]
    return Job("faults", name, tuple(words))


def command_jobs(device: str) -> Iterator[Job]:
    """The findings in plain torch, and our smallest cases under compute-sanitizer."""
    for finding in ("machine", "G6", "G7", "G8", "G9", "G10", "G11"):
        words = (
            "experiments/gpu/findings.py",
            finding,
            "--device",
            device,
            "--json",
            f"{{folder}}/finding_{finding}.json",
        )
        yield Job("findings", finding, words)
    for kernel in ("flash", "paged", "row_guard_missing"):
        words = (
            "experiments/gpu/sanitized.py",
            kernel,
            "--device",
            device,
            "--json",
            f"{{folder}}/sanitized_{kernel}.json",
        )
        yield Job("sanitized", kernel, words)


def jobs(device: str) -> list[Job]:
    """All jobs, in the order in which they are begun."""
    sys.path.insert(0, str(ROOT))
    from attention_core.faults.triton_kernels import KERNEL_FAULTS

    slow = ("adjacent", "offsets", "dead_rows", "grid_rounded", "diagonal_block_not_read")
    names = sorted(
        (fault.name for fault in KERNEL_FAULTS), key=lambda name: name.startswith(slow) or "adjacent" in name
    )
    faults = [fault_job(name, device) for name in names]
    others = [verdict_job(row, "others", device) for row in (*of_others(HALVES, ""), *MORE_OF_OTHERS)]
    single = [verdict_job(row, "others", device) for row in of_others("--dtype float32", "in float32")]
    mixed = [job for four in zip_longest(*(faults[i::3] for i in range(3)), others) for job in four if job]
    findings = [job for job in command_jobs(device) if job.group == "findings"]
    sanitized = [job for job in command_jobs(device) if job.group == "sanitized"]
    ours, later = ([verdict_job(row, "ours", device) for row in rows] for rows in (OURS, LATER))
    return [*ours[:4], *findings, *ours[4:], *sanitized, *mixed, *single, *later]
