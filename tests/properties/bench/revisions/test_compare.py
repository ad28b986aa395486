"""Which kernels can be compared across revisions, and how they are named in each."""

from __future__ import annotations

from pathlib import Path

import pytest

from attention_core.bench.revisions.checkout import Checkout
from attention_core.bench.revisions.compare import check_own, target_in
from attention_core.declaration.implementation import TargetError


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text("def f(query, key, value): ...\n")
    (tmp_path / "own.py").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path.resolve()


@pytest.mark.parametrize("kernel", ["mine.py:f", "mine.py:f@layout=bnhd", "own:f", "./mine.py:f"])
def test_kernels_of_the_repository_are_compared(root: Path, kernel: str) -> None:
    check_own(kernel, root, "cpu")


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("torch:default", "torch:default is a kernel of attention-core"),
        ("auto", "auto is a kernel of attention-core"),
        ("torch.nn.functional:scaled_dot_product_attention", "is not a file of the repository"),
        ("../elsewhere.py:f", "is not a file of the repository"),
        ("nonsense", "is not understood"),
    ],
)
def test_others_are_refused(root: Path, kernel: str, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        check_own(kernel, root, "cpu")


def test_the_package_that_measures_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    import attention_core

    root = Path(attention_core.__file__).resolve().parents[1]
    monkeypatch.chdir(root)
    with pytest.raises(TargetError, match="a part of the attention-core that measures"):
        check_own("attention_core/kernels/tiled.py:tiled_attention", root, "cpu")


def test_a_file_is_that_of_the_checkout(root: Path) -> None:
    checkout = Checkout("main", "a" * 40, root, Path("/elsewhere"), Path("/caches"))
    assert target_in("mine.py:f@layout=bnhd", checkout, root) == "/elsewhere/mine.py:f@layout=bnhd"
    assert target_in(f"{root}/mine.py:f", checkout, root) == "/elsewhere/mine.py:f"
    assert target_in("own:f", checkout, root) == "own:f"
