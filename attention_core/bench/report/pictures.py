"""Pictures of results: time and memory against n, time against error (Pareto), and the roofline.

Drawn by matplotlib (the extra `bench`), imported where used.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attention_core.bench.report.growth import Series, series_of
from attention_core.bench.report.results import Cell, Results
from attention_core.bench.timing.roofline import Roofline
from attention_core.declaration.implementation import TargetError

NAMES = ("growth", "pareto", "roofline")
SUFFIXES = (".svg", ".png", ".pdf")
MARKERS = "os^Dv<>Pphd8"
STYLE = {"svg.hashsalt": "attention-core", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3}


def check_plotting(path: str) -> None:
    """Refuse at the door what could not be drawn after a long run.

    Raises: TargetError: matplotlib is not there, or the file's name has another ending.
    """
    if Path(path).suffix not in SUFFIXES:
        raise TargetError(f"--plot {path}: name a file that ends in {', '.join(SUFFIXES)}")
    needs_matplotlib("--plot")


def needs_matplotlib(option: str) -> None:
    """Raises: TargetError with the way to install it, where matplotlib is missing."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise TargetError(f"{option} needs matplotlib: pip install 'attention-core[bench]'")


def pictures(results: Results) -> dict[str, Callable[[], Any]]:
    """What can be drawn of the results: name -> a function that makes the figure."""
    timed = [cell for cell in results.cells if any(c.seconds is not None for c in cell.kernels.values())]
    series = series_of(results)
    found: dict[str, Callable[[], Any]] = {}
    if series:
        found["growth"] = lambda: growth_figure(series)
    if timed:
        found["pareto"] = lambda: pareto_figure(timed)
    if timed and results.limits:
        found["roofline"] = lambda: roofline_figure(timed, Roofline.from_json(results.limits))
    return found


def write_pictures(results: Results, path: Path) -> list[Path]:
    """One file a picture, NAME-growth.svg and so on.

    Returns: the files. Raises: TargetError where one cannot be written.
    """
    written = []
    for name, make in pictures(results).items():
        target = picture_file(path, name)
        try:
            with picture_style():
                # no date in the file: the same results give the same picture
                metadata: Any = {"Date": None} if path.suffix == ".svg" else None
                make().savefig(target, bbox_inches="tight", metadata=metadata)
        except OSError as error:
            raise TargetError(f"{target} cannot be written: {error.strerror}") from error
        written.append(target)
    return written


def picture_file(path: Path, name: str) -> Path:
    """The file of one picture.

    Example:
        >>> picture_file(Path("p.svg"), "growth").name
        'p-growth.svg'
    """
    return path.with_name(f"{path.stem}-{name}{path.suffix}")


def as_svg(make: Callable[[], Any], name: str = "picture") -> str:
    """A picture as an <svg> element for a page; its ids begin with its name, as those of a page are all different."""
    stream = io.StringIO()
    with picture_style():
        make().savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None})
    text = stream.getvalue()
    own = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{name}-", text[text.index("<svg") :])
    return own.replace("<svg", f'<svg role="img" aria-label="{name}"', 1)


def picture_style() -> Any:
    """The style of all pictures, for the duration of a `with`."""
    import matplotlib

    return matplotlib.rc_context(STYLE)


def figure(rows: int, columns: int) -> tuple[Any, Any]:
    """A figure without a window, and its axes (rows, columns)."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(4.6 * columns, 3.4 * rows), layout="constrained")
    return made, made.subplots(rows, columns, squeeze=False)


def looks(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """A colour and a marker for every kernel, the same in all panels."""
    return {
        name: {"color": f"C{k % 10}", "marker": MARKERS[k % len(MARKERS)], "label": plain(name)}
        for k, name in enumerate(names)
    }


def plain(text: str) -> str:
    """A name as it is: without this, what stands between two $ is set as a formula (and may be none)."""
    return text.replace("$", r"\$")


def legend_below(panel: Any) -> None:
    """The legend where it hides nothing."""
    panel.legend(fontsize=7, loc="upper left", bbox_to_anchor=(0.0, -0.2), frameon=False)


def growth_figure(series: Sequence[Series]) -> Any:
    """Time, with its 95 % intervals, and memory against n, a row of panels for each family of workloads; exponents
    stand in the legend."""
    families = list(dict.fromkeys(s.workload for s in series))
    made, axes = figure(len(families), 3)
    look = looks(list(dict.fromkeys(s.kernel for s in series)))
    units = (("time", "seconds a call"), ("allocator", "bytes in the allocator"), ("process", "bytes of the process"))
    for row, words in enumerate(families):
        for panel, (quantity, unit) in zip(axes[row], units, strict=True):
            own = [s for s in series if s.workload == words]
            if not any(value > 0 for s in own for value in s.values[quantity]):
                panel.set_visible(False)  # this system does not tell it
                continue
            for one in own:
                grown = one.exponent(quantity)
                half = "" if grown is None else f"  n^{grown.value:.2f} ± {(grown.high - grown.low) / 2:.2f}"
                panel.plot(one.n, one.values[quantity], **{**look[one.kernel], "label": plain(one.kernel) + half})
                for n, ends in zip(one.n, one.ends, strict=True):
                    if quantity == "time" and ends is not None:
                        panel.plot([n, n], ends, color=look[one.kernel]["color"], linewidth=1)
            panel.set(xscale="log", yscale="log", xlabel="n", ylabel=unit)
            lengths = sorted({n for s in own for n in s.n})
            panel.set_xticks(lengths, [str(n) for n in lengths], fontsize=7)
            panel.set_xticks([], minor=True)
            legend_below(panel)
        axes[row][0].set_title(plain(words), loc="left")
    return made


def pareto_figure(cells: Sequence[Cell]) -> Any:
    """Time, with its 95 % interval, against RMS error, a panel a cell; kernels that no other beats in both are joined
    by a line."""
    columns = min(3, len(cells))
    made, axes = figure(math.ceil(len(cells) / columns), columns)
    look = looks(list(dict.fromkeys(name for cell in cells for name in cell.kernels)))
    for panel, cell in zip(axes.flat, cells, strict=False):
        points = points_of(cell)
        for name, (seconds, rms) in points.items():
            panel.plot([seconds], [rms], linestyle="", **look[name])
            if ends := cell.kernels[name].ends:
                panel.plot(ends, [rms, rms], color=look[name]["color"], linewidth=1)
        front = pareto_front(points)
        panel.step([points[n][0] for n in front], [points[n][1] for n in front], where="post", color="grey", zorder=0)
        panel.set(xscale="log", yscale="log", xlabel="seconds a call", ylabel="RMS error, relative")
        widen(panel)
        panel.set_title(plain(cell.workload.name()), loc="left", fontsize=7)
        legend_below(panel)
    for panel in list(axes.flat)[len(cells) :]:
        panel.set_visible(False)
    return made


def widen(panel: Any) -> None:
    """At least a decade on both axes: what differs by a few percent should look so."""
    for limits, put in ((panel.get_xlim(), panel.set_xlim), (panel.get_ylim(), panel.set_ylim)):
        middle, half = math.sqrt(limits[0] * limits[1]), max(math.sqrt(limits[1] / limits[0]), math.sqrt(10))
        put(middle / half, middle * half)


def points_of(cell: Cell) -> dict[str, tuple[float, float]]:
    """Kernel -> (seconds, RMS error) of those that were timed; an error of 0 is drawn at the smallest double's
    roundoff."""
    found = {}
    for name, column in cell.kernels.items():
        if column.seconds is not None and column.rms is not None:
            found[name] = (column.seconds, max(column.rms, 2.0**-53))
    return found


def pareto_front(points: dict[str, tuple[float, float]]) -> list[str]:
    """The kernels that no other one beats in time and error, by time."""
    front: list[str] = []
    for name in sorted(points, key=lambda n: points[n]):
        if not front or points[name][1] < points[front[-1]][1]:
            front.append(name)
    return front


def roofline_figure(cells: Sequence[Cell], limits: Roofline) -> Any:
    """FLOP/s against FLOPs a byte, a panel a dtype: the measured roofs, and every kernel on every cell."""
    dtypes = list(dict.fromkeys(cell.workload.dtype for cell in cells))
    made, axes = figure(1, len(dtypes))
    look = looks(list(dict.fromkeys(name for cell in cells for name in cell.kernels)))
    for panel, dtype in zip(axes[0], dtypes, strict=True):
        own = [cell for cell in cells if cell.workload.dtype == dtype]
        for name, style in look.items():
            timed = [(c.workload, c.kernels[name].seconds) for c in own if name in c.kernels]
            drawn = [(w.flops / w.bytes, w.flops / s) for w, s in timed if s is not None]
            if drawn:
                panel.plot([x for x, _ in drawn], [y for _, y in drawn], linestyle="", **style)
        roofs(panel, own, limits, dtype)
        panel.set(xscale="log", yscale="log", xlabel="FLOP a byte", ylabel="FLOP/s")
        panel.set_title(dtype, loc="left")
        legend_below(panel)
    return made


def roofs(panel: Any, cells: Sequence[Cell], limits: Roofline, dtype: str) -> None:
    """The lines that nothing can be above: the matmul peak, and the bandwidths of memory and of the cache.

    None for a dtype whose peak was not measured.
    """
    if dtype not in limits.flops:
        return
    peak = limits.products(dtype)
    xs = [cell.workload.flops / cell.workload.bytes for cell in cells]
    rates = sorted({min(limits.bandwidth.values()), max(limits.bandwidth.values())})
    left, right = min([*xs, peak / rates[-1]]) / 3, max([*xs, peak / rates[0]]) * 3
    for rate, style, words in zip(rates, ("-", "--"), ("memory", "cache"), strict=False):
        line = [left, peak / rate, right]
        panel.plot(
            line, [min(peak, rate * x) for x in line], style, color="grey", label=f"{words} {rate / 1e9:.3g} GB/s"
        )
    panel.annotate(f"matmul {peak / 1e9:.3g} GFLOP/s", (right, peak), ha="right", va="bottom", fontsize=7)
