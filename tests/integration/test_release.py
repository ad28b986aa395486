"""The sdist and the wheel by themselves: the same bytes from two copies, and at work with no repository around."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("hatchling")
DERIVATION = "Let $x \\in \\mathbb{R}$.\n\n$$ (x + 1)^2 = x^2 + 2 x + 1 $$\n"
FUNCTION = """
def attention(query, key, value):
    return (query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5).softmax(-1) @ value
"""


def build(kind: str, source: Path, out: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(command, cwd=source, env=environment, check=True, capture_output=True, timeout=120)
    (made,) = out.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return made


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, Path]]:
    """The sdist and its wheel, of two copies with other times and permissions."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    found = []
    for mode in (0o644, 0o600):
        folder = tmp_path_factory.mktemp("copy")
        for name in filter(None, listed.stdout.split("\0")):
            if (ROOT / name).is_file() and not name.startswith(("docs/", "experiments/")):
                target = folder / "source" / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, target)
                target.chmod(mode)
                os.utime(target, (mode, mode))
        sdist = build("sdist", folder / "source", folder / "out")
        with tarfile.open(sdist) as archive:
            archive.extractall(folder / "unpacked", filter="data")
        (unpacked,) = (folder / "unpacked").iterdir()
        found.append((sdist, build("wheel", unpacked, folder / "out")))
    return found


@pytest.mark.thorough
@pytest.mark.slow
def test_two_builds_are_the_same_bytes(made: list[tuple[Path, Path]]) -> None:
    for one, other in zip(*made, strict=True):
        assert one.name == other.name
        assert hashlib.sha256(one.read_bytes()).digest() == hashlib.sha256(other.read_bytes()).digest(), one.name


@pytest.mark.thorough
@pytest.mark.slow
def test_the_wheel_of_the_sdist_works_without_a_repository(made: list[tuple[Path, Path]], tmp_path: Path) -> None:
    """Unpacked beside the dependencies of this environment, with no path into the checkout."""
    with zipfile.ZipFile(made[0][1]) as archive:
        archive.extractall(tmp_path / "installed")
    (tmp_path / "mine.py").write_text(FUNCTION)
    (tmp_path / "d.md").write_text(DERIVATION)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "attention_core", *words]
        found = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert found.returncode == 0, found.stdout + found.stderr
        return found.stdout

    script = "import attention_core; print(attention_core.__file__)"
    where = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert where.stdout.startswith(str(tmp_path / "installed"))
    assert "EXACT" in run("derive", "d.md") or "PROVED" in run("derive", "d.md")
    run("verify", "mine.py:attention", "--law", "agrees_with_truth", "--effort", "quick", "--dtype", "float32")
