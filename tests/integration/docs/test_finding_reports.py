"""Reports for upstream projects in docs/findings: each reproduction prints what its report says.

A program runs where the version that its page names is installed; with another one the flaw may be mended.
"""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from importlib.metadata import PackageNotFoundError, version
from io import StringIO
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "docs" / "findings"
REPORT = re.compile(r"^## (.+?)$.*?^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = {
    "pytorch": ("torch", "2.13.0"), "transformers": ("transformers", "5.23.0"), "onnx": ("onnx", "1.23.2"),
    "onnxruntime": ("onnxruntime", "1.32.0"), "openvino": ("openvino", "2026.4.1"), "peft": ("peft", "0.21.2"),
    "memory_efficient_attention": ("memory-efficient-attention-pytorch", "0.1.6"),
    "ring_attention": ("ring-attention-pytorch", "0.5.20"), "labml_nn": ("labml-nn", "0.5.1"),
    "x_transformers": ("x-transformers", "2.31.10"), "haiku": ("dm-haiku", "0.0.17"),
    "flash_attention_jax": ("flash-attention-jax", "0.3.1"),
}  # fmt: skip
"""Pages whose programs run on a processor -> package and version."""
REPORTS = [(page, *report) for page in PAGES for report in REPORT.findall((FOLDER / f"{page}.md").read_text())]


def test_every_section_of_a_page_is_a_report() -> None:
    for path in {*FOLDER.glob("*.md")} - {FOLDER / "index.md"}:
        text = path.read_text()
        assert path.stem in {*PAGES, "kernels_in_triton", "pytorch_amx", "pytorch_compiled", "pytorch_cuda"}
        assert len(REPORT.findall(text)) == text.count("\n## ") == text.count("\nExpected:"), path.name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("page", "title", "program", "printed"), REPORTS, ids=[title for _, title, *_ in REPORTS])
def test_a_reproduction_prints_what_its_report_says(page: str, title: str, program: str, printed: str) -> None:
    package, release = PAGES[page]
    try:
        here = version(package)
    except PackageNotFoundError:
        pytest.skip(f"{package} is not installed")
    if here.partition("+")[0] != release:
        pytest.skip(f"{package} is {here}, the report is of {release}")
    if page == "onnxruntime":
        pytest.importorskip("onnx")
    out = StringIO()
    with redirect_stdout(out):
        exec(compile(program, title, "exec"), {"__name__": "report"})
    assert out.getvalue() == printed
