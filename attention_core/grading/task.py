"""A task as people write it: what a submission has to compute, what it may not do, and how it is timed.

A TOML file (docs/how_to/grade.md), a KernelBench problem (.py) or a definition of flashinfer-bench (.json).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from attention_core.bench.workloads.shapes import read_shapes, workloads
from attention_core.bench.workloads.workload import Workload
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.declaration.options import FLAGS, HELP, fields_from_text, option_of
from attention_core.grading.forbidden import check_groups
from attention_core.grading.rules import RULES

FORMATS = ("attention", "kernelbench", "flashinfer-bench")
SHAPE = "B=1,H=8,n=512,d=64"
TOP = ("name", "format", "function", "problem", "axes", "scalars", "forbid", "allow", "declare", "verify", "time")
VERIFY = ("effort", "timeout", "laws")
TIME = ("shapes", "dtype", "mask", "direction", "threads", "reference", "seconds", "timeout")
CONTRACTS = ("attention", "attention-lse")


@dataclass(frozen=True)
class Task:
    """A task.

    Args:
        name: as results call it. path: of its file. format: one of `FORMATS`.
        function: that a submission has to define; of a folder, one file defines it.
        fields: what is declared of submissions, as texts by the names of verify's options.
        forbid: groups of operators that may not be called. allow: rules that do not count.
        effort, laws, timeout: of `verify`, and seconds for one call.
        workloads: what is timed. reference: whose time is the unit. threads, seconds: of the timing, for each workload.
        problem: the file of another format. axes, scalars: of a definition of flashinfer-bench.
        dtype: of the parameters and inputs of a KernelBench problem.
    """

    name: str
    path: Path
    format: str = "attention"
    function: str = "attention"
    fields: Mapping[str, Any] = field(default_factory=dict)
    forbid: tuple[str, ...] = ("attention",)
    allow: tuple[str, ...] = ()
    effort: str = "quick"
    laws: tuple[str, ...] = ()
    timeout: float = 20.0
    workloads: tuple[Workload, ...] = ()
    reference: str = "torch:default"
    threads: int = 1
    seconds: float = 1.0
    problem: Path = Path()
    axes: Mapping[str, int] = field(default_factory=dict)
    scalars: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = "float32"

    def without(self, *rules: str) -> Task:
        """The same task with more rules that do not count."""
        return replace(self, allow=(*self.allow, *rules))

    def to_json(self) -> dict[str, Any]:
        """What a result records of it."""
        return {
            "name": self.name, "format": self.format, "function": self.function, "fields": dict(self.fields),
            "forbid": list(self.forbid), "allow": list(self.allow), "effort": self.effort, "laws": list(self.laws),
            "shapes": [w.name() for w in self.workloads], "reference": self.reference, "threads": self.threads,
            "seconds": self.seconds, "axes": dict(self.axes), "dtype": self.dtype,
        }  # fmt: skip


def read_task(path: Path) -> Task:
    """Read a task.

    Raises: TargetError, in one line, for whatever is not one.
    """
    if path.suffix == ".py" and path.is_file():
        return Task(path.stem, path, "kernelbench", "ModelNew", forbid=(), reference="Model", problem=path)
    if path.suffix == ".json" and path.is_file():
        return Task(path.stem, path, "flashinfer-bench", "run", forbid=(), reference="run", problem=path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TargetError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise TargetError(f"{path} is not valid TOML: {error}") from error
    return task_from(data, path)


def task_from(data: Mapping[str, Any], path: Path) -> Task:
    """A task out of the tables of its file.

    Raises: TargetError.
    """
    check_keys(data, TOP, path, "")
    verify, time, declared = (table(data, name, path) for name in ("verify", "time", "declare"))
    check_keys(verify, VERIFY, path, "[verify] ")
    check_keys(time, TIME, path, "[time] ")
    form = text(data, "format", "attention", path)
    if form not in FORMATS:
        raise TargetError(f"{path}: format {form!r} is not one of {', '.join(FORMATS)}")
    own = form == "attention"
    allow = tuple(texts(data, "allow", (), path))
    for rule in allow:
        if rule not in RULES:
            raise TargetError(f"{path}: allow: {rule!r} is not a rule (attention-core grade --rules lists them)")
    problem = path.parent / text(data, "problem", "", path)
    if not own and not problem.is_file():
        raise TargetError(f"{path}: problem names the file of the {form} problem, and {problem} is not one")
    return Task(
        text(data, "name", path.stem, path), path, form,
        text(data, "function", {"attention": "attention", "kernelbench": "ModelNew"}.get(form, "run"), path),
        read_fields({**default_fields(time, path), **declared}, path) if own else {},
        check_groups(texts(data, "forbid", ("attention",) if own else (), path)), allow,
        choice(verify, "effort", "quick", ("quick", "standard", "thorough"), path),
        tuple(texts(verify, "laws", (), path)), number(verify, "timeout", 20.0, path),
        read_workloads(time, path) if own else (),
        text(time, "reference", "torch:default" if own else {"kernelbench": "Model"}.get(form, "run"), path),
        int(number(time, "threads", 1, path)), number(time, "seconds", 1.0, path), problem,
        {k: int(v) for k, v in table(data, "axes", path).items()}, table(data, "scalars", path),
        text(time, "dtype", "float32", path),
    )  # fmt: skip


def default_fields(time: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """What a task asks for where it declares nothing else: the dtype and direction that are timed.

    Kernels may divide by a rounded log-sum-exp, as those do that split the keys.
    """
    direction = choice(time, "direction", "fwd", ("fwd", "bwd"), path)
    return {"dtypes": text(time, "dtype", "float32", path), "gradients": direction == "bwd", "merges": "lse"}


def read_fields(declared: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """What a task declares of its submissions, as option texts.

    Raises: TargetError.
    """
    names = {option_of(name).removeprefix("--").replace("-", "_"): name for name in HELP}
    fields: dict[str, Any] = {}
    for key, value in declared.items():
        name = key if key in HELP else names.get(key.replace("-", "_"), "")
        if not name:
            raise TargetError(f"{path}: [declare] {key!r} is not an option of verify")
        if isinstance(value, Mapping):
            fields[name] = tuple(f"{k}={v!r}" for k, v in value.items())
        elif isinstance(value, list):
            fields[name] = tuple(map(str, value))
        else:
            fields[name] = value if isinstance(value, bool) and name in FLAGS else str(value)
    try:
        made = Implementation(None, **fields_from_text(fields))
    except TargetError as error:
        raise TargetError(f"{path}: [declare] {error}") from None
    if made.contract not in CONTRACTS:
        raise TargetError(f"{path}: contract {made.contract} is not graded: {' and '.join(CONTRACTS)} are")
    return fields


def read_workloads(time: Mapping[str, Any], path: Path) -> tuple[Workload, ...]:
    """The workloads of [time].

    Raises: TargetError.
    """
    shapes = texts(time, "shapes", (SHAPE,), path)
    made = workloads(
        read_shapes(shapes), [text(time, "dtype", "float32", path)],
        [text(time, "mask", "none", path)] if "mask" in time else [],
        [choice(time, "direction", "fwd", ("fwd", "bwd"), path)],
    )  # fmt: skip
    for each in made:
        each.check_memory()
        if each.mask.kind == "bias":
            choices = "causal, window:W, prefix:P, segments:K or bool"
            raise TargetError(f"{path}: mask {each.mask} is not timed: use {choices}")
    return tuple(made)


# --- values of a TOML file -------------------------------------------------------------------------------


def check_keys(data: Mapping[str, Any], known: tuple[str, ...], path: Path, where: str) -> None:
    """Refuse keys that mean nothing. Raises: TargetError."""
    for key in data:
        if key not in known:
            raise TargetError(f"{path}: {where}{key!r} is not known; there are {', '.join(known)}")


def table(data: Mapping[str, Any], name: str, path: Path) -> dict[str, Any]:
    """A table of the file, {} where it is not there. Raises: TargetError."""
    found = data.get(name, {})
    if not isinstance(found, dict):
        raise TargetError(f"{path}: {name} is a table: write [{name}]")
    return found


def text(data: Mapping[str, Any], name: str, default: str, path: Path) -> str:
    """A text. Raises: TargetError."""
    found = data.get(name, default)
    if not isinstance(found, str):
        raise TargetError(f"{path}: {name} is a text")
    return found


def texts(data: Mapping[str, Any], name: str, default: tuple[str, ...], path: Path) -> list[str]:
    """A list of texts. Raises: TargetError."""
    found = data.get(name, list(default))
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise TargetError(f'{path}: {name} is a list of texts, such as ["..."]')
    return found


def number(data: Mapping[str, Any], name: str, default: float, path: Path) -> float:
    """A number above 0. Raises: TargetError."""
    found = data.get(name, default)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found < 86400:
        raise TargetError(f"{path}: {name} is a number above 0")
    return float(found)


def choice(data: Mapping[str, Any], name: str, default: str, choices: tuple[str, ...], path: Path) -> str:
    """One of some words. Raises: TargetError."""
    found = text(data, name, default, path)
    if found not in choices:
        raise TargetError(f"{path}: {name} {found!r} is not one of {', '.join(choices)}")
    return found
