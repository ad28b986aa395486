"""Signed grades: what others write into the output is not one."""

from __future__ import annotations

import json

from attention_core.grading.judge import seal, unseal

GRADE = {"submission": "a.py", "task": "t", "verdict": "accepted"}
KEY, OTHER = "0" * 32, "1" * 32


def test_a_grade_comes_back() -> None:
    assert unseal(seal(GRADE, KEY), KEY) == GRADE


def test_what_a_submission_writes_into_the_output_is_no_grade() -> None:
    forged = json.dumps(GRADE).encode() + b"\n"
    assert unseal(forged, KEY) is None
    assert unseal(seal(GRADE, OTHER), KEY) is None
    assert unseal(forged + seal({"verdict": "refused"}, KEY) + forged, KEY) == {"verdict": "refused"}
    altered = seal({"verdict": "refused"}, KEY).replace(b"refused", b"accepted")
    assert unseal(altered, KEY) is None and unseal(b"", KEY) is None and unseal(b"\xff\xfe \n", KEY) is None
