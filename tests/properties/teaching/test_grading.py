"""Each submission in a process of its own: the original stays as it was, limits end it, and a second run judges what is new."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from attention_core.cli import main
from attention_core.teaching import grading
from attention_core.teaching.grading import Options, file_name, grade_submissions
from attention_core.teaching.submissions import Submission, find_submissions

RIGHT = "import torch\n\n\ndef attn_softmax(scores):\n    return torch.softmax(scores, -1)\n"
SETTINGS = Options("attn_softmax", {"contract": "self-attention-steps", "parameters": ("kind=attn_softmax",)})


@pytest.mark.slow
def test_a_class_is_judged_and_only_what_is_new_is_judged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submissions = tmp_path / "submissions"
    submissions.mkdir()
    (submissions / "ann.py").write_text(RIGHT, encoding="utf-8")
    (submissions / "ben.py").write_text(RIGHT.replace("-1", "-2"), encoding="utf-8")
    (submissions / "eve.py").write_text(RIGHT.replace("attn_softmax", "f"), encoding="utf-8")
    words = ["class", str(submissions), "--function", "attn_softmax", "--contract", "self-attention-steps", "--kind",
             "attn_softmax", "--out", str(tmp_path / "out")]  # fmt: skip
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert "3 submissions: 1 conforms, 1 refuted, 1 error" in result.output
    assert "no file defines attn_softmax" in result.output
    assert sorted(path.name for path in submissions.rglob("*")) == ["ann.py", "ben.py", "eve.py"]
    page = (tmp_path / "out/ben.html").read_text(encoding="utf-8")
    assert "from ben import attn_softmax" in page and "&#39;submission&#39;" not in page and str(tmp_path) not in page

    monkeypatch.setattr(grading, "_judge", lambda submission, *_: f"{submission.person} is judged again")
    again = CliRunner().invoke(main, [*words, "--json", "-"])
    assert again.stderr.splitlines()[-2] == "3 submissions: 1 conforms, 1 refuted, 1 error"
    written = json.loads(again.stdout)["submissions"]
    assert [(one["person"], one["verdict"], one["report"] is None) for one in written] == [
        ("ann", "conforms", False), ("ben", "refuted", False), ("eve", "error", True),
    ]  # fmt: skip
    (submissions / "ann.py").write_text(RIGHT + "\n", encoding="utf-8")
    assert "ann is judged again" in CliRunner().invoke(main, words).output


def test_what_is_there_at_once_is_told_in_the_order_of_the_folder(tmp_path: Path) -> None:
    names = [f"{letter}{number}" for letter in "mzaq" for number in range(5)]
    submissions = [Submission(name, tmp_path, (), None, "nothing handed in") for name in names]
    told: list[str] = []
    grade_submissions(submissions, SETTINGS, tmp_path / "out", finished=lambda grade: told.append(grade.person))
    assert told == names


def test_a_submission_that_hangs_is_ended_at_its_limit(tmp_path: Path) -> None:
    (tmp_path / "ann.py").write_text("import time\ntime.sleep(1000)\nattn_softmax = None\n", encoding="utf-8")
    limited = Options(SETTINGS.name, SETTINGS.fields, limit=0.5)
    (grade,) = grade_submissions(find_submissions(tmp_path, SETTINGS.name), limited, tmp_path / "reports")
    assert (grade.verdict, grade.laws) == ("error", {})
    assert grade.problem.startswith("not judged within")
    assert not list((tmp_path / "reports").iterdir())


def test_a_process_that_dies_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ann.py").write_text(RIGHT, encoding="utf-8")
    monkeypatch.setattr(grading.sys, "executable", "/bin/false")
    (grade,) = grade_submissions(find_submissions(tmp_path, SETTINGS.name), SETTINGS, tmp_path / "reports")
    assert grade.problem.startswith("the process that judged it ended with status 1")


def test_a_kept_report_under_another_key_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "ann.json"
    assert grading._find_judgement(path, "key") is None
    path.write_text(json.dumps({"key": "key", "report": {}, "ranking": []}), encoding="utf-8")
    assert grading._find_judgement(path, "key") is not None
    assert grading._find_judgement(path, "other") is None
    path.write_text("[", encoding="utf-8")
    assert grading._find_judgement(path, "key") is None


def test_names_of_files_stay_apart() -> None:
    assert file_name("ann-1") == "ann-1"
    assert len({file_name("../up"), file_name(".._up"), file_name("..:up")}) == 3
    assert "/" not in file_name("../up")


def test_a_report_names_the_file_as_it_was_handed_in() -> None:
    """In the folder of a submission and below it; what is read is JSON, with its escapes."""
    top, below = (
        "import sys; sys.path.insert(0, 'submission')\n",
        "import sys; sys.path.insert(0, 'submission/übung')\n",
    )
    for file, program in (("a.py", top), ("übung/a.py", below)):
        report = json.dumps({"target": f"submission/{file}:f", "snippet": f"{program}from a import f\n"})
        found = json.loads(grading.as_handed_in(report, Path(file)))
        assert found["target"] == f"{file}:f" and "submission" not in found["snippet"]
        assert ("insert(0, 'übung')" in found["snippet"]) == (file != "a.py")
