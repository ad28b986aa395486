"""What a change can reach: the targets of `verify --changed-since REV` whose source, or what it imports, has changed.

    git diff REV --> changed files --+
    target --> file --> imports -----+--> why a target has to be judged, or ""

Imports are read from the source; nothing is run. What cannot be ruled out is judged: a file that imports by a computed
name or opens a file, a source that cannot be parsed, sources of extensions beside it, and files that say which
packages are installed.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from attention_core.declaration.implementation import TargetError

INSTALLED = (
    "pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini", "conftest.py", "requirements*.txt",
    "constraints*.txt", "environment*.yml", "environment*.yaml", "*.lock", "Dockerfile*",
)  # fmt: skip
"""Files that say what is installed, or how everything runs."""
READ_BY_PEOPLE = (".md", ".rst", ".html", ".png", ".svg", ".jpg", ".pdf", ".gitignore")
COMPILED = (
    ".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hip", ".hpp", ".metal", ".mm", ".pxd", ".pyd", ".pyx", ".rs", ".so",
)  # fmt: skip
"""Files that an extension is made of, which a source imports under a name of its own."""
HIDDEN = frozenset({
    "import_module", "__import__", "exec", "eval", "run_path", "run_module", "load_library", "CDLL", "load",
    "load_inline", "open", "read_text", "read_bytes", "spec_from_file_location",
})  # fmt: skip
"""Calls by which a source reaches what its imports do not show."""


@dataclass(frozen=True)
class Changes:
    """What differs from a revision.

    Args:
        root: of the repository.
        files: that are changed, new or gone, as absolute paths.
        since: the revision, as it was given.
    """

    root: Path
    files: frozenset[Path]
    since: str


@dataclass(frozen=True)
class Reach:
    """What a source can reach within the repository.

    Args:
        files: itself and what it imports, directly or through others.
        hidden: why more may be reached than the imports show, else "".
    """

    files: frozenset[Path]
    hidden: str = ""


def changes_since(revision: str, folder: Path) -> Changes:
    """Return the files of a repository that differ from a revision, untracked ones included.

    Args:
        revision: as git names it: main, HEAD~3, a hash.
        folder: within the repository.

    Raises:
        TargetError: git is not there, the folder is in no repository, or there is no such revision.
    """
    root = Path(ask_git(folder, "rev-parse", "--show-toplevel").strip())
    known = ask_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
    changed = ask_git(root, "diff", "--name-only", "--no-renames", "-z", known, "--")
    new = ask_git(root, "ls-files", "--others", "--exclude-standard", "-z")
    names = [name for name in (changed + new).split("\0") if name]
    own = root.resolve()
    paths = {path for name in names for path in (own / name, (own / name).resolve())}  # a link, and where it leads
    return Changes(own, frozenset(path for path in paths if path.is_relative_to(own)), revision)


def ask_git(folder: Path, *words: str, option: str = "--changed-since") -> str:
    """What git answers; `option` begins the message where it refuses. Raises: TargetError."""
    try:
        found = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise TargetError(f"{option} needs git, which is not installed") from None
    if found.returncode:
        words_of_git = (
            found.stderr.strip().splitlines() or [f"it has no revision {words[-1].removesuffix('^{commit}')}"]
        )[0]
        raise TargetError(f"{option}: git says of {folder}: {words_of_git}")
    return found.stdout


def why_judge(origin: str, changes: Changes) -> str:
    """Return why a target has to be judged again, in a line; "" where no change can reach it.

    Args:
        origin: where the target is loaded from, path/to/file.py:name or package.module:name.
        changes: of its repository.
    """
    for path in sorted(changes.files):
        if any(fnmatchcase(path.name, pattern) for pattern in INSTALLED):
            return f"{path.relative_to(changes.root)} has changed"
    gone = frozenset(path for path in changes.files if not path.exists())
    start = find_source(origin.rpartition(":")[0], changes.root, gone)
    if start is None:  # installed: it changes with the files above alone
        return ""
    reach = reach_of(start, changes.root, gone)
    touched = sorted(reach.files & changes.files) or sorted(beside(reach, changes))
    if touched:
        return f"{touched[0].relative_to(changes.root)} has changed"
    others = [path for path in changes.files if path.suffix not in READ_BY_PEOPLE]
    return reach.hidden if others else ""


def beside(reach: Reach, changes: Changes) -> Iterator[Path]:
    """Changed files of an extension that lie in, or below, a folder of what is reached."""
    folders = {path.parent for path in reach.files}
    return (path for path in changes.files if path.suffix in COMPILED and folders.intersection(path.parents))


def find_source(where: str, root: Path, gone: frozenset[Path] = frozenset()) -> Path | None:
    """The file of a target within the repository; None for what is installed elsewhere."""
    if where.endswith(".py"):
        path = Path(where).resolve()
        return path if path.is_relative_to(root) else None
    return next(find_modules(where, search_roots(root, Path.cwd()), gone), None)


def search_roots(root: Path, near: Path) -> list[Path]:
    """Where modules of a repository are looked for."""
    return list(dict.fromkeys(path for path in (near.resolve(), root, root / "src") if path.is_relative_to(root)))


def find_modules(name: str, roots: Sequence[Path], gone: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """The files that a module, or a package's door, may be: those that are there, and those that are gone."""
    for base in roots:
        stem = base.joinpath(*name.split("."))
        for path in (stem / "__init__.py", stem.with_name(f"{stem.name}.py")):
            if path.is_file():
                yield path.resolve()
            if path in gone:
                yield path


def reach_of(start: Path, root: Path, gone: frozenset[Path] = frozenset()) -> Reach:
    """Everything of the repository that a source imports, directly or through others; `gone` are deleted files."""
    seen: set[Path] = set()
    waiting, hidden = [start], ""
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        if not path.is_relative_to(root):
            hidden = hidden or f"{path} lies outside of the repository"
            continue
        waiting += doors_of(path, root)
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError, OSError, RecursionError):
            hidden = hidden or f"{path.relative_to(root)} cannot be read as Python"
            continue
        waiting += imports_of(tree, path, search_roots(root, start.parent), gone)
        hidden = hidden or hidden_reach(tree, path, root)
    return Reach(frozenset(seen), hidden)


def doors_of(path: Path, root: Path) -> Iterator[Path]:
    """The `__init__` of every package that a file is in: it runs before the file does."""
    folder = path.parent
    while folder != root.parent and (door := folder / "__init__.py").is_file():
        yield door
        folder = folder.parent


def imports_of(tree: ast.AST, path: Path, roots: Sequence[Path], gone: frozenset[Path]) -> Iterator[Path]:
    """The files of the repository that a source imports, at its top or later."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names, bases = [alias.name for alias in node.names], roots
        elif isinstance(node, ast.ImportFrom):
            bases = [path.parents[node.level - 1]] if 0 < node.level <= len(path.parents) else roots
            stem = node.module or ""
            names = [stem, *(f"{stem}.{alias.name}".lstrip(".") for alias in node.names)]
        else:
            continue
        for name in names:
            parts = name.split(".") if name else []
            for count in range(1, len(parts) + 1):
                yield from find_modules(".".join(parts[:count]), bases, gone)


def hidden_reach(tree: ast.AST, path: Path, root: Path) -> str:
    """Why a source may reach more than it imports, in a line; "" where it does not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in HIDDEN:
                return f"{path.relative_to(root)} calls {called} (line {node.lineno}), which may reach any file"
    return ""
