"""The process of one submission: reads a request as JSON from standard input, writes the report as JSON.

Run as `python -m attention_core.teaching.judge_submission`, in a folder that holds the submission.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Judge the target of the request under its options, and write the report where the request says."""
    from attention_core.conformance.engine.verify import be_thrifty, failed_report, verify_target
    from attention_core.declaration.implementation import TargetError
    from attention_core.declaration.options import fields_from_text

    request = json.load(sys.stdin)
    target, effort, seed = request["target"], request["effort"], request["seed"]
    be_thrifty()
    try:
        fields = fields_from_text(request["fields"])
        report = verify_target(target, fields, effort=effort, seed=seed, timeout=request["timeout"])
    except TargetError as error:
        report = failed_report(target, error, effort, seed)
    path = Path(request["to"])
    ranking = list(dict.fromkeys(found.law for found in report.counterexamples))
    unfinished = path.with_suffix(".part")
    unfinished.write_text(f'{{"ranking": {json.dumps(ranking)}, "report": {report.to_json()}}}', encoding="utf-8")
    os.replace(unfinished, path)


if __name__ == "__main__":
    main()
