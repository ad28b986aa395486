"""The command line of derivations.

`attention-core derive FILE...`: checks documents from the command line.
Heavy modules are imported inside the command, so `attention-core --help` stays quick.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attention_core.derivation.records import LEVELS, STANDARD_INPUT

if TYPE_CHECKING:
    from attention_core.derivation.effort import Effort
    from attention_core.derivation.records import DocumentReport

DOCUMENTS = (".md", ".markdown", ".tex", ".ipynb")
STANDARD_OUTPUT = DASH = "-"
STATUS = """Exit status: 0 if every step is as the document says; 1 if one is refuted or vacuous (or not refuted where
that is expected); else 2 if one cannot be read or decided. With --fail-on slip or refuted, steps that cannot be read
or decided do not count: 1 if one is refuted, vacuous or, with slip, likely to have a slip; 2 if a document has no step
(no display, not text) or none of that name; else 0."""


@click.command(name="derive", epilog=STATUS, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, metavar="FILE...", type=click.Path(dir_okay=False))
@click.option("--json", "json_path", is_flag=False, flag_value=STANDARD_OUTPUT, metavar="[FILE]",
              help="Write the reports as JSON; without FILE to standard output, alone.")  # fmt: skip
@click.option("--html", "html_path", type=click.Path(dir_okay=False), help="Write the documents as one HTML page.")
@click.option("--only", "only", multiple=True, metavar="STEP", help="Only this step, by name; repeatable.")
@click.option("--step", hidden=True, expose_value=False, callback=lambda *given: _refuse_step(given[2]))
@click.option("--require", type=click.Choice(["exact", "proved"]), help="Ask for more than agreement.")
@click.option("--explain", is_flag=True, help="Print what was understood of the declarations.")
@click.option("-v", "--verbose", is_flag=True, help="Print all that each verdict rests on.")
@click.option("--necessity", is_flag=True, help="Drop each hypothesis in turn and look for a counterexample.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed of the cases.")
@click.option("--seconds", type=click.FloatRange(0.1, 86400), default=8.0, show_default=True,
              help="Processor seconds for one step; after that it is UNDECIDED.")  # fmt: skip
@click.option("--github", is_flag=True, help="Print annotations of GitHub Actions, and add to the summary of the step.")
@click.option("-q", "--quiet", is_flag=True, help="Show only steps that count against the document.")
@click.option("--fail-on", "level", type=click.Choice(LEVELS), default="open", show_default=True,
              help="What counts against a document: whatever is not as it says; what is wrong or likely to have a "
              "slip; what is wrong.")  # fmt: skip
@click.option("--strict", is_flag=True, help="Infer nothing: a step with an undeclared symbol is UNREADABLE.")
@click.option("--formulas", is_flag=True,
              help="Promise that all hypotheses are formulas: words beside a step leave no verdict open.")  # fmt: skip
@click.option("--as-read", is_flag=True,
              help="Take the readings of undeclared symbols, which the report shows, as declared, and formulas as the "
              "only hypotheses.")  # fmt: skip
@click.option("--witness", is_flag=True, help="Ask SymPy about equations between numbers; its answer is shown.")
@click.option("--watch", is_flag=True, help="Check again whenever a FILE is saved, what changed first, until Ctrl-C.")
@click.option("--lsp", is_flag=True, help="Serve an editor over standard input and output; it names the files.")
@click.option("--scaffold", is_flag=True, help="Write the declarations that the documents miss, and check nothing.")
def derive(
    files: tuple[str, ...], json_path: str | None, html_path: str | None, only: tuple[str, ...], require: str | None,
    explain: bool, necessity: bool, seed: int, seconds: float, github: bool, quiet: bool, strict: bool, formulas: bool,
    as_read: bool, witness: bool, scaffold: bool, watch: bool, lsp: bool, level: str, verbose: bool,
) -> None:  # fmt: skip
    """Check every step of the derivations in FILE, Markdown or TeX with LaTeX formulas; - is standard input."""
    from attention_core.derivation.show import show_report

    settings = {"effort": _effort(seed, seconds), "require": require or "", "necessity": necessity,
                "infer": not strict, "formulas": formulas, "as_read": as_read, "witness": witness}  # fmt: skip
    shown: dict[str, Any] = {"explain": explain, "quiet": quiet, "verbose": verbose}
    if strict and as_read:
        raise click.UsageError("--strict reads no undeclared symbols: leave it out, or --as-read.")
    if lsp:
        sys.exit(_serve(files, settings))
    files, json_path = _read_files(files, json_path)
    if watch:
        if json_path or html_path or github or DASH in files:
            raise click.UsageError("--watch only prints, and reads files: leave out --json, --html, --github and -.")
        sys.exit(_watch(files, settings, only, shown))
    sources = _open_sources(files)
    if scaffold:
        sys.exit(_write_scaffolds(sources))
    _check_outputs(files, json_path, html_path)
    reports, unread = _check_all(sources, settings, only)
    unopened = 2 if unread else 0
    if json_path:  # before anything is shown: a reader may close standard output
        unopened = max(unopened, _write_json(json_path, reports))
    if json_path != STANDARD_OUTPUT:
        for report in reports:
            show_report(report, **shown, notes=not only, level=level)
    if github:
        unopened = max(unopened, _annotate(reports, level, unread, aside=json_path == STANDARD_OUTPUT))
    if html_path:
        unopened = max(
            unopened, _write_page(html_path, reports, sources, infer=not strict, formulas=formulas or as_read)
        )
    found = {r.status_at(level) for r in reports} | {unopened}
    sys.exit(1 if 1 in found else max(found))


def _refuse_step(name: str | None) -> None:
    """Name the option that checks one step.

    Raises: click.UsageError: a step is named behind --step.
    """
    if name is not None:
        raise click.UsageError(f"--step is not an option: --only {name} checks that step, and --explain all of them.")


def _open_sources(files: Sequence[str]) -> dict[str, str | Path]:
    """The documents by their names: paths, and the text of standard input.

    Exits with 2 if standard input is closed, or holds what is not text.
    """
    from attention_core.derivation.document.encodings import decode_text
    from attention_core.derivation.latex.syntax import Unreadable

    sources: dict[str, str | Path] = {STANDARD_INPUT if file == DASH else file: Path(file) for file in files}
    if DASH in files:
        if sys.stdin is None:
            click.echo("attention-core: standard input is closed: pipe a document to it, or name a file", err=True)
            sys.exit(2)
        try:
            sources[STANDARD_INPUT] = decode_text(sys.stdin.buffer.read()) + "\n"
        except Unreadable as error:
            click.echo(f"attention-core: standard input cannot be read: {error.message}", err=True)
            sys.exit(2)
    return sources


def _report_unreadable(file: str, error: OSError) -> str:
    """Say why a file cannot be read, and what to write if it is the name of a step; the reason."""
    name = not Path(file).suffix and not Path(file).exists()
    hint = f"; if it is the name of a step, write --only {file}" if name else ""
    click.echo(f"attention-core: {file} cannot be read: {error.strerror}{hint}", err=True)
    return f"{error.strerror}{hint}"


def _effort(seed: int, seconds: float) -> Effort:
    from attention_core.derivation.effort import Effort

    return Effort(seed=seed, seconds=seconds)


def _check_all(
    sources: Mapping[str, str | Path], settings: dict[str, Any], only: Sequence[str]
) -> tuple[list[DocumentReport], dict[str, str]]:
    """Check documents: their reports, and why others cannot be read."""
    reports: list[DocumentReport] = []
    unread: dict[str, str] = {}
    for file, names in _choose_files(sources, only).items():
        try:
            reports.append(_check(file, settings, names, sources[file]))
        except OSError as error:
            unread[file] = _report_unreadable(file, error)
    return reports, unread


def _check(
    file: str, settings: dict[str, Any], names: Sequence[str], source: str | Path | None = None
) -> DocumentReport:
    """Check one document, with a line on standard error that says how far it is, where somebody looks."""
    from attention_core.derivation.check import check_document

    source = Path(file) if source is None else source
    if not sys.stderr.isatty():
        return replace(check_document(source, only=names, **settings), file=file)
    from attention_core.console import Bar

    with Bar(file, quiet=False) as bar:
        report = check_document(
            source, only=names, tell=lambda step, done, whole: bar(f"{file}: {step.id}", done, whole), **settings
        )
        return replace(report, file=file)


def _watch(files: Sequence[str], settings: dict[str, Any], only: Sequence[str], shown: dict[str, Any]) -> int:
    """Check files whenever they are saved; the status of what was found last."""
    from attention_core.derivation.editors.rechecks import watch

    return watch(files, lambda file: _check(file, settings, only), **shown)


def _serve(files: Sequence[str], settings: dict[str, Any]) -> int:
    """Serve an editor until it leaves.

    Raises: click.UsageError: files are named, or the package that it rests on is not installed.
    """
    if files:
        raise click.UsageError("--lsp takes no FILE: the editor names those that are open.")
    from attention_core.derivation.editors.language_server import Desk, make_server

    try:
        how = {name: settings[name] for name in ("infer", "formulas", "as_read")}
        server = make_server(Desk(settings["effort"], **how))
    except ImportError as error:
        raise click.UsageError(f"--lsp needs {error.name}: python -m pip install 'attention-core[lsp]'") from error
    server.start_io()
    return 0


def _read_files(files: tuple[str, ...], json_path: str | None) -> tuple[tuple[str, ...], str | None]:
    """The documents and where JSON goes: what stands after `--json` is a document where its name ends as one.

    Raises: click.UsageError: no document is named.
    """
    if json_path is not None and Path(json_path).suffix in DOCUMENTS:
        files, json_path = (json_path, *files), STANDARD_OUTPUT
    if not files:
        raise click.UsageError("Missing argument 'FILE...'.")
    return files, json_path


def _check_outputs(files: Sequence[str], json_path: str | None, html_path: str | None) -> None:
    """Refuse at the door a file that could not be written once all steps are checked, and one that is a document.

    Raises: click.UsageError: a report would take the place of a document.
    """
    from attention_core.outputs import why_not_writable

    documents = {Path(file).resolve() for file in files if file != DASH}
    for option, path in (("--json", json_path), ("--html", html_path)):
        if path is not None and (Path(path).resolve() in documents or Path(path).suffix in DOCUMENTS):
            raise click.UsageError(f"{option} {path} would write over a document: name another file before it.")
        if path is not None and path != STANDARD_OUTPUT and (reason := why_not_writable(path)):
            click.echo(f"attention-core: {option} {path or repr(path)} cannot be written: {reason}", err=True)
            sys.exit(2)


def _write_json(path: str, reports: list[DocumentReport]) -> int:
    """Write the reports as JSON, and say what the status is at least."""
    data = {"schema_version": 1, "documents": [r.as_dict() for r in reports]}
    text = json.dumps(data, indent=2, ensure_ascii=False)
    if path == STANDARD_OUTPUT:
        click.echo(text)
        return 0
    try:
        Path(path).write_text(text + "\n", encoding="utf-8", errors="replace")
    except OSError as error:
        click.echo(f"attention-core: {path} cannot be written: {error.strerror}", err=True)
        return 2
    return 0


def _choose_files(sources: Mapping[str, str | Path], only: Sequence[str]) -> dict[str, Sequence[str]]:
    """The files in which steps are chosen, each with its names: a name need stand in one of several files alone."""
    from attention_core.derivation.check import document_steps, names_of_step

    if not only or len(sources) < 2:
        return dict.fromkeys(sources, only)
    named: dict[str, set[str]] = {}
    for file, source in sources.items():
        try:
            named[file] = set().union(*(names_of_step(step) for step in document_steps(source)[1]))
        except OSError:  # reported when it is checked
            return dict.fromkeys(sources, only)
    if not all(any(one in names for names in named.values()) for one in only):
        return dict.fromkeys(sources, only)
    found = {file: [one for one in only if one in names] for file, names in named.items()}
    return {file: names for file, names in found.items() if names}


def _write_scaffolds(sources: Mapping[str, str | Path]) -> int:
    """Print the declarations that documents miss; 2 if one cannot be read."""
    from attention_core.derivation.check import NO_DISPLAY, read_document
    from attention_core.derivation.claims import why_unreadable
    from attention_core.derivation.document.source import has_display
    from attention_core.derivation.latex.syntax import Unreadable
    from attention_core.derivation.reading.scaffold import scaffold

    status = 0
    for file, source in sources.items():
        try:
            text = read_document(source)[1]
            missing = scaffold(text, why_unreadable)
        except (OSError, Unreadable) as error:
            reason = error.message if isinstance(error, Unreadable) else error.strerror
            click.echo(f"attention-core: {file} cannot be read: {reason}", err=True)
            status = 2
            continue
        click.secho(file, bold=True)
        click.echo(missing or ("every symbol is declared" if has_display(text) else NO_DISPLAY))
    return status


def _write_page(
    path: str, reports: list[DocumentReport], sources: Mapping[str, str | Path], infer: bool, formulas: bool
) -> int:
    """Write the page, and say what the status is at least."""
    from attention_core.derivation.check import read_document_anyhow
    from attention_core.derivation.report import page

    found = [sources[report.file] for report in reports]
    texts = [one if isinstance(one, str) else read_document_anyhow(one) for one in found]
    try:
        Path(path).write_text(page(list(zip(reports, texts, strict=True)), infer, formulas), encoding="utf-8")
    except OSError as error:
        click.echo(f"attention-core: {path} cannot be written: {error.strerror}", err=True)
        return 2
    return 0


def _annotate(reports: Sequence[DocumentReport], level: str, unread: Mapping[str, str], *, aside: bool) -> int:
    """Print annotations, append to the summary of the step, and say what the status is at least."""
    from attention_core.annotations import append_summary
    from attention_core.derivation.github import annotation_lines, to_markdown

    for line in annotation_lines(reports, level, unread):
        click.echo(line, err=aside)
    try:
        append_summary(to_markdown(reports, level, unread))
    except OSError as error:
        click.echo(f"attention-core: the summary of the step cannot be written: {error.strerror}", err=True)
        return 2
    return 0
