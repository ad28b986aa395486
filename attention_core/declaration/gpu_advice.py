"""What a target asks of a machine that this one does not have, read from the words of an exception, and what to do.

A device, its driver, its compute capability, a compiler, a package or an operator that runs on GPUs alone.
"""

from __future__ import annotations

import re

NOT_HERE = re.compile(
    r"not compiled with CUDA|not linked with|NVIDIA driver|No CUDA GPUs are available|no CUDA-capable device|"
    r"driver version is insufficient|0 active drivers|no kernel image is available|Unable to initialize backend|"
    r"[Nn]o (?:Metal|visible GPU|GPU|HIP) (?:device|GPU)s?\b|MPS backend is not (?:available|supported)|"
    r"invalid device ordinal|lib(?:cuda|cudart|hip|amdhip|nvcuda)\S*: cannot open|Failed to find C compiler"
)
"""In the message of an exception: a device, its driver or a compiler is missing on this machine."""
CAPABILITY = re.compile(
    r"no kernel image is available|compute capabilit|cuda capabilit|not supported (?:in|on|for) this (?:GPU )?arch|"
    r"\bonly supports? \W*(?:Volta|Turing|Ampere|Ada|Hopper|Blackwell|sm_?\d)|\.target sm_\d|\bsm_?\d{2,3}\b|"
    r"\b(?:Volta|Turing|Ampere|Ada|Hopper|Blackwell)\b[^.]*\b(?:GPU|or newer|or later|required)",
    re.IGNORECASE,
)
"""In the message of an exception: the code wants a GPU of another generation."""
GPU = re.compile(
    r"\bcuda\b|lib(?:cuda|cudart|nvcuda|hip|amdhip)|\bGPUs?\b|NVIDIA|\bHIP\b|\bROCm\b|from the 'CPU' backend",
    re.IGNORECASE,
)
"""In the message of an exception, or in the line that raised it: it is about a GPU."""
COMPILER = re.compile(r"Failed to find C compiler")
GPU_PACKAGES = (
    "cutlass", "deep_gemm", "flash_attn", "flash_attn_2_cuda", "flash_attn_3", "flash_attn_interface", "flash_mla",
    "flashinfer", "sageattention", "sgl_kernel", "tilelang", "transformer_engine", "vllm_flash_attn",
)  # fmt: skip
"""Packages whose attention runs on GPUs alone."""
INSTALLED = {"triton": "pip install triton, on Linux"}
"""How packages are installed that kernels are often written in."""
NO_GPU = (
    "it asks for a GPU, and there is none here: let it compute on the device of its inputs (query.device), or run it "
    "where there is one, with --device cuda"
)
INTERPRETER = (
    "without a GPU, use --runtime triton (what asks for the GPU itself, as Gluon and get_current_target do, needs one, "
    "and --device cuda)"
)
OTHER_GPU = (
    "it asks for a GPU of another compute capability: build it for this one (torch: TORCH_CUDA_ARCH_LIST), or run it "
    "on such a GPU, with --device cuda"
)


def advise_on_machine(message: str) -> str:
    """What to do about an exception that speaks of a GPU or a compiler, "" about any other.

    Example:
        >>> advise_on_machine("Torch not compiled with CUDA enabled").partition(":")[0]
        'it asks for a GPU, and there is none here'
        >>> advise_on_machine("heads differ")
        ''
    """
    if "active drivers" in message:
        return INTERPRETER
    if CAPABILITY.search(message):
        return OTHER_GPU
    if COMPILER.search(message):
        return "install one (gcc or clang), or name it in the variable CC"
    return NO_GPU if GPU.search(message) else ""


def with_advice(message: str, about: str = "") -> str:
    """A message with what to do behind it, where that is known; `about` is further text that may tell.

    Example:
        >>> with_advice("OSError: libcuda.so.1: cannot open shared object file")[-18:]
        'with --device cuda'
    """
    advice = advise_on_machine(f"{message} {about}")
    return f"{message}; {advice}" if advice and advice not in message else message


def explain_missing_module(module: str) -> str:
    """Why a module may be missing, for the end of a sentence that names it.

    Example:
        >>> explain_missing_module("numba")
        'is it installed beside attention-core?'
    """
    if module.partition(".")[0] in GPU_PACKAGES:
        return "it runs on GPUs alone: install it where there is one, and use --device cuda"
    how = f" {INSTALLED[module]}" if (module := module.partition(".")[0]) in INSTALLED else ""
    return f"is it installed beside attention-core?{how}"
