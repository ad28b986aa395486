"""Revisions as folders: git worktrees in a temporary folder, which go with the run, however it ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

from attention_core.changes import ask_git
from attention_core.declaration.implementation import TargetError

OPTION = "--base"
CACHES = {
    "TORCH_EXTENSIONS_DIR": "extensions", "TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton",
}  # fmt: skip
"""Where code is kept once it is compiled: under a name alone, so that one revision would run the other's."""


@dataclass(frozen=True)
class Checkout:
    """A revision as a folder.

    Args:
        name: as it was given; of the working tree, "the working tree".
        commit: its full hash; of a working tree with changes, that of HEAD and a plus sign.
        root: of the repository, where the user stands in it.
        folder: where the files of the revision lie; `root` itself for the working tree.
        caches: a folder for what is compiled from them.
    """

    name: str
    commit: str
    root: Path
    folder: Path
    caches: Path

    def where(self, path: Path) -> Path:
        """A path of the repository in this revision."""
        return self.folder / path.resolve().relative_to(self.root)

    def place(self, here: Path) -> dict[str, Any]:
        """Where a worker stands, as JSON values.

        Raises: TargetError: the revision lacks the working directory.
        """
        inside = self.where(here)
        if not inside.is_dir():
            raise TargetError(
                f"{self.name} has no folder {here.resolve().relative_to(self.root)}: run it in another one"
            )
        variables = {name: str(self.caches / folder) for name, folder in CACHES.items()}
        return {
            "root": str(self.root), "checkout": str(self.folder), "folder": str(inside), "variables": variables,
        }  # fmt: skip


def find_root(here: Path) -> Path:
    """The root of the repository that a folder is in. Raises: TargetError."""
    return Path(ask_git(here, "rev-parse", "--show-toplevel", option=OPTION).strip()).resolve()


def find_commit(root: Path, revision: str) -> str:
    """The full hash of a revision. Raises: TargetError where there is none."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return ask_git(root, *words, option=OPTION).strip()


@contextlib.contextmanager
def check_out(root: Path, base: str, head: str | None, build: str | None = None) -> Iterator[tuple[Checkout, Checkout]]:
    """Both revisions as folders, built; they are removed at the end, also where the run is interrupted.

    Args:
        root: of the repository.
        base, head: revisions as git names them; no head stands for the working tree, as it is.
        build: a command for the shell, run at the root of each checkout, but not in the working tree.

    Raises:
        TargetError: no such revision, or its build fails.
    """
    commits = [(base, find_commit(root, base)), *([] if head is None else [(head, find_commit(root, head))])]
    folder = Path(tempfile.mkdtemp(prefix="attention-core-revisions-")).resolve()
    try:
        found = []
        for side, (name, commit) in zip(("base", "head"), commits, strict=False):
            place = folder / side
            add_worktree(root, place, commit)
            found.append(Checkout(name, commit, root, place, folder / f"{side}-caches"))
        if head is None:
            found.append(Checkout("the working tree", describe_tree(root), root, root, folder / "head-caches"))
        for one in found:
            if build is not None and one.folder != root:
                run_build(one, build)
        yield found[0], found[1]
    finally:
        with defer_signals():
            remove(root, folder)


def add_worktree(root: Path, folder: Path, commit: str) -> None:
    """Write the files of a commit. Hooks do not run: they are the user's, for the user's own checkouts."""
    hooks = ("-c", "core.hooksPath=/dev/null")
    ask_git(root, *hooks, "worktree", "add", "--quiet", "--detach", "--force", str(folder), commit, option=OPTION)


def describe_tree(root: Path) -> str:
    """The commit of the working tree, with a plus sign where files differ from it."""
    changed = ask_git(root, "status", "--porcelain", option=OPTION).strip()
    return find_commit(root, "HEAD") + ("+" if changed else "")


def run_build(checkout: Checkout, command: str) -> None:
    """Run a command at the root of a checkout; what it prints is shown where it fails. Raises: TargetError."""
    variables = {name: str(checkout.caches / folder) for name, folder in CACHES.items()}
    found = subprocess.run(
        command, shell=True, cwd=checkout.folder, env={**os.environ, **variables}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
    )  # fmt: skip
    if found.returncode:
        last = "\n".join(found.stdout.strip().splitlines()[-20:])
        raise TargetError(f"the build of {checkout.name} ended with status {found.returncode}:\n{last}".rstrip(":\n"))


def remove(root: Path, folder: Path) -> None:
    """Remove the checkouts, and what the repository knows of them."""
    for side in ("base", "head"):
        if (folder / side).exists():
            with contextlib.suppress(TargetError):
                ask_git(root, "worktree", "remove", "--force", "--force", str(folder / side), option=OPTION)
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(TargetError):
        ask_git(root, "worktree", "prune", option=OPTION)


@contextlib.contextmanager
def defer_signals() -> Iterator[None]:
    """Let a second Ctrl-C, or the end of the session, wait until everything is removed."""
    if current_thread() is not main_thread():  # only there can signals be handled
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
