"""Pictures and HTML of benchmarks.

Pictures and the page: every picture is drawn for what results hold, names are shown as they are, nothing is injected.
"""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from attention_core.bench.report import pictures
from attention_core.bench.report.pictures import as_svg, check_plotting, pareto_front, write_pictures
from attention_core.bench.report.render_html import to_html
from attention_core.bench.report.results import Cell, Column, Results
from attention_core.bench.timing.statistics import Comparison
from attention_core.bench.workloads.workload import Workload
from attention_core.declaration.implementation import TargetError

HOSTILE = "<script>alert(1)</script>.py:$\\frac{ & 'x'"
LIMITS = {"flops": {"float32": 1e11}, "exponentials": 1e9, "bandwidth": {"1000000": 1e11, "1000000000": 1e10}}


def column(seconds: float, rms: float, verdict: str = "SAME") -> Column:
    return Column(
        "timed", seconds=seconds, comparison=Comparison(1.0, 0.9, None, 1.0, 20, 20.0, verdict), share=0.1,  # type: ignore[arg-type]
        errors={"out": {"rms": rms, "max": 3 * rms}}, probe={"allocator": 1e6 * seconds, "process": None, "operators": []},
    )  # fmt: skip


def example(lengths: tuple[int, ...] = (64, 128, 256)) -> Results:
    cells = []
    for n in lengths:
        kernels = {"base": column(1e-3 * n, 1e-7), HOSTILE: column(5e-4 * n, 2e-7, "FASTER"), "exact": column(1.0, 0.0)}
        kernels["wrong"] = Column("refuted", "<b>on these inputs</b>")
        cells.append(Cell(Workload(n_q=n, n_kv=n, label="<i>$x"), "base", kernels, 1e-4, "matmul"))
    return Results({"processor": "<u>p"}, {"python": "3"}, {"threads": 1}, LIMITS, {}, cells)


@pytest.mark.thorough(keep=(".svg",))
@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_every_picture_is_a_file(tmp_path: Path, suffix: str) -> None:
    written = write_pictures(example(), tmp_path / f"p{suffix}")
    assert [path.name for path in written] == [f"p-{name}{suffix}" for name in ("growth", "pareto", "roofline")]
    starts = {".svg": b"<?xml", ".png": b"\x89PNG"}
    assert all(path.read_bytes().startswith(starts[suffix]) for path in written)


def test_the_same_results_give_the_same_picture(tmp_path: Path) -> None:
    first, again = (write_pictures(example((64,)), tmp_path / name)[0].read_bytes() for name in ("a.svg", "b.svg"))
    assert first == again


def test_what_results_do_not_hold_is_not_drawn() -> None:
    assert set(pictures.pictures(example((64,)))) == {"pareto", "roofline"}
    assert set(pictures.pictures(example(()))) == set()
    without = example((64,))
    without.limits = {}
    assert set(pictures.pictures(without)) == {"pareto"}


def test_times_have_their_intervals() -> None:
    """A line from end to end, in the kernel's colour; none where an end is not known."""
    results = example()
    for cell in results.cells:
        known = cell.kernels["base"]
        assert known.seconds is not None
        known.low, known.high = 0.9 * known.seconds, 1.2 * known.seconds
        cell.kernels["exact"].low = 0.5
    made = pictures.pictures(results)
    panel = made["pareto"]().axes[0]
    (mark,) = [line for line in panel.lines if line.get_label() == "base"]
    (ends,) = [line for line in panel.lines if len(line.get_xdata()) == 2 and len(set(line.get_ydata())) == 1]
    assert list(ends.get_xdata()) == pytest.approx([0.9 * 0.064, 1.2 * 0.064])
    assert set(ends.get_ydata()) == set(mark.get_ydata()) and ends.get_color() == mark.get_color()
    times, memory, _ = made["growth"]().axes
    upright = [line for line in times.lines if len(set(line.get_xdata())) == 1]
    assert [line.get_xdata()[0] for line in upright] == [64, 128, 256]
    assert list(upright[1].get_ydata()) == pytest.approx([0.9 * 0.128, 1.2 * 0.128])
    assert not [line for line in memory.lines if len(set(line.get_xdata())) == 1]


@pytest.mark.parametrize(
    ("low", "high", "known"),
    [(1.0, 2.0, True), (None, 2.0, False), (1.0, None, False), (0.0, 2.0, False), (1.0, math.inf, False)],
)
def test_an_interval_without_an_end_is_none(low: float | None, high: float | None, known: bool) -> None:
    assert (Column("timed", low=low, high=high).ends == (low, high)) is known


def test_a_dtype_without_limits_has_no_roof() -> None:
    results = example((64,))
    results.cells.append(Cell(Workload(n_q=64, n_kv=64, dtype="bfloat16"), "base", {"base": column(1e-3, 1e-3)}))
    panels = pictures.pictures(results)["roofline"]().axes
    lines = {panel.get_title(loc="left"): [line.get_label() for line in panel.lines] for panel in panels}
    assert any("GB/s" in label for label in lines["float32"])
    assert lines["bfloat16"] == ["base"]


def test_the_roof_of_half_precision_is_that_of_float32_where_it_is_higher() -> None:
    results = example((64,))
    results.limits = {**results.limits, "flops": {"float32": 4e12, "bfloat16": 1e9}}
    results.cells.append(Cell(Workload(n_q=64, n_kv=64, dtype="bfloat16"), "base", {"base": column(1e-3, 1e-3)}))
    panels = pictures.pictures(results)["roofline"]().axes
    assert [text.get_text() for panel in panels for text in panel.texts] == ["matmul 4e+03 GFLOP/s"] * 2


def test_the_names_that_are_refused_at_the_door_are_those_that_are_drawn() -> None:
    assert set(pictures.pictures(example())) == set(pictures.NAMES)


def test_the_front_is_of_those_that_no_other_beats() -> None:
    points = {"slow and exact": (3.0, 1.0), "fast": (1.0, 3.0), "beaten": (2.0, 3.0), "middle": (2.0, 2.0)}
    assert pareto_front(points) == ["fast", "middle", "slow and exact"]


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="cannot be written: No such file"):
        write_pictures(example((64,)), tmp_path / "nothing" / "p.svg")


@pytest.mark.parametrize("path", ["p", "p.gif", "p.svg.txt"])
def test_other_endings_are_refused_at_the_door(path: str) -> None:
    check_plotting("p.svg")
    with pytest.raises(TargetError, match=r"name a file that ends in .svg, .png, .pdf"):
        check_plotting(path)


def test_without_matplotlib_the_way_to_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(TargetError, match=r"pip install 'attention-core\[bench\]'"):
        check_plotting("p.svg")


class Tags(HTMLParser):
    """The tags of a page, and that they are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(scope="module")
def page() -> str:
    return to_html(example())


def test_the_page_holds_everything_and_injects_nothing(page: str) -> None:
    tags = Tags(page)
    assert tags.open == []
    assert not tags.seen & {"script", "b", "i", "u", "img", "iframe", "object"}
    assert not re.search(r"(src|href)=.https?:", page.replace("http://www.w3.org", ""))
    words = " ".join(tags.words)
    assert HOSTILE in words and "refuted: <b>on these inputs</b>" in words
    assert "1.000 [0.900, ?]" in words and "FASTER" in words and "Exponents" in words
    assert page.count("<svg") == 3


def test_a_verdict_stands_beside_its_kernel_and_numbers_are_not_broken(page: str) -> None:
    """On a phone the last columns are scrolled out of sight."""
    heads = re.findall(r"<th>([^<]+)</th>", page)
    assert heads[:3] == ["kernel", "verdict", "ratio"]
    assert re.search(r'<td class="ratio">\d\.\d+ \[', page) and "<strong>faster than" in page
    assert page.count('<div class="wide drawn" tabindex="0"><svg') == 3


def test_a_page_without_cells() -> None:
    assert "<svg" not in to_html(example(()))


def test_svg_begins_with_its_element() -> None:
    made = pictures.pictures(example((64,)))["pareto"]
    assert as_svg(made).startswith("<svg") and as_svg(made).rstrip().endswith("</svg>")
