"""The command line: `attention-core verify | derive | bench | ...`, a second door to the engines behind pytest.

Commands read their words, call the engine, and print; heavy imports happen inside them, so `--help` is quick.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attention_core import __version__
from attention_core.audit.cli import audit
from attention_core.bench.cli import bench
from attention_core.console import escape_unencodable
from attention_core.declaration.errors import plain
from attention_core.derivation.cli import derive
from attention_core.grading.cli import grade
from attention_core.report_page.cli import print_schema, write_page
from attention_core.terminal import (
    HELP,
    STANDARD_OUTPUT,
    Commands,
    Seconds,
    annotate,
    check_outputs,
    complete_target,
    interruptible,
    make_console,
    progress,
    record_options,
    write_reports,
)

if TYPE_CHECKING:
    from rich.console import Console

    from attention_core.conformance.first_look import FirstLook
    from attention_core.conformance.report.results import Report
    from attention_core.conformance.report.shards import Shard

EXIT_STATUS = """Exit status: 1 if any target is refuted, else 2 if any is in error or incomplete, else 0.
With --law: 0 if the chosen laws held (the verdict is then incomplete, as it needs all laws)."""
MERGE_STATUS = """Exit status: that of the whole run, had it not been split; 2 also if a shard is missing."""


@click.group(cls=Commands, context_settings=HELP)
@click.version_option(__version__, prog_name="attention-core")
def main() -> None:
    """Check whether attention is computed correctly."""
    escape_unencodable()


main.add_command(audit)
main.add_command(derive)
main.add_command(bench)
main.add_command(grade)
main.add_command(write_page)
main.add_command(print_schema)


seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="The same seed gives the same run."
)
timeout_option = click.option(
    "--timeout", type=Seconds(0.1), default=60.0, show_default=True,
    help="Seconds for one call; waiting on a busy machine does not count.",
)  # fmt: skip


def result_as_json(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option by which a result is written for programs."""
    return json_option("Write the result as JSON; - writes it to standard output, and nothing else there.")(command)


def json_option(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option --json of a command; a file that cannot be written is refused before the command begins."""

    def check(context: click.Context, parameter: click.Parameter, path: str | None) -> str | None:
        exit_on_target_error(lambda: check_outputs({"json_path": path}))
        return path

    kind = click.Path(dir_okay=False, allow_dash=True)
    return click.option("--json", "json_path", type=kind, callback=check, help=text)


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The files and annotations that reports are written as."""
    flag = click.option(
        "--github", is_flag=True, help="Print annotations for GitHub Actions, and add to the step's summary."
    )
    command = flag(command)
    for name, text in (
        ("badge", "Write the worst verdict as an SVG badge."),
        ("sarif", "Write the reports as SARIF 2.1, for code scanning."),
        ("junit", "Write the reports as JUnit XML."),
        ("html", "Write the reports as one HTML page."),
    ):
        command = click.option(f"--{name}", f"{name}_path", type=click.Path(dir_okay=False), help=text)(command)
    text = "Write the reports as JSON; - writes them to standard output, and nothing else there."
    json_path = click.Path(dir_okay=False, allow_dash=True)
    return click.option("--json", "json_path", type=json_path, help=text)(command)


@main.command(epilog=EXIT_STATUS)
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...", shell_complete=complete_target)
@click.option("--effort", type=click.Choice(["quick", "standard", "thorough"]), default="standard", show_default=True,
              help="How many cases each law sees.")  # fmt: skip
@seed_option
@click.option("--law", "laws", multiple=True, metavar="NAME", help="Run only this law; repeatable.")
@timeout_option
@output_options
@click.option(
    "--known-failures", "known_path", type=click.Path(dir_okay=False), help="TOML list of known failures (strict)."
)
@click.option("--save", "folder", type=click.Path(file_okay=False), default=".attention-core", show_default=True,
              help="Where counterexamples are saved for `replay`.")  # fmt: skip
@click.option(
    "--jobs",
    type=click.IntRange(1, 2),
    default=None,
    help="Processes that share the laws.  [default: 1 at effort quick, else 2 if there are 2 cores]",
)
@click.option("--shard", "shard_text", metavar="I/N",
              help="Judge only every N-th target from the I-th on; `merge` joins the reports of --json.")  # fmt: skip
@click.option("--changed-since", "revision", metavar="REV",
              help="Judge only targets that a change since this revision of git can reach.")  # fmt: skip
@click.option("--traceback", is_flag=True, help="Show tracebacks of targets that cannot be loaded.")
@click.option("-q", "--quiet", is_flag=True, help="Show only the verdicts.")
@click.option("-v", "--verbose", is_flag=True, help="Show laws that do not apply and every counterexample, too.")
@record_options
def verify(targets: tuple[str, ...], laws: tuple[str, ...], **options: Any) -> None:
    """Put each TARGET through the laws of attention.

    TARGET is package.module:name, path/to/file.py:name, or a row of the kernel table such as torch:flash
    (`attention-core kernels` lists them; `all` means every row).
    """
    from attention_core.conformance.engine.verify import be_thrifty, exit_status, verify_target
    from attention_core.conformance.report.shards import read_shard
    from attention_core.declaration.known_failures import load_known_failures
    from attention_core.declaration.options import HELP, fields_from_text

    be_thrifty()
    exit_on_target_error(lambda: check_outputs(options))
    console = make_console(stderr=options["json_path"] == STANDARD_OUTPUT)
    named = [f"{k.removeprefix('parameter_')}={v}" for k, v in options.items() if k.startswith("parameter_") and v]
    options["parameters"] = (*options["parameters"], *named)
    fields = exit_on_target_error(lambda: fields_from_text({k: v for k, v in options.items() if k in HELP}))
    known_path = options["known_path"]
    known = exit_on_target_error(lambda: load_known_failures(known_path)) if known_path else {}
    reports: list[Report] = []
    named, shard = _expand_targets(targets), None
    chosen = named
    if options["revision"] is not None:
        chosen = exit_on_target_error(lambda: _keep_changed(console, named, options["revision"]))
    if options["shard_text"] is not None:
        shard = exit_on_target_error(lambda: read_shard(options["shard_text"], chosen))
        chosen = shard.choose()
    jobs = options["jobs"] or (1 if options["effort"] == "quick" else min(2, os.cpu_count() or 1))
    for target in chosen:
        bar = progress(target, options["quiet"])
        with interruptible(), bar as tick:
            report = verify_target(
                target, fields, effort=options["effort"], seed=options["seed"], timeout=options["timeout"], laws=laws,
                known=known.get(target), progress=tick, jobs=jobs,
                announce=None if options["quiet"] else partial(_announce, console, bar),
            )  # fmt: skip
        reports.append(report)
        _show(console, target, fields, report, options)
    _warn_of_others(console, [target for target in known if target not in named])
    _finish(console, reports, options, shard)
    if shard is not None and not reports:
        console.print(f"shard {shard} has no target: there are {len(shard.targets)}", highlight=False, markup=False)
    if not reports:  # what is not to be judged is not wrong
        sys.exit(0)
    sys.exit(exit_status(reports))


def _warn_of_others(console: Console, targets: list[str]) -> None:
    """Known failures of targets that this run does not judge are likely misspelt."""
    for target in targets:
        line = f"known failures name {target}, which was not asked for"
        console.print(line, style="yellow", highlight=False, markup=False)


def _keep_changed(console: Console, targets: list[str], revision: str) -> list[str]:
    """The targets that a change can reach, with a line for each target. Raises: TargetError."""
    from attention_core.changes import changes_since, why_judge
    from attention_core.declaration.implementation import TargetError
    from attention_core.registry.load import implementation_for

    changes = changes_since(revision, Path())
    kept = []
    for target in targets:
        try:
            why = why_judge(implementation_for(target, {})[1], changes)
        except TargetError as error:  # the report says so, too
            why = str(error)
        line = why or f"not judged: nothing that it can reach has changed since {revision}"
        console.print(f"{target}: {line}", style=None if why else "dim", highlight=False, markup=False, soft_wrap=True)
        kept += [target] if why else []
    return kept


def _finish(console: Console, reports: list[Report], options: dict[str, Any], shard: Shard | None = None) -> None:
    """Show the table of verdicts, and write the reports as the options say."""
    if len(reports) > 1:
        from attention_core.conformance.report.render_text import verdict_remarks, verdict_table

        console.print(verdict_table(reports))
        for line in verdict_remarks(reports):
            console.print(line, highlight=False, markup=False)
    exit_on_target_error(lambda: write_reports(reports, options, shard))
    if options["github"]:
        exit_on_target_error(lambda: annotate(reports, aside=options["json_path"] == STANDARD_OUTPUT))


@main.command(epilog=MERGE_STATUS)
@click.argument("paths", nargs=-1, required=True, metavar="REPORT...", type=click.Path(dir_okay=False, path_type=Path))
@output_options
@click.option("-q", "--quiet", is_flag=True, help="Show only the verdicts.")
@click.option("-v", "--verbose", is_flag=True, help="Show laws that do not apply and every counterexample, too.")
def merge(paths: tuple[Path, ...], **options: Any) -> None:
    """Join what `verify --json` or `audit --json` wrote in several runs, such as the shards of one.

    All shards of a run have to be there; reports come out in the order of its targets. Audits can be
    written with --html, --json and --badge; trials of experiments/power with --json.
    """
    from attention_core.audit.merge import is_audit
    from attention_core.conformance.engine.verify import exit_status
    from attention_core.conformance.report.render_text import print_report
    from attention_core.conformance.report.shards import is_trials, merge_files

    exit_on_target_error(lambda: check_outputs(options))
    console = make_console(stderr=options["json_path"] == STANDARD_OUTPUT)
    if is_audit(paths[0]):
        sys.exit(_merge_audits(console, paths, options))
    if is_trials(paths[0]):
        sys.exit(_merge_trials(console, paths, options))
    reports: list[Report] = exit_on_target_error(lambda: merge_files(paths))
    for report in reports:
        print_report(console, report, details=not options["quiet"], everything=options["verbose"])
    _finish(console, reports, options)
    sys.exit(exit_status(reports))


def _merge_audits(console: Console, paths: tuple[Path, ...], options: dict[str, Any]) -> int:
    """Show shards of an audit as one, and write it as the options say; the exit status."""
    from attention_core.audit.cli import show
    from attention_core.audit.merge import merge_audits

    extra = [name for name in ("junit", "sarif") if options[f"{name}_path"]] + ["github"] * options["github"]
    if extra:
        _stop(f"--{extra[0]} is not written of audits: use --json, --html or --badge")
    found = exit_on_target_error(lambda: merge_audits(paths))
    show(console, found, options)
    return int(found.exit_status)


def _merge_trials(console: Console, paths: tuple[Path, ...], options: dict[str, Any]) -> int:
    """Write shards of an experiment's trials as one file; the exit status."""
    from attention_core.conformance.report.shards import merge_trials, trials_to_json

    extra = [name for name in ("html", "junit", "sarif", "badge") if options[f"{name}_path"]]
    if extra or options["github"]:
        _stop(f"--{extra[0] if extra else 'github'} is not written of trials: use --json")
    trials = exit_on_target_error(lambda: merge_trials(paths))
    text = trials_to_json(trials)
    if options["json_path"] == STANDARD_OUTPUT:
        click.echo(text, nl=False)
    elif options["json_path"]:
        Path(options["json_path"]).write_text(text, encoding="utf-8")
    refuted = sum(bool(trial.get("refuting")) for trial in trials)
    console.print(f"{len(trials)} trials, {refuted} refuted", highlight=False)
    return 0


def _announce(console: Console, bar: progress, look: FirstLook) -> None:
    """Print the first look before the laws run."""
    from attention_core.conformance.report.render_text import print_first_look

    with bar.aside():
        print_first_look(console, look)
    sys.stdout.flush()


def _show(console: Console, target: str, fields: dict[str, Any], report: Report, options: dict[str, Any]) -> None:
    from attention_core.conformance.engine.verify import save_cases
    from attention_core.conformance.report.render_text import print_report

    print_report(
        console, report, details=not options["quiet"], traceback=options["traceback"], everything=options["verbose"],
        looked=True,
    )  # fmt: skip
    if report.verdict == "refuted":
        try:
            saved = save_cases(Path(options["folder"]), target, fields, report)
            if report.under_found is not None and report.first_look is not None:
                under, inner = {**fields, **report.first_look.found}, Path(options["folder"]) / "under_found"
                saved += save_cases(inner, target, under, report.under_found)
            line = f"to run it again: attention-core replay {saved[0]}" if saved and not options["quiet"] else ""
        except OSError as error:  # the verdict stands without the file
            line = f"counterexamples cannot be saved in {options['folder']}: {error.strerror}"
        if line:
            console.print(line, style="dim", highlight=False, soft_wrap=True, markup=False)


def _expand_targets(targets: tuple[str, ...]) -> list[str]:
    from attention_core.registry.table import KERNELS

    names: list[str] = []
    for target in targets:
        names += [row.name for row in KERNELS] if target == "all" else [target]
    return list(dict.fromkeys(names))


@main.command(name="class", epilog="Exit status: 0 if every submission was judged, whatever the verdict; else 2.")
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option("--function", "name", metavar="NAME", required=True, help="The function or class of the exercise.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("feedback"), show_default=True,
              help="Where grades.csv, index.html and a page for each person are written.")  # fmt: skip
@click.option("--effort", type=click.Choice(["quick", "standard", "thorough"]), default="quick", show_default=True,
              help="How many cases each law sees.")  # fmt: skip
@seed_option
@timeout_option
@click.option(
    "--limit",
    type=Seconds(1.0),
    default=300.0,
    show_default=True,
    help="Seconds for one submission; waiting on a busy machine does not count.",
)
@click.option("--jobs", type=click.IntRange(1, 64), default=None,
              help="Submissions judged side by side.  [default: as many as there are cores]")  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="Show only the summary.")
@result_as_json
@record_options
def grade_class(folder: Path, name: str, out: Path, **options: Any) -> None:
    """Judge a FOLDER of submissions: a folder or a Python file for each person.

    Each is copied and judged in a process of its own. A second run judges only what is new.
    """
    from attention_core.declaration.options import HELP, fields_from_text
    from attention_core.teaching.feedback import count_verdicts, reason, to_json, write_feedback
    from attention_core.teaching.grading import Grade, Options, grade_submissions
    from attention_core.teaching.submissions import find_submissions

    named = [f"{k.removeprefix('parameter_')}={v}" for k, v in options.items() if k.startswith("parameter_") and v]
    options["parameters"] = (*options["parameters"], *named)
    fields = {k: v for k, v in options.items() if k in HELP and v not in (None, ())}
    exit_on_target_error(lambda: fields_from_text({k: options[k] for k in HELP if k in options}))
    submissions = exit_on_target_error(lambda: find_submissions(folder, name, out))
    settings = Options(name, fields, options["effort"], options["seed"], options["timeout"], options["limit"])
    aside = options["json_path"] == STANDARD_OUTPUT
    console, quiet = make_console(stderr=aside), options["quiet"]
    wide = max(len(one.person) for one in submissions)

    def show(grade: Grade) -> None:
        laws = f"{grade.laws_that_hold} of {len(grade.laws)} laws hold" if grade.laws else ""
        line = f"{plain(grade.person):<{wide}}  {grade.verdict:<10}  {laws}  {plain(reason(grade))}".rstrip()
        if not quiet:
            console.print(line, highlight=False, markup=False, soft_wrap=True)

    jobs = options["jobs"] or os.cpu_count() or 1
    grades: list[Grade] = []
    try:
        with interruptible("submissions that were judged are kept, and the same command judges the others"):
            grades = grade_submissions(submissions, settings, out / "reports", jobs=jobs, finished=show)
        write_feedback(grades, name, out)
    except OSError as error:
        _stop(f"{error.filename or out} cannot be written: {error.strerror}")
    counts = ", ".join(f"{number} {verdict}" for verdict, number in count_verdicts(grades).items())
    click.echo(f"{len(grades)} submissions: {counts}", err=aside)
    click.echo(f"see {out / 'index.html'}, {out / 'grades.csv'}, and a page for each person beside them", err=aside)
    if options["json_path"]:
        write_list(options["json_path"], to_json(grades, name))
    sys.exit(0)


def list_as_json(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option by which a list is written for programs."""
    return json_option("Write the list as JSON; - writes it to standard output, and nothing else there.")(command)


def write_list(path: str, text: str) -> None:
    """Write JSON to a file or to standard output."""
    if path == STANDARD_OUTPUT:
        click.echo(text, nl=False)
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        _stop(f"{path} cannot be written: {error.strerror}")


@main.command(name="laws")
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option("--contract", metavar="NAME", help="List only the laws of this contract.")
@click.option("--markdown", is_flag=True, help="Write Markdown tables, with a fault that each law refutes.")
@list_as_json
def list_laws(words: tuple[str, ...], contract: str | None, markdown: bool, json_path: str | None) -> None:
    """List every law: name, sentence, formula and source.

    With WORDs: only the laws that contain every one of them, such as `laws causal gradient`.
    """
    from attention_core.conformance.contracts import contracts, find_contract
    from attention_core.conformance.report.render_laws import laws_as_json, laws_as_markdown, search_laws
    from attention_core.conformance.report.results import count

    chosen = [exit_on_target_error(lambda: find_contract(contract))] if contract else list(contracts().values())
    if words:
        chosen = search_laws(chosen, words)
    if not chosen:
        _stop(f"no law has {' and '.join(words)} in its name, sentence, formula or source")
    if json_path:
        write_list(json_path, laws_as_json(chosen))
    if json_path == STANDARD_OUTPUT:
        return
    if markdown:
        click.echo(laws_as_markdown(chosen), nl=False)
        return
    console = make_console()
    whole = not console.is_terminal  # a line stays a line in a pipe
    for one in chosen:
        console.print(f"[bold]{one.name}[/] ({count(len(one.laws), 'law')})")
        for law in one.laws:
            console.print(f"  [cyan]{law.name}[/]: ", end="", highlight=False)
            console.print(law.sentence, highlight=False, markup=False, soft_wrap=whole)
            for label, text in (("formula", law.formula), ("source", law.source)):
                if text:
                    line = f"      {label}: {text}"
                    console.print(line, style="dim", highlight=False, markup=False, soft_wrap=whole)


@main.command(name="contracts")
@click.argument("name", required=False)
@list_as_json
def list_contracts(name: str | None, json_path: str | None) -> None:
    """List the contracts. With NAME: what is called, what it returns and what it can declare."""
    from attention_core.interfaces import interface, one_lines

    if json_path:
        known = one_lines() if name is None else {name: exit_on_target_error(lambda: interface(name))}
        listed = [{"name": each, "about": line} for each, line in known.items()]
        write_list(json_path, json.dumps({"schema_version": 1, "contracts": listed}, indent=1) + "\n")
    if json_path == STANDARD_OUTPUT:
        return
    if name is not None:
        click.echo(exit_on_target_error(lambda: interface(name)))
        return
    console = make_console()
    lines = one_lines()
    for each, line in lines.items():
        console.print(f"  [cyan]{each:<{max(map(len, lines))}}[/]  ", end="", highlight=False)
        console.print(line, highlight=False, markup=False, soft_wrap=not console.is_terminal)
    console.print(
        "attention-core contracts NAME says all of one, attention-core laws --contract NAME its laws", style="dim"
    )


@main.command(name="kernels")
@list_as_json
def list_kernels(json_path: str | None) -> None:
    """List the kernel table: what can be verified by name."""
    from attention_core.registry.table import KERNELS

    if json_path:
        listed = [{"name": row.name, "about": row.about, "expected": row.expected} for row in KERNELS]
        write_list(json_path, json.dumps({"schema_version": 1, "kernels": listed}, indent=1) + "\n")
    if json_path == STANDARD_OUTPUT:
        return
    console = make_console()
    for row in KERNELS:
        label = " (a labelled counterexample)" if row.expected == "refuted" else ""
        line = f"  [cyan]{row.name}[/]: {row.about}{label}"
        console.print(line, highlight=False, soft_wrap=not console.is_terminal)


@main.command(epilog="Exit status: 1 if the case fails, 0 if it passes, else 2.")
@click.argument("path", metavar="CASE.json", type=click.Path(dir_okay=False))
@click.option("--target", metavar="TARGET", help="Run the case on another target.")
@timeout_option
@result_as_json
def replay(path: str, target: str | None, timeout: float, json_path: str | None) -> None:
    """Run one saved counterexample again, and say whether it still fails.

    One case gives no verdict on the whole target: `verify` does.
    """
    from attention_core.conformance.engine.verify import exit_status, read_case, replay_case
    from attention_core.conformance.report.render_text import print_replay
    from attention_core.conformance.report.results import to_json

    data = exit_on_target_error(lambda: read_case(Path(path)))
    with interruptible():
        report = replay_case(data, target, {}, timeout)
    print_replay(make_console(stderr=json_path == STANDARD_OUTPUT), report)
    if json_path:
        write_list(json_path, to_json([report]))
    sys.exit(exit_status([report]))


@main.command(
    epilog="Exit status: 0 if the answer to --part (without it, to any part) is right, else 1; 2 for wrong usage."
)
@click.argument("name", type=click.Choice(["selection"]))
@click.option("--q", metavar="VECTOR", help="A query: three numbers, or a sum such as '10*k_0 + 10*k_1'.")
@click.option("--Q", "matrix", metavar="ROWS", help="Four queries, with semicolons between them.")
@click.option("--k2", "k_2", metavar="VECTOR", help="Replaces the third key; needs --q.")
@click.option("--part", metavar="NUMBER", help="Only this part: 1.2.1, 1.2.2, 1.3.1, 1.3.2, 1.4.1 or 1.4.2.")
@result_as_json
def exercise(
    name: str, q: str | None, matrix: str | None, k_2: str | None, part: str | None, json_path: str | None
) -> None:
    """Mark a query or key of your own: selection and averaging with four given keys.

    The error is the largest coordinate of output minus target; the exercise allows 0.05.
    """
    from attention_core.teaching.selection import ALLOWED, PARTS, mark, to_json

    if part is not None and part not in {each.number for each in PARTS}:
        _stop(f"--part {part} is not one of {', '.join(each.number for each in PARTS)}")
    marked = exit_on_target_error(lambda: mark(q, matrix, k_2))
    shown = [each for each in marked if part in (None, each.part.number)]
    if not shown:
        needs = next(each.needs for each in PARTS if each.number == part)
        _stop(f"part {part} is answered by {' and '.join(needs)}")
    for each in shown:
        verdict = "yes" if each.met else "no"
        more = "" if each.objection is None else f"; {each.objection}"
        click.echo(
            f"{each.part.number}  {each.part.words}: {verdict} (error {each.error:.4f}, allowed {ALLOWED}{more})",
            err=json_path == STANDARD_OUTPUT,
        )
    if json_path:
        write_list(json_path, to_json(shown))
    sys.exit(0 if any(each.met for each in shown) else 1)


def exit_on_target_error(make: Callable[[], Any]) -> Any:
    """The value, or one clear line and exit 2."""
    from attention_core.declaration.implementation import TargetError

    try:
        return make()
    except TargetError as error:
        return _stop(str(error))


def _stop(line: str) -> None:
    click.echo(f"attention-core: {plain(line)}", err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
