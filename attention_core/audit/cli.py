"""The command `attention-core audit`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attention_core.terminal import STANDARD_OUTPUT, Seconds, check_outputs, interruptible, make_console, record_options

if TYPE_CHECKING:
    from attention_core.audit.results import Audit
    from attention_core.audit.trial import Request

EXIT_STATUS = """Exit status: 0 if the score reaches the floor, 1 if it does not, 2 if nothing could be judged.
With --shard: 0 if its faults were judged."""
"""Of `audit`."""


@click.command(epilog=EXIT_STATUS)
@click.argument("tests", nargs=-1, required=True, metavar="TESTS... [-- PYTEST_ARGS]")
@click.option("--target", required=True, metavar="TARGET", help="The function under test.")
@click.option("--all", "whole", is_flag=True, help="Use every fault of the contract.")
@click.option("--faults", "count", type=click.IntRange(1), default=40, show_default=True,
              help="How many faults, spread over the subjects of the catalogue.")  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed of the choice of faults."
)
@click.option("--floor", type=click.FloatRange(0, 1), default=1.0, show_default=True,
              help="The smallest share of faults that the suite must see.")  # fmt: skip
@click.option("-n", "--processes", type=click.IntRange(1, 64), default=None,
              help="Suites run at once.  [default: the number of cores]")  # fmt: skip
@click.option("--timeout", type=Seconds(0.1), default=None,
              help="Seconds for the suite with one fault; waiting on a busy machine does not count.  "
              "[default: 20 plus 5 times what it takes without one]")  # fmt: skip
@click.option("--log", "log_path", type=click.Path(dir_okay=False),
              help="Keeps progress, so that an interrupted run continues.  [default: in the user's cache]")  # fmt: skip
@click.option("--shard", "shard_text", metavar="I/N",
              help="Take only every N-th fault from the I-th on; `merge` joins what --json wrote.")  # fmt: skip
@click.option("--json", "json_path", type=click.Path(dir_okay=False, allow_dash=True),
              help="Write the result as JSON; - writes it to standard output, and nothing else there.")  # fmt: skip
@click.option("--html", "html_path", type=click.Path(dir_okay=False), help="Write the result as one HTML page.")
@click.option("--badge", "badge_path", type=click.Path(dir_okay=False), help="Write the score as an SVG badge.")
@click.option("-q", "--quiet", is_flag=True, help="Show only the score.")
@click.option("-v", "--verbose", is_flag=True, help="Show the test for every survivor.")
@record_options
def audit(tests: tuple[str, ...], **options: Any) -> None:
    """Show which wrong attention a pytest suite would let through.

    Faults of the catalogue stand in for TARGET, package.module:name or path/to/file.py:name, one after another, and the
    suite TESTS runs on each, in a process of its own. For each fault that passes, the smallest case that would have
    caught it is written as a test to paste.

    It takes minutes: the suite runs once for each fault, and the laws judge each for some seconds first. The
    number of faults, and about how long they will take, go to standard error.
    """
    from attention_core.audit.progress import Progress
    from attention_core.audit.results import Audit
    from attention_core.audit.run import audit as run_audit
    from attention_core.declaration.errors import plain
    from attention_core.declaration.implementation import TargetError

    console = make_console(stderr=options["json_path"] == STANDARD_OUTPUT)
    try:
        check_outputs(options)
    except TargetError as error:
        click.echo(f"attention-core: {plain(str(error))}", err=True)
        sys.exit(2)
    try:
        request = request_of(tests, options)
        shown = Progress(request.target, options["quiet"])
        with interruptible("the same command continues from the faults that were tried"), shown as tell:
            found = run_audit(request, tell, None if options["quiet"] else shown.print_line)
    except TargetError as error:
        found = Audit(options["target"], tests, problem=plain(str(error)), floor=options["floor"], seed=options["seed"])
    show(console, found, options)
    sys.exit(found.exit_status)


def request_of(tests: tuple[str, ...], options: dict[str, Any]) -> Request:
    """The request that the words make. Raises: TargetError."""
    from attention_core.audit.trial import Request
    from attention_core.conformance.report.shards import read_shard
    from attention_core.declaration.implementation import TargetError
    from attention_core.declaration.options import HELP, check_applies, fields_from_text
    from attention_core.worker.foreign import SUFFIXES
    from attention_core.worker.target import split_target

    if split_target(options["target"])[0].endswith(SUFFIXES):
        raise TargetError(f"audit puts faults in place of a Python function, which {options['target']} is not")
    own = tuple(test for test in tests if not test.startswith("-"))
    paths = [Path(test.partition("::")[0]) for test in own]
    more: tuple[str, ...] = ()
    for number, test in enumerate(tests):
        if test.startswith("-"):
            own, more = tests[:number], tests[number:]
            break
    missing = [path for path in paths[: len(own)] if not path.exists()]
    if missing or not own:
        raise TargetError(f"no such file or folder of tests: {missing[0] if missing else ''}")
    fields = fields_from_text({name: value for name, value in options.items() if name in HELP})
    check_applies(str(fields.get("contract", "attention")), fields)
    path = Path(options["log_path"]) if options["log_path"] else None
    return Request(
        options["target"], own, fields, more, None if options["whole"] else options["count"], options["seed"],
        options["floor"], options["processes"] or os.cpu_count() or 1, options["timeout"], keeps=True, log_path=path,
        shard=None if options["shard_text"] is None else read_shard(options["shard_text"], []),
    )  # fmt: skip


def show(console: Any, found: Audit, options: dict[str, Any]) -> None:
    """Print the result, and write what is wanted."""
    from attention_core.audit.render_html import to_badge, to_html
    from attention_core.audit.render_text import print_audit
    from attention_core.audit.results import Audit

    if found.problem:
        click.echo(f"attention-core: {found.problem}", err=True)
    else:
        print_audit(console, found, everything=options["verbose"], quiet=options["quiet"])
    for name, make in (("json", Audit.to_json), ("html", to_html), ("badge", to_badge)):
        path = options[f"{name}_path"]
        if path == STANDARD_OUTPUT:
            click.echo(make(found), nl=False)
        elif path:
            Path(path).write_text(make(found), encoding="utf-8", errors="replace")
