"""The checks of shapes: a signature that lies is found, a refusal keeps its own words, and every module is checked."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
import shape_checks
import torch
from jaxtyping import TypeCheckError, install_import_hook

SOURCE = """
from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Bool, Float
from torch import Tensor


def doubled(x: Float[Tensor, "n d"], mask: Bool[Tensor, " n"] | Sequence[int] | None = None) -> Float[Tensor, "n d"]:
    if x.ndim == 1:
        raise ValueError("x needs two axes")
    return 2 * x


def summed(x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
    return x.sum(0)


def counted(names: Sequence[int]) -> int:
    return len(names)
"""
ROOT = Path(str(find_spec("attention_core").origin)).parents[1]  # type: ignore[union-attr]
MODULES = shape_checks.modules_with_shapes(ROOT)
checked = pytest.mark.skipif(not shape_checks.enabled(), reason=f"{shape_checks.SWITCH}=0")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """A module of three functions, imported with checks."""
    folder = tmp_path_factory.mktemp("sample")
    (folder / "sample_with_shapes.py").write_text(SOURCE, encoding="utf-8")
    with (
        pytest.MonkeyPatch.context() as patch,
        install_import_hook("sample_with_shapes", "shape_checks.after_the_call"),
    ):
        patch.syspath_prepend(folder)
        return import_module("sample_with_shapes")


def test_calls_that_fit_their_signature_pass(sample: ModuleType) -> None:
    x = torch.ones(3, 2)
    for mask in (None, torch.ones(3, dtype=torch.bool), [1, 2]):
        assert sample.doubled(x, mask).tolist() == [[2.0, 2.0]] * 3
    assert sample.summed(torch.ones(2, 2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("summed", [torch.ones(3, 2)]),  # the result has another length than it should
        ("doubled", [torch.ones(1, 3, 2)]),  # too many axes, and nothing refuses them
        ("doubled", [torch.ones(3, 2, dtype=torch.int64)]),
        ("doubled", [torch.ones(3, 2), torch.ones(4, dtype=torch.bool)]),  # two lengths of one name
    ],
)
def test_a_signature_that_lies_is_found(sample: ModuleType, name: str, arguments: list[torch.Tensor]) -> None:
    with pytest.raises(TypeCheckError, match=name):
        getattr(sample, name)(*arguments)


def test_a_refusal_keeps_its_own_words(sample: ModuleType) -> None:
    with pytest.raises(ValueError, match="x needs two axes"):
        sample.doubled(torch.ones(3))


def test_other_types_are_left_to_mypy(sample: ModuleType) -> None:
    assert sample.counted("abc") == 3


@checked
@pytest.mark.parametrize("name", MODULES)
def test_every_module_with_shapes_is_checked(name: str) -> None:
    module = import_module(name)
    assert type(module.__loader__).__name__ == "_JaxtypingLoader", f"{name} was imported before the checks"
    assert shape_checks.unresolved(module) == []


def test_modules_with_shapes_are_found() -> None:
    assert "attention_core.kernels.dot_product" in MODULES and len(MODULES) > 20


def test_the_checks_can_be_switched_off() -> None:
    program = "import shape_checks; print(shape_checks.enabled())"
    folder = Path(shape_checks.__file__).parent
    for value, said in (("0", "False"), ("1", "True")):
        found = subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONPATH": str(folder), shape_checks.SWITCH: value},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert found.stdout.strip() == said


def test_without_beartype_nothing_is_checked_and_pytest_starts() -> None:
    program = "import sys; sys.modules['beartype'] = None; import shape_checks; print(shape_checks.enabled())"
    folder = Path(shape_checks.__file__).parent
    found = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "False"
