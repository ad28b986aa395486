"""What is said about a GPU, a compiler or a package that is missing: each kind of message gets the way out of it."""

from __future__ import annotations

import pytest

from attention_core.declaration.gpu_advice import (
    INTERPRETER,
    NO_GPU,
    OTHER_GPU,
    advise_on_machine,
    explain_missing_module,
    with_advice,
)

MESSAGES = {
    "Torch not compiled with CUDA enabled": NO_GPU,
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU": NO_GPU,
    "No CUDA GPUs are available": NO_GPU,
    "libcuda.so.1: cannot open shared object file: No such file or directory": NO_GPU,
    "q must be a CUDA tensor": NO_GPU,
    "assert torch.cuda.is_available()": NO_GPU,
    "Could not run 'flash::fwd' with arguments from the 'CPU' backend.": NO_GPU,
    "0 active drivers ([]). There should only be one.": INTERPRETER,
    "CUDA error: no kernel image is available for execution on the device": OTHER_GPU,
    "FlashAttention only supports Ampere GPUs or newer.": OTHER_GPU,
    "type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e5',)": OTHER_GPU,
    "requires compute capability >= 9.0": OTHER_GPU,
    "Feature '.bf16' requires .target sm_80 or higher": OTHER_GPU,
    "This kernel needs a Hopper GPU": OTHER_GPU,
    "Failed to find C compiler. Please specify via CC": "install one (gcc or clang), or name it in the variable CC",
    "heads differ": "",
    "d must be a multiple of 8": "",
    "the ada factor must be positive": "",
}


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_about_a_machine_gets_its_way_out(message: str) -> None:
    assert advise_on_machine(message) == MESSAGES[message]
    advice = f"; {MESSAGES[message]}" if MESSAGES[message] else ""
    assert with_advice(message) == message + advice
    assert with_advice(with_advice(message)) == with_advice(message)


def test_packages_of_gpus_are_known() -> None:
    assert "GPUs alone" in explain_missing_module("flash_attn.bert_padding")
    assert "installed beside" in explain_missing_module("xformers.ops")
    assert explain_missing_module("triton.language").endswith("? pip install triton, on Linux")
