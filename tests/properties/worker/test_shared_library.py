"""Functions of a shared library: the example of the documentation, its faults, and descriptions that are wrong."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.engine.verify import verify_target
from attention_core.conformance.search.search import run_law
from attention_core.declaration.implementation import TargetError
from attention_core.worker.shared_library import FaultyAccess, load_function

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how_to" / "other_languages.md"
BLOCKS = dict(re.findall(r"```(c|toml)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
CC = shutil.which("cc")
compiles = pytest.mark.skipif(CC is None, reason="no C compiler is installed: there is no cc on the path")
FAULTS = {
    "seen one too far": ("j > i", "j > i + 1", "later"),
    "scale left out": (" * scale", "", "should be"),
    "written behind": ("free(w);", "out[B * H * n_q * d_v] = 1; free(w);", "it writes past the end of out"),
    "written before": ("free(w);", "out[-1] = 1; free(w);", "it writes before out"),
    "written into an input": ("free(w);", "((float *)q)[0] += 1; free(w);", "it writes into its input query"),
    "read behind": (
        "sum += w[j] * v[(head * n_kv + j) * d_v + c]",
        "sum += w[j] * v[(head * n_kv + j + 1) * d_v + c]",
        "nan",
    ),
}


def build(folder: Path, old: str = "", new: str = "") -> Path:
    """The documented library, with one change, and its description."""
    assert CC is not None and old in BLOCKS["c"]
    (folder / "attention.c").write_text(BLOCKS["c"].replace(old, new, 1) if old else BLOCKS["c"], encoding="utf-8")
    (folder / "attention.toml").write_text(BLOCKS["toml"], encoding="utf-8")
    command = [CC, "-O1", "-shared", "-fPIC", "-o", "libattention.so", "attention.c", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "attention.toml"


def judge(path: Path) -> Any:
    """The result of the central law, in this process."""
    record = Implementation(
        load_function(str(path)), "f", array="numpy", gradients=False, masks="bool", dtypes=("float32",)
    )  # fmt: skip
    with Session(record, effort="quick", shrink=False) as session:
        (law,) = select_laws(session.laws, ["agrees_with_truth"])
        return run_law(law, session.contract, session.subject, "quick", shrink=0)


@compiles
def test_the_documented_function_holds_in_a_worker(tmp_path: Path) -> None:
    path = build(tmp_path)
    fields = {"array": "numpy", "gradients": False, "masks": "bool"}
    report = verify_target(str(path), fields, effort="quick", laws=["agrees_with_truth"])
    assert [r.status for r in report.laws] == ["held"], report.reason()
    assert "it is judged in float32, which it is described to take" in report.notes
    report = verify_target(str(path), {**fields, "dtypes": ("float64",)}, effort="quick", laws=["agrees_with_truth"])
    assert report.problem.endswith("attention.toml takes float32, and float64 is declared")


@compiles
@pytest.mark.thorough(keep=("written behind",))
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_it_are_refuted(tmp_path: Path, fault: str) -> None:
    old, new, said = FAULTS[fault]
    result = judge(build(tmp_path, old, new))
    assert result.status == "refuted"
    assert fault == "seen one too far" or said in result.message


@compiles
def test_shapes_and_dtypes_that_do_not_fit_are_declined(tmp_path: Path) -> None:
    attend = load_function(str(build(tmp_path)))
    q, k = np.ones((2, 3, 4, 5), np.float32), np.ones((2, 3, 6, 5), np.float32)
    assert attend(q, k, k).shape == (2, 3, 4, 5) and attend(q[0], k[0], k[0], is_causal=True).shape == (3, 4, 5)
    for arguments, said in (
        ((q.astype(float), k, k), "query is of float32, got float64"),
        ((q, k[..., :4], k), "key has 4 in place of d, which is 5"),
        ((q, k[:, 0], k), "key has 1 in place of B*, which is 2"),
        ((q, k, k[0, 0]), "value has the axes B*, H, n_kv, d_v, got 2 axes"),
    ):
        with pytest.raises(ValueError, match=re.escape(said)):
            attend(*arguments)


@compiles
def test_a_status_declines_a_call_and_a_write_behind_is_found(tmp_path: Path) -> None:
    declining = load_function(str(build(tmp_path, "int i = row % n_q", "if (d > 4) return 7; int i = row % n_q")))
    one = np.ones((1, 2, 5), np.float32)
    with pytest.raises(ValueError, match="attention returned the status 7"):
        declining(one, one, one)
    (tmp_path / "other").mkdir()
    old, new, said = FAULTS["written behind"]
    with pytest.raises(FaultyAccess, match=said):
        load_function(str(build(tmp_path / "other", old, new)))(one, one, one)


ARRAY = '{array = "q", dtype = "float32", shape = ["n"]}'
RESULT = '{result = "o", dtype = "float32", shape = ["n"]}'
WRONG = {
    "": "names no library",
    "library = 'none.so'": "there is no library .*none.so: build it first",
    "library = 'x.so'\n[f]\nreturns = 'status'": "f has no arguments: write arguments",
    "library = 'x.so'\n[f]\narguments = []\nextra = 1": "f has 'extra'; a function has arguments, returns and symbol",
    "library = 'x.so'\n[f]\narguments = []\nreturns = 'int'": "f returns 'int': leave it out, or write \"status\"",
    f"library = 'x.so'\n[f]\narguments = [{ARRAY}]": "f has no result: one of its arguments is",
    f"library = 'x.so'\n[f]\narguments = [{ARRAY}, {RESULT}, {RESULT}]": "f has two arguments 'o'",
    f"library = 'x.so'\n[f]\narguments = [{ARRAY}, {RESULT}, {{size = 'm', type = 'int32'}}]": "no array tells the size 'm'",
    f"library = 'x.so'\n[f]\narguments = [{ARRAY}, {{size = 'n', type = 'long'}}]": "its type is one of .*, not 'long'",
    f"library = 'x.so'\n[f]\narguments = [{ARRAY.replace('float32', 'half')}]": "its dtype is one of .*, not 'half'",
    "library = 'x.so'\n[f]\narguments = [{array = 'q', dtype = 'float32'}]": "its shape is a list of sizes",
    f"library = 'x.so'\n[f]\narguments = [{ARRAY}, {{value = 's', type = 'float32', default = 'd'}}]": "its default is a number",
    "library = 'x.so'\n[f]\narguments = [3]": "an argument is one of array, result, size, value, with a name, not 3",
    "library = 'x.so'\n[f]\narguments = [{array = 'q', size = 2}]": "has 'size'; it may have dtype, shape, optional",
    f"library = 'x.so'\n[f]\narguments = [{ARRAY}, {RESULT}]": "the library cannot be loaded: .*x.so",
    "library =": "is not valid TOML",
    "library = 'x.so'": "describes no function",
}


@pytest.mark.parametrize("text", WRONG, ids=list(WRONG.values()))
def test_a_wrong_description_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "f.toml").write_text(text, encoding="utf-8")
    (tmp_path / "x.so").write_bytes(b"no library")
    with pytest.raises(TargetError, match=WRONG[text]) as caught:
        load_function(str(tmp_path / "f.toml"))
    assert "\n" not in str(caught.value)


@compiles
def test_a_missing_function_is_named(tmp_path: Path) -> None:
    path = build(tmp_path)
    path.write_text(BLOCKS["toml"].replace("[attention]", "[attend]"), encoding="utf-8")
    with pytest.raises(TargetError, match=r"has no function 'attend': is it static, or named by C\+\+"):
        load_function(str(path))
    with pytest.raises(TargetError, match=r"describes attend: write .*attention.toml:NAME"):
        load_function(str(path), "attention")
    with pytest.raises(TargetError, match=r"^no such file: none.toml$"):
        load_function("none.toml")
