"""Revisions as folders: both are there while they are needed, and nothing is left, however it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attention_core.bench.revisions.checkout import Checkout, check_out, find_root
from attention_core.declaration.implementation import TargetError

IDENTITY = {f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(folder: Path, *words: str) -> str:
    found = subprocess.run(
        ["git", "-C", str(folder), *words], env={**os.environ, **IDENTITY}, capture_output=True, text=True, check=True
    )
    return found.stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = (tmp_path / "r").resolve()
    (folder / "inner").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for text in ("one", "two"):
        (folder / "f.py").write_text(f"{text!r}\n")
        (folder / "inner" / "g.py").write_text(text)
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", text)
    return folder


def is_clean(root: Path, one: Checkout) -> bool:
    return len(git(root, "worktree", "list").splitlines()) == 1 and not one.folder.parent.exists()


def test_both_revisions_are_there_and_then_gone(root: Path) -> None:
    with check_out(root, "HEAD~1", "main") as (base, head):
        assert (base.folder / "f.py").read_text() == "'one'\n" and (head.folder / "f.py").read_text() == "'two'\n"
        assert base.where(root / "inner") == base.folder / "inner" and base.name == "HEAD~1"
        assert head.commit == git(root, "rev-parse", "main").strip()
        place = base.place(root / "inner")
        assert place["folder"] == str(base.folder / "inner") and place["root"] == str(root)
        caches = {*place["variables"].values(), *head.place(root)["variables"].values()}
        assert len(caches) == 6, "one revision would run what the other compiled"
    assert is_clean(root, base)


def test_without_a_head_it_is_the_working_tree(root: Path) -> None:
    with check_out(root, "HEAD", None) as (_, head):
        assert head.folder == root and head.commit == git(root, "rev-parse", "HEAD").strip()
    (root / "f.py").write_text("'three'\n")
    with check_out(root, "HEAD", None) as (base, head):
        assert (base.folder / "f.py").read_text() == "'two'\n" and head.commit.endswith("+")
    assert (root / "f.py").read_text() == "'three'\n"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, TargetError])
def test_nothing_is_left_where_a_run_is_cut_off(root: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), check_out(root, "HEAD~1", "HEAD") as (base, _):
        raise error
    assert is_clean(root, base)


def test_nothing_is_left_where_the_second_revision_is_missing(root: Path) -> None:
    with pytest.raises(TargetError, match=r"--base: git says of .*: it has no revision nowhere"), \
         check_out(root, "HEAD", "nowhere"):  # fmt: skip
        pass
    assert len(git(root, "worktree", "list").splitlines()) == 1


def test_the_users_hooks_do_not_run(root: Path) -> None:
    hook = root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch ran\nexit 1\n")
    hook.chmod(0o755)
    with check_out(root, "HEAD~1", "HEAD") as (base, _):
        assert not (base.folder / "ran").exists()


def test_checkouts_are_built_and_the_working_tree_is_not(root: Path) -> None:
    build = f"\"{sys.executable}\" -c \"open('built', 'w')\""
    with check_out(root, "HEAD~1", "HEAD", build) as (base, head):
        assert (base.folder / "built").exists() and (head.folder / "built").exists()
    with check_out(root, "HEAD~1", None, build) as (base, _):
        assert (base.folder / "built").exists() and not (root / "built").exists()


def test_a_build_that_fails_says_what_it_said(root: Path) -> None:
    with pytest.raises(TargetError, match="the build of HEAD~1 ended with status 3:\nno compiler"), \
         check_out(root, "HEAD~1", None, "echo no compiler; exit 3"):  # fmt: skip
        pass
    assert len(git(root, "worktree", "list").splitlines()) == 1


def test_a_folder_that_the_base_lacks_is_said(root: Path) -> None:
    (root / "new").mkdir()
    with check_out(root, "HEAD~1", None) as (base, _), pytest.raises(TargetError, match="HEAD~1 has no folder new"):
        base.place(root / "new")


def test_a_folder_outside_of_any_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(TargetError, match="--base: git says of"):
        find_root(tmp_path)
