"""Tasks as files, and what is refused in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from attention_core.declaration.implementation import TargetError
from attention_core.grading.task import Task, read_task


def written(folder: Path, text: str) -> Task:
    path = folder / "task.toml"
    path.write_text(text)
    return read_task(path)


def test_an_empty_file_is_a_task(tmp_path: Path) -> None:
    task = written(tmp_path, "")
    assert (task.name, task.function, task.forbid, task.reference) == (
        "task",
        "attention",
        ("attention",),
        "torch:default",
    )
    assert task.workloads[0].name() == "B=1 H=8 n=512 d=64 float32 fwd"
    assert task.fields == {"dtypes": "float32", "gradients": False, "merges": "lse"}


def test_a_whole_task(tmp_path: Path) -> None:
    task = written(
        tmp_path,
        'name = "x"\nfunction = "attend"\nforbid = ["attention", "softmax"]\nallow = ["frames"]\n'
        '[declare]\nlayout = "bnhd"\nclaims = ["is_causal"]\ndead-rows = "nan"\nmerges = "none"\narg = {p = 1}\n'
        '[verify]\neffort = "standard"\nlaws = ["stays_finite"]\ntimeout = 3\n'
        '[time]\nshapes = ["B=1,H=2,n=8,d=4", "BERT-base:128"]\ndtype = "bfloat16"\nmask = "causal"\n'
        'direction = "bwd"\nthreads = 2\nseconds = 0.5\nreference = "torch:math"\n',
    )
    assert (task.name, task.function, task.forbid, task.allow) == ("x", "attend", ("attention", "softmax"), ("frames",))
    assert task.fields == {
        "dtypes": "bfloat16", "gradients": True, "merges": "none", "layout": "bnhd", "claims": ("is_causal",),
        "dead_rows": "nan", "arguments": ("p=1",),
    }  # fmt: skip
    assert [w.n_q for w in task.workloads] == [8, 128] and str(task.workloads[0].mask) == "causal"
    assert (task.effort, task.laws, task.timeout, task.threads) == ("standard", ("stays_finite",), 3.0, 2)
    assert "frames" in task.to_json()["allow"]


def test_problems_of_other_formats_stand_by_themselves(tmp_path: Path) -> None:
    for name, form, function in (("p.py", "kernelbench", "ModelNew"), ("d.json", "flashinfer-bench", "run")):
        path = tmp_path / name
        path.write_text("")
        task = read_task(path)
        assert (task.format, task.function, task.problem, task.forbid) == (form, function, path, ())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1", "'x' is not known"),
        ("x =", "is not valid TOML"),
        ("x = " + "[" * 200_000, "is not valid TOML"),
        ("[time]\nshape = 1", r"\[time\] 'shape' is not known"),
        ("[time]\nshapes = 1", "shapes is a list of texts"),
        ('[time]\nshapes = ["n=0"]', "not a whole number"),
        ('[time]\nmask = "bias"', "mask bias is not timed"),
        ("[time]\nthreads = 0", "threads is a number above 0"),
        ('[time]\ndirection = "up"', "is not one of fwd, bwd"),
        ('[declare]\nlayuot = "bnhd"', "'layuot' is not an option of verify"),
        ('[declare]\nlayout = "xyz"', "layout"),
        ('[declare]\ncontract = "rotary"', "contract rotary is not graded"),
        ('allow = ["nothing"]', "is not a rule"),
        ('forbid = ["nothing"]', "is not one of attention, matmul, softmax"),
        ('format = "x"', "is not one of attention"),
        ('format = "kernelbench"', "problem names the file"),
        ("name = 3", "name is a text"),
        ("verify = 3", r"write \[verify\]"),
    ],
)
def test_what_is_no_task_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        written(tmp_path, text)
