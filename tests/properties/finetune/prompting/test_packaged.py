"""Models of packages: a file in parts is joined once, compared, and never half there."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from finetune.errors import BadInput
from finetune.prompting.packaged import PACKAGED, Packaged, join_parts, locate_packaged

WHOLE = b"GGUF and so on"
DIGEST = hashlib.sha256(WHOLE).hexdigest()


def write_packages(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Packaged:
    """Three packages with a part each; importing one would fail."""
    for number, part in enumerate((WHOLE[:4], WHOLE[4:9], WHOLE[9:])):
        data = folder / f"tiny_part{number}" / "data"
        data.mkdir(parents=True)
        (data.parent / "__init__.py").write_text("raise SystemExit('imported')")
        (data / f"tiny.gguf.part{number}").write_bytes(part)
    monkeypatch.syspath_prepend(str(folder))
    return Packaged(("tiny_part0", "tiny_part1", "tiny_part2"), "tiny", "data/*.part*", ("tiny.gguf", DIGEST))


def test_parts_are_joined_in_their_order_without_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    table = {"tiny": write_packages(tmp_path / "site", monkeypatch)}
    found = locate_packaged("tiny", table)
    assert found == tmp_path / "cache" / "attention-core" / "tiny.gguf" and found.read_bytes() == WHOLE
    assert not any(name.startswith("tiny_part") for name in sys.modules)
    found.write_bytes(b"half")  # as another program might leave it
    assert locate_packaged("tiny", table).read_bytes() == WHOLE
    assert [path.name for path in found.parent.iterdir()] == ["tiny.gguf"]


def test_damaged_parts_and_folders_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"other")
    with pytest.raises(BadInput, match="the parts of tiny are damaged: SHA-256"):
        join_parts([tmp_path / "a"], tmp_path / "b", DIGEST, "tiny")
    (tmp_path / "whole").write_bytes(WHOLE)
    with pytest.raises(BadInput, match="name another folder in XDG_CACHE_HOME"):
        join_parts([tmp_path / "whole"], tmp_path / "a" / "b", DIGEST, "tiny")
    assert not (tmp_path / "b").exists()


def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match=r"the model tiny comes with a package: python -m pip install tiny"):
        locate_packaged("tiny", {"tiny": Packaged(("no_such_package",), "tiny", "*.gguf")})
    assert len(PACKAGED["gemma3"].packages) == 4 and PACKAGED["smollm2"].joined is None
