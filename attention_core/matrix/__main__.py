"""The command line of the matrix.

python -m attention_core.matrix --data matrix.json --page matrix.md
python -m attention_core.matrix --data matrix.json --only x-transformers --again
python -m attention_core.matrix --data part-2.json --shard 2/4
python -m attention_core.matrix --data matrix.json --join part-1.json part-2.json --none

Every row whose package is installed is verified and written down at once, so that a run that was cut off goes on where
it stood: a row that is there for the version that is installed is not run again.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from attention_core.conformance.report.shards import read_shard
from attention_core.declaration.implementation import TargetError
from attention_core.matrix import measure, page
from attention_core.matrix.rows import ROWS, Row
from attention_core.terminal import check_output


def read_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m attention_core.matrix",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, default=Path("matrix.json"), help="records, read and written")
    parser.add_argument("--page", type=Path, help="write them as a page")
    parser.add_argument("--only", default="", help="rows whose target, package, runtime or contract contains this")
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="only every N-th row from the I-th on")
    parser.add_argument("--again", action="store_true", help="run rows that are there, too")
    parser.add_argument("--none", action="store_true", help="run nothing")
    parser.add_argument("--join", type=Path, nargs="+", default=[], metavar="FILE", help="add the records of files")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(argv)


def choose(only: str, shard: str) -> list[Row]:
    """The rows of a command line.

    Raises:
        TargetError: the shard is not I/N.
    """
    rows = [row for row in ROWS if only in f"{row.target} {row.package} {row.runtime} {row.contract}"]
    part = read_shard(shard, [])
    return rows[part.index - 1 :: part.of]


def main(argv: Sequence[str] | None = None) -> None:
    """Run what is not there yet, and write records and page."""
    options = read_arguments(argv)
    try:
        for option, path in (("--data", options.data), ("--page", options.page)):
            if path is not None:
                check_output(option, str(path))
        chosen, records = choose(options.only, options.shard), measure.read(options.data)
        for path in options.join:
            records |= measure.read(path)
    except (TargetError, ValueError) as error:
        raise SystemExit(str(error)) from error
    for row in [] if options.none else chosen:
        key = (row.target, row.runtime, measure.release(row))
        if not key[2]:
            print(f"{row.target}: {row.package} is not installed", flush=True)
        elif options.again or key not in records:
            records[key] = one = measure.judge(row, options.seed)
            measure.write(options.data, page.order(records.values()))
            print(
                f"{row.target} ({row.package} {one.version}, {row.runtime}): {one.verdict}, {one.seconds} s", flush=True
            )
    for row in ROWS:
        for one in records.values():
            if (one.target, one.runtime) == (row.target, row.runtime):  # what has been argued since it was run
                one.findings = measure.account(row, one.refuted)
    measure.write(options.data, page.order(records.values()))
    if options.page:
        options.page.write_text(page.make(page.order(records.values())), encoding="utf-8")


if __name__ == "__main__":
    main()
