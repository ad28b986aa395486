"""Finding targets.

From the words of a target to the object: every mistake ends in one line that says what is wrong.
Bad targets are data: (text, words of the error).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from attention_core.declaration.implementation import TargetError, Unavailable
from attention_core.worker.target import load_target, split_target

FILES = {
    "good.py": "import helper_beside\n\ndef f(): return helper_beside.N\nclass C:\n    @staticmethod\n    def g(): ...\n",
    "helper_beside.py": "N = 7\n",
    "empty.py": "",
    "plain/inside.py": "",
    "long.py": "def attend(): ...\n",
    "raises.py": "raise ValueError('first line\\nsecond line')\n",
    "needs.py": "import a_module_nobody_has\n",
    "needs_gpu.py": "import flash_attn\n",
    "pinned.py": "import torch\ntorch.zeros(1, device='cuda')\n",
    "syntax.py": "def f(:\n",
    "latin.py": b"\xff\xfe = 1\n",
    "not_here.py": (
        "from attention_core.declaration.implementation import Unavailable\nraise Unavailable('needs a GPU')\n"
    ),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in {n for n in set(sys.modules) - before if n == "plain" or n.removeprefix("_target_") + ".py" in FILES}:
        del sys.modules[name]


BAD = [
    ("", "is not understood: write package.module:name, path/to/file.py:name"),
    ("torch.softmax", "is not understood"),
    (":f", "is not understood"),
    ("good.py:", "names no function: write good.py:f (it has: f, C)"),
    ("good.py", "names no function: write good.py:f (it has: f, C)"),
    ("none.py", "names no function: there is no such file"),
    ("empty.py", "names no function: write empty.py:NAME (it defines no function or class)"),
    ("empty.py:f", "empty.py has no attribute 'f': it has no function or class, look into the file"),
    ("good.py::f", "has two colons: write good.py:f"),
    ("good.py:C:forward", "has two colons: write good.py:C, a class is called by its forward"),
    ("plain:f", "plain is a folder and not a package, write plain/FILE.py:f"),
    ("long.py:atend", "did you mean 'attend'? it has: attend"),
    (".", "target '.' is a folder: write path/to/file.py:name"),
    ("./:f", "target './:f' is a folder: write path/to/file.py:name"),
    ("none.py:f", "no such file: none.py"),
    ("good.py:h", "good.py has no attribute 'h'; it has: f, C"),
    ("good.py:C.h", "good.py has no attribute 'C.h'"),
    ("good.py:f,h", "good.py has no attribute 'h'"),
    ("raises.py:f", "raises.py cannot be imported: ValueError: first line"),
    ("needs.py:f", "needs.py cannot be imported: it needs the module 'a_module_nobody_has'"),
    ("needs_gpu.py:f", "it needs the module 'flash_attn' (it runs on GPUs alone: install it where there is one"),
    ("needs_gpu:f", "it needs the module 'flash_attn' (it runs on GPUs alone: install it where there is one"),
    ("syntax.py:f", "syntax.py cannot be imported: SyntaxError: "),
    ("latin.py:f", "latin.py cannot be imported: SyntaxError: "),
    ("nowhere:f", "no module named 'nowhere' (is it installed, or in another folder? A file is written nowhere.py:name)"),
    ("torch.nowhere:f", "no module named 'torch.nowhere'"),
    ("my_package.module:f", "A file is written my_package/module.py:name)"),
    ("torch:nowhere", "torch has no attribute 'nowhere'"),
    ("needs:f", "needs cannot be imported: it needs the module 'a_module_nobody_has'"),
    ("raises:f", "raises cannot be imported: ValueError: "),
    (".relative:f", ".relative cannot be imported: TypeError: "),
    ("a..b:f", "no module named 'a'"),
    ("some folder/file:f", "no module named 'some folder/file'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), BAD)
def test_bad_targets_end_in_one_line(text: str, words: str) -> None:
    with pytest.raises(TargetError, match=re.escape(words)) as caught:
        load_target(text)
    assert len(str(caught.value).splitlines()) == 1


def test_good_targets_are_found() -> None:
    assert load_target("torch.nn.functional:softmax") is torch.nn.functional.softmax
    assert load_target("torch:nn.functional.softmax") is torch.nn.functional.softmax
    assert load_target("good.py:f")() == 7  # and what stands beside the file can be imported
    assert load_target("good:f")() == 7
    assert load_target("good.py:C.g").__qualname__ == "C.g"


def test_a_pair_of_names_is_a_pair() -> None:
    first, second = load_target("good.py:f, C")
    assert (first.__name__, second.__name__) == ("f", "C")


@pytest.mark.parametrize("text", ["not_here:f", "not_here.py:f"])
def test_what_is_unavailable_says_so_itself(text: str) -> None:
    with pytest.raises(Unavailable, match="needs a GPU"):
        load_target(text)


def test_paths_may_hold_colons() -> None:
    assert split_target("a:b/c.py:f") == ("a:b/c.py", "f")


def test_a_kernel_of_triton_is_no_function_of_tensors(folder: Path) -> None:
    pytest.importorskip("triton")
    text = "import triton\n\n@triton.jit\ndef _forward(Q, n): ...\n\ndef flash(q, k, v): ...\n"
    (folder / "kernel_of_triton.py").write_text(text)
    with pytest.raises(TargetError, match="_forward is a kernel of Triton: name the function that launches it"):
        load_target("kernel_of_triton.py:_forward")
    assert load_target("kernel_of_triton.py:flash").__name__ == "flash"
