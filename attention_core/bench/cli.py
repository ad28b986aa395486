"""`attention-core bench`: reads its words, runs, prints, writes, and says how it ends.

Heavy modules are imported inside the command, so `attention-core --help` stays quick. Everything that made the exit
status has a line.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attention_core.bench.conventions import PYTHON, verify_words, with_convention
from attention_core.bench.report.number_words import factor
from attention_core.terminal import HELP, STANDARD_OUTPUT, complete_target, interruptible, make_console

if TYPE_CHECKING:
    from attention_core.bench.report.results import Results
    from attention_core.bench.run import Settings
    from attention_core.bench.workloads.workload import Workload


def status_of(results: Results, gate: float | None, console: Any, named: tuple[str, ...] = ()) -> int:
    """The exit status, with a line for everything that made it; `named`, the kernels of the command line."""
    from rich.markup import escape

    status = 0
    for cell in results.cells:
        for name, column in cell.kernels.items():
            line, found = judge_column(name, column, cell.baseline, gate)
            line += way_out(name, results) if column.status == "refuted" else ""
            status = 1 if 1 in (status, found) else max(status, found)
            if line:
                console.print(escape(f"{cell.workload.name()}: {line}"), highlight=False, soft_wrap=True)
    for name in named:  # a gate in CI names its kernel and must know that nothing was measured
        columns = [cell.kernels[name] for cell in results.cells if name in cell.kernels]
        if columns and all(column.status in ("cannot", "unavailable") for column in columns):
            console.print(escape(f"{name} was not timed: {columns[0].message}"), highlight=False, soft_wrap=True)
            status = status or 2
    if any(verdict.get("stale") for verdict in results.verdicts.values()):  # shown with the verdict: the list is strict
        status = status or 2
    return status


def judge_column(name: str, column: Any, baseline: str, gate: float | None) -> tuple[str, int]:
    """What one kernel does to the exit status, and the line that says so."""
    if column.status == "refuted":
        return f"{name} is refuted and was not timed", 1
    if column.status == "failed":
        return f"{name} failed: {column.message}", 2
    if gate is None or name == baseline or column.status != "timed":
        return "", 0
    ratio = column.comparison
    if ratio is None:
        return f"{name} has no ratio, as {baseline} was not timed", 2
    if ratio.low is not None and ratio.low > gate:
        return f"{name} takes {ratio.ratio:.3f} times {baseline}, beyond the gate of {gate:g}", 1
    if ratio.high is None or ratio.high > gate:
        return f"{name} against the gate of {gate:g}: undecided, {factor(ratio.ratio)}; give it more --seconds", 0
    return "", 0


def way_out(name: str, results: Results) -> str:
    """What the author of a refuted kernel can do: declare a convention, or look at the smallest cases."""
    verdict = results.verdicts.get(name, {})
    if verdict.get("verdict") != "refuted" or name.startswith("auto"):
        return ""  # wrong on these inputs alone, which `verify` does not draw; or no target that it takes
    sentences = [f"; {declare_in_hint(name, line)}" for line in verdict.get("hint", "").splitlines()]
    hints = "".join(sentences).replace(";", ":", 1)
    return f"{hints}; `attention-core verify {verify_words(name)}` shows its smallest cases"


def declare_in_hint(name: str, hint: str) -> str:
    """A hint of the suite, with how the kernel is named if the conventions in it are meant."""
    fields = ",".join(f"{a.replace('-', '_')}={b}" for a, b in re.findall(r"--([a-z-]+) (\w+(?:,\w+)*)", hint))
    hint = PYTHON.sub("", hint)
    return f"{hint}; if that is meant, name it {with_convention(name, fields)}" if fields else hint


STATUS = """Exit status: 1 if a kernel is refuted, or --gate or --self-test fails; else 2 if something cannot be
measured as asked, such as a named kernel that cannot be timed, or if a known failure no longer fails;
else 0.

With --base: 1 if a kernel is slower than at that revision by more than --gate; else 2 if one could not be
judged: it is wrong or cannot be timed at one revision, or its interval crosses the gate; else 0."""
DEFAULT_SHAPE = "B=1,H=8,n=1024,d=64"


class Finite(click.FloatRange):
    """A number in a range, which NaN and infinity are not: no comparison with NaN would refuse it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{found} is not a finite number.", param, ctx)
        return found


@click.command(name="bench", epilog=STATUS, context_settings=HELP)
@click.argument("kernels", nargs=-1, metavar="[KERNEL]...", shell_complete=complete_target)
@click.option("--baseline", default="torch:default", show_default=True, shell_complete=complete_target,
              help="The kernel that times are divided by.")  # fmt: skip
@click.option("--shapes", multiple=True, metavar="SHAPE", default=(DEFAULT_SHAPE,), show_default=True,
              help="BERT-base, GPT-2, Llama-3-8B, also NAME:LENGTH; sizes; a TOML file. Repeatable.")  # fmt: skip
@click.option("--lengths", metavar="N,N,...", help="Use these lengths instead of each shape's own.")
@click.option("--direction", type=click.Choice(["fwd", "bwd", "both"]), default="fwd", show_default=True,
              help="fwd: forward; bwd: forward and backward together; both: a cell of each.")  # fmt: skip
@click.option("--dtype", "dtypes", multiple=True, metavar="T",
              help="float32, bfloat16, float16, float64. Repeatable.  [default: float32; for --tune, all]")  # fmt: skip
@click.option("--mask", "masks", multiple=True, metavar="MASK",
              help="none, causal, bool, bias, window:W, prefix:P, segments:K, or several joined by +. Repeatable.  "
              "[default: the shape's own, or none]")  # fmt: skip
@click.option("--form", type=click.Choice(["plain", "3d", "5d", "strided"]), default="plain", show_default=True,
              help="Layout of the tensors; for all but plain, torch falls back to its unfused kernel.")  # fmt: skip
@click.option("--decode", is_flag=True, help="One query against all keys.")
@click.option("--seconds", type=Finite(0.01), default=10.0, show_default=True,
              help="Time for the samples of one cell, over all kernels.")  # fmt: skip
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="Threads of each kernel.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed of the inputs.")
@click.option("--timeout", type=Finite(0.1), default=120.0, show_default=True, help="Seconds for one call.")
@click.option("--gate", type=Finite(1.0), help="Fail if a kernel is slower than the baseline by this factor.  "
              "[with --base, than at that revision: 1.02]")  # fmt: skip
@click.option("--base", "base", metavar="REV",
              help="Compare each KERNEL of this repository with itself at this revision of git.")  # fmt: skip
@click.option("--head", "head", metavar="REV", help="The revision to compare with --base.  [default: the working tree]")
@click.option("--build", "build", metavar="COMMAND", help="With --base: what to run in each checkout first.")
@click.option("--known-failures", "known_path", type=click.Path(dir_okay=False),
              help="TOML list of known failures (strict), as for `verify`.")  # fmt: skip
@click.option("--self-test", type=click.IntRange(1), metavar="TRIALS",
              help="Compare the baseline with itself TRIALS times; report how often they seem to differ.")  # fmt: skip
@click.option("--tune", is_flag=True,
              help="Measure the table by which `auto` chooses, for this machine (takes minutes).")  # fmt: skip
@click.option("--json", "json_path", type=click.Path(dir_okay=False, allow_dash=True),
              help="Write results and raw samples, cell by cell; - writes them to standard output, and nothing else "
              "there.")  # fmt: skip
@click.option("--resume", is_flag=True, help="Continue from the cells in the --json file.")
@click.option("--plot", "plot_path", type=click.Path(dir_okay=False), metavar="FILE.svg",
              help="Write pictures FILE-growth.svg, ... (also .png, .pdf).")  # fmt: skip
@click.option("--html", "html_path", type=click.Path(dir_okay=False), help="Write tables and pictures as one page.")
@click.option("--markdown", "markdown_path", type=click.Path(dir_okay=False),
              help="Write the tables as Markdown; with --base, as the comment of a pull request.")  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="Do not show progress.")
def bench(**options: Any) -> None:
    """Time correct attention kernels side by side.

    KERNEL is a TARGET as for `verify`, or `auto` (attention_core.attention, with masks as structure), or `auto:NAME`;
    conventions of a target follow @, as in f.py:f@layout=bnhd. Without KERNEL: every row of the kernel table.
    """
    from attention_core.bench.cli_validation import check_together
    from attention_core.declaration.implementation import TargetError

    try:
        check_together(click.get_current_context())
        status = run(options)
    except TargetError as error:
        click.echo(f"attention-core: {error}", err=True)
        status = 2
    sys.exit(status)


def run(options: dict[str, Any]) -> int:
    """The command's exit status.

    Raises: TargetError for what cannot be measured as asked.
    """
    from attention_core.bench import cli_validation
    from attention_core.bench.report.render_text import Telling, print_results
    from attention_core.bench.run import Settings, run_benchmark
    from attention_core.declaration.implementation import TargetError

    cli_validation.check_files(options)
    cli_validation.check_dtypes(options["dtypes"])
    if options["tune"]:
        return tune(options)
    options = options | {"dtypes": options["dtypes"] or ("float32",)}
    if options["base"] is not None:
        return compare_with_base(options)
    chosen = ("baseline", "seconds", "threads", "device", "seed", "timeout")
    settings = Settings(**{name: options[name] for name in chosen})
    cells = cli_validation.cells_of(options)
    cli_validation.check_device(settings.device)
    cli_validation.check_threads(settings.threads)
    warn_of_others()
    if options["self_test"]:
        return self_test(cells, settings, options)
    names = options["kernels"] or cli_validation.default_kernels(settings.device)
    listed = cli_validation.known_failures(options["known_path"], [settings.baseline, *names])
    console = make_console(stderr=options["json_path"] == STANDARD_OUTPUT)
    kept: list[Results] = []
    keeps = options["json_path"] not in (None, STANDARD_OUTPUT)
    with interruptible(f"--resume continues from the cells in {options['json_path']}" if keeps else ""):
        try:
            with Telling(options["quiet"]) as show:
                results = run_benchmark(
                    names, cells, settings, progress=show, previous=earlier(options), listed=listed,
                    save=saver(options["json_path"], kept),
                )  # fmt: skip
        except (KeyboardInterrupt, SystemExit, TargetError):
            for unfinished in kept[-1:]:  # what was measured is shown, whatever ended the run
                print_results(console, unfinished)
            raise
    print_results(console, results)
    write_files(results, options)
    return status_of(results, options["gate"], console, options["kernels"])


def warn_of_others() -> bool:
    """Warn on standard error if others keep this machine busy; return whether it warned."""
    from attention_core.bench.timing.machine import busy_cores, busy_words

    words = busy_words(busy_cores())
    if words:
        click.echo(f"attention-core: {words}", err=True)
    return bool(words)


def is_attended() -> bool:
    """Whether somebody can answer."""
    return sys.stdin.isatty()


def tune(options: dict[str, Any]) -> int:
    """Measure the table that `auto` chooses by; on a busy machine, ask at the terminal first."""
    from attention_core.bench.report.render_text import Telling
    from attention_core.bench.tune import DTYPES, keep_tuning

    if warn_of_others() and is_attended() and not click.confirm("Tune all the same?", err=True):
        return 2
    with interruptible(), Telling(options["quiet"]) as show:
        table = keep_tuning(options["device"], options["dtypes"] or DTYPES, show)
    click.echo(f"attention(kernel='auto') follows {table} from now on")
    return 0


def earlier(options: dict[str, Any]) -> Results | None:
    """The results to go on from. Raises: TargetError where the file holds none."""
    from attention_core.bench.report.results import read_results

    path = options["json_path"]
    return read_results(Path(path)) if options["resume"] and Path(path).exists() else None


def saver(path: str | None, kept: list[Results]) -> Callable[[Results], None]:
    """What keeps the finished cells: here, and in the file where one is named."""
    from attention_core.bench.files import write_text

    def save(results: Results) -> None:
        kept.append(results)
        if path is not None and path != STANDARD_OUTPUT:
            write_text(Path(path), results.to_json())

    return save


def write_json(path: str | None, text: str) -> None:
    """Write JSON to a file or to standard output, if either is named. Raises: TargetError."""
    from attention_core.bench.files import write_text

    if path == STANDARD_OUTPUT:
        click.echo(text, nl=False)
    elif path:
        write_text(Path(path), text)


def write_files(results: Results, options: dict[str, Any]) -> None:
    """Write the requested files, at the end. Raises: TargetError."""
    from attention_core.bench.files import write_text

    write_json(options["json_path"], results.to_json())
    if options["plot_path"]:
        from attention_core.bench.report.pictures import write_pictures

        for path in write_pictures(results, Path(options["plot_path"])):
            click.echo(f"wrote {path}", err=options["json_path"] == STANDARD_OUTPUT)
    if options["html_path"]:
        from attention_core.bench.report.render_html import to_html

        write_text(Path(options["html_path"]), to_html(results))
    if options["markdown_path"]:
        from attention_core.bench.report.render_markdown import to_markdown

        write_text(Path(options["markdown_path"]), to_markdown(results))


def compare_with_base(options: dict[str, Any]) -> int:
    """Each kernel of this repository at two revisions; the exit status. Raises: TargetError."""
    from attention_core.bench import cli_validation
    from attention_core.bench.files import write_text
    from attention_core.bench.report.render_text import Telling
    from attention_core.bench.revisions.comment import print_comparison, to_markdown
    from attention_core.bench.revisions.compare import Request, compare_revisions
    from attention_core.bench.revisions.rounds import LIMIT

    cells = cli_validation.cells_of(options)
    cli_validation.check_device(options["device"])
    cli_validation.check_threads(options["threads"])
    request = Request(
        options["base"], options["head"], options["build"], options["gate"] or LIMIT, options["seconds"],
        options["threads"], options["device"], options["timeout"],
    )  # fmt: skip
    warn_of_others()
    with interruptible(), Telling(options["quiet"]) as show:
        found = compare_revisions(list(dict.fromkeys(options["kernels"])), cells, request, show)
    print_comparison(make_console(stderr=options["json_path"] == STANDARD_OUTPUT), found)
    write_json(options["json_path"], found.to_json())
    if options["markdown_path"]:
        write_text(Path(options["markdown_path"]), to_markdown(found))
    return found.exit_status


def self_test(cells: list[Workload], settings: Settings, options: dict[str, Any]) -> int:
    """The baseline against itself, and against itself with 5 % more to do."""
    from attention_core.bench.report.render_text import Telling
    from attention_core.bench.selftest import print_self_test, run_self_test

    with interruptible(), Telling(options["quiet"]) as show:
        found = [run_self_test(cell, settings, options["self_test"], show) for cell in cells]
    for one in found:
        print_self_test(make_console(), one)
    return 0 if all(one.passed for one in found) else 1
