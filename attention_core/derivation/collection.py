r"""`pytest --attention-derive notes.md[::step-name]`, and what the ini option `derivation_files` names.

`attention_core.plugin` calls the two functions at the end; nothing heavy is imported before a document is collected.

Without either, no file is a document: a project may keep Markdown of its own in a folder `derivations`.

Symbols that a document does not declare are read by their use with `--attention-derive-infer`, or the ini option
`derivation_infer`, as the command does; without them a step with such a symbol fails, and its message names the option.

A step that is as its document says passes; one that is refuted where the document expects it is an expected failure,
and strictly so: it fails once it is not refuted. Verdict and evidence are properties of the item, for JUnit reports.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from attention_core.derivation.reading.step import Step, Unread
    from attention_core.derivation.records import StepReport

OPTION, TIME, NAMED = "derivation_files", "derivation_seconds", "--attention-derive"
INFER, INFERS = "--attention-derive-infer", "derivation_infer"
UNDECLARED = re.compile(r"\b(?:is|are) not (?:declared|defined)\b|\bis not a declared\b")
SUFFIXES = (".md", ".markdown", ".tex", ".ipynb")


def matches(path: str, pattern: str) -> bool:
    """Whether a relative path matches: `*` stays within a folder, `**` stands for any number of folders."""
    parts, wanted = path.split("/"), pattern.split("/")

    def from_here(i: int, j: int) -> bool:
        if j == len(wanted):
            return i == len(parts)
        if wanted[j] == "**":
            return any(from_here(k, j + 1) for k in range(i, len(parts) + 1))
        return i < len(parts) and fnmatchcase(parts[i], wanted[j]) and from_here(i + 1, j + 1)

    return from_here(0, 0)


def is_listed(path: Path, config: pytest.Config) -> bool:
    """Whether the ini option asks for a file."""
    try:
        relative = path.relative_to(config.rootpath).as_posix()
    except ValueError:
        return False
    return any(matches(relative, pattern) for pattern in config.getini(OPTION))


def seconds(config: pytest.Config) -> float:
    """The time of one step, as the ini option says."""
    value = config.getini(TIME)
    try:
        found = float(value)
    except ValueError:
        found = 0.0
    if not 0.1 <= found <= 86400:
        raise pytest.UsageError(f"{TIME} is a number of seconds from 0.1 to 86400, not '{value}'")
    return found


def is_inferring(config: pytest.Config) -> bool:
    """Whether undeclared symbols are read by their use."""
    return bool(config.getoption(INFER) or config.getini(INFERS))


class StepFailure(Exception):
    """A step is not as its document says; shown without a Python traceback."""


class DocumentFile(pytest.File):
    """One document."""

    def collect(self) -> Iterator[pytest.Item]:
        from attention_core.derivation.check import document_steps

        _, steps, _ = document_steps(self.path, infer=is_inferring(self.config))
        for step in steps:
            yield StepItem.from_parent(self, name=step.id.replace("::", "."), step=step)


class StepItem(pytest.Item):
    """One step of a document."""

    def __init__(self, *, step: Step | Unread, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step = step

    def runtest(self) -> None:
        from attention_core.derivation.check import report_step
        from attention_core.derivation.effort import Effort

        report = report_step(self.step, Effort(seconds=seconds(self.config)))
        self.user_properties += properties(report)
        if not report.passed:
            lines = describe_failure(report)
            if not is_inferring(self.config) and is_undeclared(report):
                lines.append(f"  or read undeclared symbols by their use, as `attention-core derive` does: {INFER}")
            raise StepFailure("\n".join(lines))
        if report.expected:
            pytest.xfail(f"as the document says: {report.evidence.text}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, StepFailure):
            return f"{self.path}:{self.step.line}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, self.step.line - 1, self.name


def is_undeclared(report: StepReport) -> bool:
    """Whether a step cannot be read because a symbol is not declared."""
    return str(report.verdict) == "UNREADABLE" and UNDECLARED.search(report.evidence.text) is not None


def describe_failure(report: StepReport) -> list[str]:
    """A step that is not as its document says: the verdict, the step as written, both sides, what to change."""
    from attention_core.derivation.cases.counterexamples import describe

    expected = ", but the document expects it to be refuted" if report.expected else ""
    lines = [f"{report.title}{expected}", f"  {report.text}", f"  {report.evidence.text}"]
    example = report.counterexample
    if example is not None:
        where = f" in {example.where}" if example.where else ""
        lines.append(f"  left side{where}: {example.left}; right side: {example.right}")
        lines += [f"  {describe({name: value})}" for name, value in example.values.items()]
    return [*lines, f"  {report.evidence.advice}"] if report.evidence.advice else lines


def properties(report: StepReport) -> list[tuple[str, object]]:
    """What JUnit reports carry: the step, its line, its verdict, the evidence and the counterexample as JSON."""
    record = report.as_dict()
    found: list[tuple[str, object]] = [
        ("step", report.text), ("line", report.line), ("verdict", str(report.verdict)),
        ("evidence", json.dumps(record["evidence"], ensure_ascii=False, default=str)),
    ]  # fmt: skip
    if report.expected:
        found.append(("expected", report.expected))
    if report.counterexample is not None:
        found.append(("counterexample", json.dumps(record["counterexample"], ensure_ascii=False, default=str)))
    return found


def add_option(parser: pytest.Parser) -> None:
    """The option and the ini options."""
    group = parser.getgroup("attention-core")
    group.addoption(
        NAMED, action="store_true", help="make a test of every step of the Markdown and TeX documents that are named"
    )
    group.addoption(
        INFER, action="store_true", help="read undeclared symbols of documents by their use, as the command does"
    )
    about = "documents whose derivations are checked, relative to the rootdir, e.g. derivations/*.md (default: none)"
    parser.addini(OPTION, about, type="args", default=[])
    parser.addini(
        INFERS, "read undeclared symbols of documents by their use (default: false)", type="bool", default=False
    )
    parser.addini(TIME, "processor time for one step of a derivation (default: 8)", default="8")


def collect_document(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The file as a document: what the ini option asks for; with `--attention-derive`, a named file with a display."""
    if is_listed(path, parent.config):
        document: pytest.Collector = DocumentFile.from_parent(parent, path=path)
        return document
    chosen = parent.config.getoption(NAMED) and path.suffix.lower() in SUFFIXES
    if not chosen or not parent.session.isinitpath(path):
        return None
    from attention_core.derivation.check import read_document_anyhow
    from attention_core.derivation.document.blocks import Display
    from attention_core.derivation.document.source import blocks_of

    if not any(isinstance(block, Display) for block in blocks_of(read_document_anyhow(path))):
        return None  # a README that another plugin reads
    named: pytest.Collector = DocumentFile.from_parent(parent, path=path)
    return named
