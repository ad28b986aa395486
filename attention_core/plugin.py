"""The pytest plugin: `pytest --attention TARGET --pyargs attention_core.conformance` gives one item per law.

The header says what is under test, every law is an item, known failures are strict, and the run ends with the verdict
table. Nothing heavy is imported before `--attention` is given.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from attention_core.derivation import collection

if TYPE_CHECKING:
    from attention_core.conformance.engine.session import Session
    from attention_core.conformance.report.law_result import LawResult
    from attention_core.conformance.report.results import Report
    from attention_core.conformance.subjects.law import Law

PROPERTY = "attention_core"
SUITE = "pytest_suite.py"
SUITE_PACKAGE = "attention_core.conformance"
SUITE_MODULE = f"{SUITE_PACKAGE}.pytest_suite"
REPEATABLE = ("arguments", "parameters", "config", "untested")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the suite."""
    group = parser.getgroup("attention-core", "verify attention implementations")
    group.addoption(
        "--attention", action="append", default=[], metavar="TARGET",
        help="put TARGET (package.module:name, path.py:name, a kernel's name, or 'all') through the laws; repeatable",
    )  # fmt: skip
    group.addoption(
        "--attention-effort", choices=("quick", "standard", "thorough"), default="quick", help="cases per law"
    )
    group.addoption("--attention-seed", type=int, default=0, metavar="N", help="the same seed gives the same run")
    group.addoption("--attention-timeout", type=float, default=60.0, metavar="S", help="seconds for one call")
    group.addoption(
        "--attention-option", action="append", default=[], metavar="FIELD=VALUE",
        help="a convention of the record, e.g. dead_rows=nan; repeatable",
    )  # fmt: skip
    group.addoption("--attention-known-failures", metavar="FILE", help="TOML list of known failures (strict)")
    parser.addini(
        "attention_targets", "targets that are put through the laws where --attention names none", type="args"
    )
    parser.addini("attention_options", "conventions, as --attention-option FIELD=VALUE has them", type="linelist")
    collection.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Let targets be found where `pythonpath` lets tests be found."""
    if expand_targets(config):
        from attention_core.worker.environment import import_from

        import_from(config.getini("pythonpath"))


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is under test."""
    targets = expand_targets(config)
    if not targets:
        return []
    options = [*config.getini("attention_options"), *config.getoption("--attention-option")]
    under = f"attention under test: {', '.join(targets)}"
    effort, seed = config.getoption("--attention-effort"), config.getoption("--attention-seed")
    return [under, f"effort {effort}, seed {seed}" + (f", {', '.join(options)}" if options else "")]


def expand_targets(config: pytest.Config) -> list[str]:
    """The requested targets, with `all` expanded."""
    targets = config.getoption("--attention") or _targets_of_node_ids(config)
    if not targets and any(argument.startswith(SUITE_PACKAGE) for argument in config.args):
        targets = config.getini("attention_targets")
    if "all" not in targets:
        return list(dict.fromkeys(targets))
    from attention_core.registry.table import KERNELS

    names = [name for a in targets for name in ([row.name for row in KERNELS] if a == "all" else [a])]
    return list(dict.fromkeys(names))


def fields_of_options(config: pytest.Config) -> dict[str, Any]:
    """Fields of the record given by options and by the ini file."""
    from attention_core.declaration.implementation import TargetError
    from attention_core.declaration.options import fields_from_text

    given: dict[str, Any] = {}
    for text in (*config.getini("attention_options"), *config.getoption("--attention-option")):
        name, equals, value = text.partition("=")
        if not equals:
            raise TargetError(f"--attention-option {text!r}: write FIELD=VALUE")
        given[name] = (*given.get(name, ()), value) if name in REPEATABLE else value
    return fields_from_text(given)


@pytest.fixture(scope="session")
def check_attention(pytestconfig: pytest.Config) -> Callable[..., Report]:
    """Return `check(target, laws=(), **fields)`, which fails with the smallest case unless the target conforms.

    Args of it: target, a callable or an `Implementation`; laws, the names of some; fields, what the target declares,
    beside the ini option `attention_options` or the record. Effort and seed are `--attention-effort` and
    `--attention-seed`.
    """

    def check(target: Any, laws: Sequence[str] = (), **fields: Any) -> Report:
        from attention_core.conformance import Implementation, check_implementation

        __tracebackhide__ = True
        whole = isinstance(target, Implementation)
        record = target if whole else Implementation(target, **fields_of_options(pytestconfig))
        record = record.with_(**fields)
        effort, seed = (pytestconfig.getoption(f"--attention-{name}") for name in ("effort", "seed"))
        report = check_implementation(record, effort=effort, seed=seed, laws=laws)
        report.raise_if_refuted()
        return report

    return check


def _targets_of_node_ids(config: pytest.Config) -> list[str]:
    """The targets of items that the command line names as `attention_core.conformance.pytest_suite::TARGET::LAW`."""
    split = [argument.split("::") for argument in config.args]
    return [parts[1] for parts in split if len(parts) > 1 and parts[0].removesuffix(".py").endswith("pytest_suite")]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Turn the suite's own file into targets and laws, and documents into steps."""
    document = collection.collect_document(file_path, parent)
    if document is not None:
        return document
    home = Path(__file__).parent / "conformance" / SUITE
    if file_path.name != SUITE or not file_path.samefile(home) or not expand_targets(parent.config):
        return None
    suite: pytest.Collector = SuiteFile.from_parent(parent, path=file_path)
    return suite


class SuiteFile(pytest.File):
    """All targets of a run."""

    def collect(self) -> Iterator[pytest.Collector]:
        for target in expand_targets(self.config):
            yield TargetNode.from_parent(self, name=target)


class TargetNode(pytest.Collector):
    """One target; opens its session when the first of its laws runs, and closes it after the last."""

    opened: Session | None = None
    error: Exception | None = None

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.results: dict[str, LawResult] = {}  # of the laws that ran in this process
        self.ended: set[str] = set()  # items that ran in this process

    def collect(self) -> Iterator[pytest.Item]:
        from attention_core.conformance.contracts import find_contract
        from attention_core.declaration.implementation import TargetError
        from attention_core.registry.load import implementation_for

        try:
            implementation, _ = implementation_for(self.name, fields_of_options(self.config))
            laws = find_contract(implementation.contract).laws
        except TargetError as error:
            self.error, laws = error, ()
        yield LawItem.from_parent(self, name="core", law=None)
        for law in laws:
            yield LawItem.from_parent(self, name=law.name, law=law)
        if laws:
            yield LawItem.from_parent(self, name="parameters", law=None)

    def session_open(self) -> Session:
        """The session, opened once; a target that cannot be opened raises the same error for every law."""
        from attention_core.conformance.engine.verify import open_session
        from attention_core.declaration.implementation import TargetError, Unavailable
        from attention_core.declaration.known_failures import load_known_failures

        if self.error is not None:
            raise self.error
        if self.opened is None:
            option = self.config.getoption
            path = option("--attention-known-failures")
            try:
                known = load_known_failures(path).get(self.name) if path else None
                self.opened = open_session(
                    self.name, fields_of_options(self.config), effort=option("--attention-effort"),
                    seed=option("--attention-seed"), timeout=option("--attention-timeout"), known=known,
                )  # fmt: skip
            except (TargetError, Unavailable) as error:
                self.error = error
                raise
            self.config.add_cleanup(self.close_session)
        return self.opened

    def end_item(self, name: str) -> None:
        """Close the session once all items of the target ran in this process, else at the end of the run.

        A worker and the answers that a session keeps are hundreds of megabytes: a run over the kernel table, with all
        sessions open to its end, took 18 GB.
        """
        self.ended.add(name)
        if self.ended.issuperset(item.name for item in self.session.items if item.parent is self):
            self.close_session()

    def close_session(self) -> None:
        """Close the session, if one is open."""
        if self.opened is not None:
            self.opened.close()
            self.opened = None


class Refutation(Exception):
    """A law is refuted (or the target cannot be judged); shown without a Python traceback."""


class LawItem(pytest.Item):
    """One law of one target."""

    def __init__(self, *, law: Law | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.law = law

    def runtest(self) -> None:
        from attention_core.declaration.implementation import TargetError, Unavailable

        assert isinstance(self.parent, TargetNode)
        target = self.parent.name
        try:
            session = self.parent.session_open()
        except Unavailable as error:
            self.note({"target": target, "unavailable": str(error)})
            pytest.skip(f"{target} cannot run here: {error}")
        except TargetError as error:
            self.give_up(target, str(error), first=self.is_first())
        if self.is_first():
            self.note_first_look(session, target)
        if self.law is None and self.name == "parameters":
            self.run_parameters(session, target, self.parent.results)
        elif self.law is None:
            self.run_core(session, target)
        else:
            self.run_law(session, target, self.law)

    def teardown(self) -> None:
        assert isinstance(self.parent, TargetNode)
        self.parent.end_item(self.name)

    def is_first(self) -> bool:
        """Whether this is the first item of its target in the run, in every process that shares it."""
        return next((item for item in self.session.items if item.parent is self.parent), self) is self

    def core_reports(self, session: Session) -> bool:
        """Whether the core item, in whichever process it runs, meets what keeps the target from being judged."""
        selected = any(i.parent is self.parent and i.name == "core" for i in self.session.items)
        return selected and bool(session.core()) and session.core() == session.broken

    def give_up(self, target: str, problem: str, *, first: bool) -> NoReturn:
        """A target that cannot be judged is one failure; its other items are skipped."""
        self.note({"target": target, "problem": problem})
        if first:
            raise Refutation(f"{target}: {problem}") from None
        pytest.skip(f"not run: {problem}")

    def note_first_look(self, session: Session, target: str) -> None:
        """Leave what a few calls found of the target, once a target."""
        look = session.first_look
        if look is not None:
            self.note({"target": target, "first_look": list(look.lines), "options": look.pytest_options()})

    def run_core(self, session: Session, target: str) -> None:
        problem = session.core()
        if session.broken:
            self.give_up(target, session.broken, first=True)
        record = session.implementation.as_dict()
        self.note({"target": target, "core": problem, "declared": record})
        if problem:
            raise Refutation(f"{target}: incomplete: {problem}")

    def run_parameters(self, session: Session, target: str, results: dict[str, LawResult]) -> None:
        """Fail where a parameter is untested and not accepted as such, or no output was compared with a truth."""
        from attention_core.declaration.implementation import TargetError

        refuted = any(r.status == "refuted" for r in results.values())
        if len(results) < len(session.laws) or refuted or session.broken or session.core():
            pytest.skip(
                "only where all laws of the target ran in this process, and nothing else keeps it from conforming"
            )
        try:
            report = session.report(list(results.values()))
        except TargetError as error:
            self.note({"target": target, "problem": str(error)})
            raise Refutation(f"{target}: {error}") from None
        facts: dict[str, Any] = {"untested": report.untested, "accepted_untested": report.accepted_untested}
        facts["waived"] = dict(report.waived)
        self.note({"target": target, "core": report.problem, **facts})
        if report.untested or report.problem:
            raise Refutation(f"{target}: incomplete: {'; '.join(report.missing())}")

    def run_law(self, session: Session, target: str, law: Law) -> None:
        from attention_core.conformance.parametrize import outcome_of

        known = session.broken
        session.core()  # what keeps the target from being judged does so in every process that shares its items
        result = None if session.broken else session.run(law)
        if result is None or session.broken:
            self.give_up(target, session.broken, first=self.is_first() or not (known or self.core_reports(session)))
        assert isinstance(self.parent, TargetNode)
        self.parent.results[law.name] = result
        self.note({"target": target, "result": asdict(result), "of": len(session.laws)})
        if result.status == "refuted" and expected_verdict(target) == "refuted":
            pytest.xfail(f"a labelled counterexample: {result.message}")
        kind, words = outcome_of(result)
        if kind == "failed":
            raise Refutation(f"{words}\nto run it again: {self.rerun_command(target)}")
        if kind == "expected failure":
            pytest.xfail(words)
        if kind == "skipped":
            pytest.skip(words)

    def rerun_command(self, target: str) -> str:
        """The command that runs this item alone."""
        option = self.config.getoption
        words = [f"--attention-option {shlex.quote(text)}" for text in option("--attention-option")]
        if option("--attention-effort") != "quick":
            words.append(f"--attention-effort {option('--attention-effort')}")
        if option("--attention-seed"):
            words.append(f"--attention-seed {option('--attention-seed')}")
        return " ".join(["pytest", *words, "--pyargs", shlex.quote(f"{SUITE_MODULE}::{target}::{self.name}")])

    def note(self, facts: dict[str, Any]) -> None:
        """Leave facts for the verdict table (they also travel between test processes)."""
        self.user_properties.append((PROPERTY, json.dumps(facts)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Refutation):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        assert self.parent is not None
        # Not the end of the node id: pytest would write the dots of a target's name as colons.
        return self.path, None, f"{self.parent.name}: {self.name}"


def expected_verdict(target: str) -> str:
    """What the kernel table says a target should come to."""
    from attention_core.registry.table import KERNELS

    return next((row.expected for row in KERNELS if row.name == target), "conforms")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """End with the verdict table."""
    if not expand_targets(config):
        return
    from rich.console import Console

    from attention_core.conformance.report.render_text import verdict_remarks, verdict_table

    reports = gather(terminalreporter, config)
    if not reports:
        return
    expected = {report.target: expected_verdict(report.target) for report in reports}
    terminalreporter.section("attention verdicts")
    width = max(terminalreporter._tw.fullwidth, 100)
    colour = terminalreporter._tw.hasmarkup
    console = Console(width=width, file=terminalreporter._tw._file, force_terminal=colour, emoji=False)
    console.print(verdict_table(reports))
    plain = {report.target for report in reports if report.verdict == expected[report.target]}
    for line in (
        *verdict_remarks(reports, expected),
        *first_looks(terminalreporter, plain if len(reports) > 1 else ()),
    ):
        console.print(line, highlight=False, markup=False)


def first_looks(terminalreporter: Any, plain_targets: Collection[str] = ()) -> list[str]:
    """What the first looks found, and how it is declared, in lines; of `plain_targets` only what is to be declared."""
    from attention_core.declaration.errors import plain

    lines: dict[str, list[str]] = {}
    for facts in facts_of(terminalreporter):
        if "first_look" in facts and (facts["options"] or facts["target"] not in plain_targets):
            found = [f"{facts['target']}: first look: {facts['first_look'][0]}"]
            found += [f"  {line}" for line in facts["first_look"][1:]]
            found += [f"  to declare it: {facts['options']}"] if facts["options"] else []
            lines[facts["target"]] = [plain(line) for line in found]
    return [line for found in lines.values() for line in found]


def facts_of(terminalreporter: Any) -> Iterator[dict[str, Any]]:
    """What the items left."""
    for outcomes in terminalreporter.stats.values():
        for outcome in outcomes:
            for name, text in getattr(outcome, "user_properties", []):
                if name == PROPERTY and getattr(outcome, "when", "call") == "call":
                    yield json.loads(text)


def gather(terminalreporter: Any, config: pytest.Config) -> list[Report]:
    """One report a target, put together from what the items left."""
    from attention_core.conformance.report.law_result import law_result_from_dict
    from attention_core.conformance.report.results import Report

    found: dict[str, Report] = {}
    for facts in facts_of(terminalreporter):
        report = found.setdefault(facts["target"], Report(facts["target"], seed=config.getoption("--attention-seed")))
        if "result" in facts:
            report.laws.append(law_result_from_dict(facts["result"]))
            report.partial = len(report.laws) < facts["of"]  # `-k` leaves laws out
        report.problem = facts.get("core") or facts.get("problem") or report.problem
        report.failed = report.failed or "problem" in facts
        report.untested = facts.get("untested", report.untested)
        report.accepted_untested = facts.get("accepted_untested", report.accepted_untested)
        report.waived = facts.get("waived", report.waived)
        report.unavailable = facts.get("unavailable", report.unavailable)
    return [found[name] for name in expand_targets(config) if name in found]
