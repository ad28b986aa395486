"""A folder of submissions: who handed in, and which of their files defines the function or class of the exercise.

Nothing is imported: files are parsed as text.
"""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from attention_core.declaration.implementation import TargetError

LEFT_OUT = ("__pycache__", "node_modules", "site-packages", "venv", "env")
"""Folders of a submission without anybody's answer; hidden ones are left out, too."""
LARGEST = 200 << 20
MOST_NAMED = 6
"""Bytes of the largest submission that is judged: each is copied, so that the original stays as it was handed in."""


@dataclass(frozen=True)
class Submission:
    """What one person handed in.

    Args:
        person: the name of their folder, or of their file without its ending.
        folder: what is copied and judged: their folder, or that of all files.
        files: every file that belongs to it.
        path: the file that defines the function or class; None if there is a `problem`.
        problem: why nothing can be judged, in one line.
    """

    person: str
    folder: Path
    files: tuple[Path, ...]
    path: Path | None = None
    problem: str = ""

    def fingerprint(self) -> str:
        """SHA-256 of the names and contents of its files."""
        digest = hashlib.sha256()
        for path in self.files:
            content = path.read_bytes()
            digest.update(f"{path.relative_to(self.folder)}\0{len(content)}\0".encode(errors="surrogateescape"))
            digest.update(content)
        return digest.hexdigest()


def find_submissions(folder: Path, name: str, feedback: Path | None = None) -> list[Submission]:
    """Return the submissions in a folder, by person.

    A person is a folder in it, or a Python file in it.

    Args:
        folder: one folder or one file a person.
        name: of the function or class that the exercise asks for.
        feedback: where feedback is written: if it lies in the folder, it is not a person's.

    Raises:
        TargetError: there is no such folder, it is empty, or two persons have one name.
    """
    if not folder.is_dir():
        raise TargetError(f"{folder} is not a folder of submissions")
    own = None if feedback is None else feedback.resolve()
    paths = [path for path in sorted(folder.iterdir()) if _is_submission(path) and path.resolve() != own]
    found = [_submission(path, name) for path in paths]
    if not found:
        raise TargetError(f"{folder} holds neither folders nor Python files: one of them for each person is expected")
    names = [one.person for one in found]
    twice = sorted({person for person in names if names.count(person) > 1})
    if twice:
        raise TargetError(f"{folder} holds a folder and a file of one name, {twice[0]}: rename one")
    return found


def _is_submission(path: Path) -> bool:
    if path.name.startswith(".") or path.name in LEFT_OUT or path.is_symlink():
        return False
    return path.is_dir() or (path.is_file() and path.suffix == ".py")


def _submission(path: Path, name: str) -> Submission:
    if path.is_file():
        return _choose(Submission(path.stem, path.parent, (path,)), name)
    files = tuple(sorted(_files(path)))
    submission = Submission(path.name, path, files)
    size = sum(file.stat().st_size for file in files)
    if size > LARGEST:
        problem = f"the folder holds {size >> 20} MiB, and at most {LARGEST >> 20} are judged"
        return Submission(path.name, path, (), problem=problem)
    return _choose(submission, name)


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder and those below it, links and hidden ones left out."""
    for place, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith(".") and one not in LEFT_OUT]
        for file in files:
            path = Path(place, file)
            if not file.startswith(".") and not path.is_symlink() and path.is_file():
                yield path


def _choose(submission: Submission, name: str) -> Submission:
    """The submission with the one file that defines `name`, or with why there is none."""
    sources = [path for path in submission.files if path.suffix == ".py"]
    defining, broken, others = [], [], set[str]()
    for path in sources:
        try:
            names = _top_level_names(ast.parse(path.read_bytes()))
            others |= names
            if name in names:
                defining.append(path)
        except SyntaxError as error:
            line = f", line {error.lineno}" if error.lineno else ""
            broken.append(f"{path.relative_to(submission.folder)}{line}: {error.msg}")
        except (OSError, ValueError, RecursionError, MemoryError) as error:
            broken.append(f"{path.relative_to(submission.folder)}: {error}")
    if len(defining) == 1:
        return Submission(submission.person, submission.folder, submission.files, path=defining[0])
    return Submission(submission.person, submission.folder, submission.files, problem=_reason(
        name, [str(path.relative_to(submission.folder)) for path in defining], broken, others, bool(sources)
    ))  # fmt: skip


def _reason(name: str, defining: list[str], broken: list[str], others: set[str], has_sources: bool) -> str:
    if len(defining) > 1:
        return f"{name} is defined in {len(defining)} files: {', '.join(defining)}"
    if broken:
        return broken[0]
    near = get_close_matches(name, sorted(others), 1)
    public = sorted(one for one in others if not one.startswith("_"))
    more = f" and {len(public) - MOST_NAMED} more" if len(public) > MOST_NAMED else ""
    hint = f", but {', '.join(public[:MOST_NAMED])}{more}" if public else ""
    hint = f"; is {near[0]} meant?" if near else hint
    return f"no file defines {name}{hint}" if has_sources else "there is no Python file"


def _top_level_names(tree: ast.Module) -> set[str]:
    """The functions, classes and assigned names of a module, those after an `if` or a `try` included."""
    names: set[str] = set()
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.If | ast.Try):
            waiting += [*node.body, *node.orelse]
    return names
