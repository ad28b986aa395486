"""Pictures of the architecture, made from the tree: the rooms of each package in layers, and the ways through them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path

from product import PACKAGES, ROOT

BOX, HIGH, GAP, LAYER = 176, 50, 18, 44
ROOT_MODULES = "(modules)"
HOUSE = 3
WAYS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "one_case": (
        ("draw", "sizes, dtype, masks, numbers"),
        ("budget", "how far a right result may be"),
        ("call", "the target, in its own process"),
        ("truth", "float64, NumPy alone"),
        ("law", "got, should be, allowed error"),
        ("null models", "could this case have failed?"),
        ("shrink", "the smallest case that fails"),
        ("report", "verdict, snippet, saved case"),
    ),
    "one_line": (
        ("read", "LaTeX and its declarations"),
        ("graph", "shared terms with shapes"),
        ("reduce", "normal form: is it 0?"),
        ("build cases", "values that meet the hypotheses"),
        ("search", "sizes and values, exactly"),
        ("prove", "for all sizes, where a rule does"),
        ("words", "is every word accounted for?"),
        ("verdict", "with its counterexample"),
    ),
    "one_batch": (
        ("examples", "rows that know their line"),
        ("tokens", "ids and lengths"),
        ("batch", "seeded by (seed, epoch, example)"),
        ("forward", "model and loss: (sum, targets)"),
        ("backward", "over all parts of the step"),
        ("step", "clip, then the optimizer"),
        ("evaluate", "on dev; the best is kept"),
        ("checkpoint", "all state, written atomically"),
    ),
}
"""Steps of each way: what is done, and with what. Names of files would be out of date soon."""


@dataclass
class Room:
    """One folder of a package (or its modules outside of folders)."""

    name: str
    about: str = ""
    files: int = 0
    lines: int = 0
    uses: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Source:
    """The first line of a module's docstring, its number of lines, and the names that it imports, deferred ones too."""

    about: str
    lines: int
    names: tuple[str, ...]


def pages() -> Iterator[tuple[str, str]]:
    """The pictures, and the text that architecture.md includes, by their places on the site."""
    for package in PACKAGES:
        houses = [package, *sorted(inner(package))]
        for house in houses:
            yield f"made/rooms_{house.replace('/', '_')}.svg", picture(house, rooms(house))
        yield f"made/rooms_{package}.txt", "\n".join(section(house, house != package) for house in houses)
    for name, steps in WAYS.items():
        yield f"made/way_of_{name}.svg", way(name, steps)


def inner(package: str) -> Iterator[str]:
    """The rooms of a package that are houses themselves: with at least `HOUSE` rooms in them."""
    for folder in (ROOT / package).iterdir():
        if len(list(folder.glob("*/__init__.py"))) >= HOUSE:
            yield f"{package}/{folder.name}"


def section(house: str, titled: bool) -> str:
    """The picture and the table of a house."""
    name = house.replace("/", "_")
    title = f"### {house.rpartition('/')[2]}\n\n" if titled else ""
    return f"{title}![The rooms of {house}](../made/rooms_{name}.svg)\n\n{table(house, rooms(house))}"


def rooms(house: str) -> dict[str, Room]:
    """The rooms of a package or folder, with the rooms that each imports (deferred imports too)."""
    found: dict[str, Room] = {}
    depth = house.count("/") + 1
    for path in sorted((ROOT / house).rglob("*.py")):
        source = read(path)
        name = room_of(path.relative_to(ROOT), depth)
        room = found.setdefault(name, Room(name))
        room.files += 1
        room.lines += source.lines
        if path.name == "__init__.py" and len(path.relative_to(ROOT).parts) == depth + 2:
            room.about = source.about
        room.uses |= {room_of(target, depth) for target in places(source.names, house)} - {name}
    for room in found.values():
        room.uses &= set(found)
    return found


def room_of(path: Path, depth: int) -> str:
    """The room of a file: the folder below the house, or the modules that stand in none."""
    return path.parts[depth] if len(path.parts) > depth + 1 else ROOT_MODULES


@cache
def read(path: Path) -> Source:
    """A module, parsed once for all the houses that it stands in."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return Source((ast.get_docstring(tree) or "").split("\n")[0], text.count("\n"), tuple(dict.fromkeys(names)))


def places(names: Iterable[str], house: str) -> Iterator[Path]:
    """The files, or folders, of the house that are imported by these names."""
    prefix = house.split("/")
    for name in names:
        parts = name.split(".")
        if parts[: len(prefix)] == prefix and len(parts) > len(prefix):
            place = Path(*parts[: len(prefix) + 1])
            if (ROOT / place).is_dir():
                yield place / "x.py"
            elif (ROOT / place).with_suffix(".py").exists():
                yield place


def layers(found: Mapping[str, Room]) -> list[list[str]]:
    """The rooms from top to bottom: each imports only rooms below it, apart from circles, which share a layer."""
    reach = {name: reachable(found, name) for name in found}
    together = {n: frozenset({n} | {m for m in reach[n] if n in reach[m]}) for n in found}
    depth: dict[frozenset[str], int] = {}

    def measure(circle: frozenset[str]) -> int:
        if circle not in depth:
            below = {together[used] for name in circle for used in found[name].uses} - {circle}
            depth[circle] = 1 + max((measure(one) for one in below), default=-1)
        return depth[circle]

    rows: dict[int, list[str]] = defaultdict(list)
    for name in found:
        rows[measure(together[name])].append(name)
    return [sorted(rows[level]) for level in sorted(rows, reverse=True)]


def reachable(found: Mapping[str, Room], name: str) -> set[str]:
    """What a room imports, directly or through others."""
    seen: set[str] = set()
    todo = list(found[name].uses)
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += found[one].uses
    return seen


def picture(package: str, found: Mapping[str, Room]) -> str:
    """An SVG: a box a room, in layers."""
    rows = [part for row in layers(found) for part in split(row, 4)]
    widest = max(map(len, rows))
    width = widest * (BOX + GAP) + GAP
    height = len(rows) * (HIGH + LAYER) + 12
    place = {}
    for level, row in enumerate(rows):
        left = (width - len(row) * (BOX + GAP) + GAP) / 2
        place |= {name: (left + i * (BOX + GAP), 16 + level * (HIGH + LAYER)) for i, name in enumerate(row)}
    parts = [head(width, height, f"The rooms of {package}: each imports rooms below it")]
    for room in found.values():
        x, y = place[room.name]
        for used in sorted(room.uses):
            to_x, to_y = place[used]
            if to_y > y:
                parts.append(line(x + BOX / 2, y + HIGH, to_x + BOX / 2, to_y))
    for room in found.values():
        x, y = place[room.name]
        words = "modules" if room.files != 1 else "module"
        title = package.rpartition("/")[2] + "/*.py" if room.name == ROOT_MODULES else room.name + "/"
        parts.append(box(x, y, BOX, HIGH, title, f"{room.files} {words}, {room.lines:,} lines"))
    return "\n".join([*parts, "</svg>", ""])


def split(row: list[str], most: int) -> list[list[str]]:
    """A layer in rows of a width that a page holds."""
    return [row[i : i + most] for i in range(0, len(row), most)]


def way(name: str, steps: tuple[tuple[str, str], ...]) -> str:
    """An SVG: steps from the first to the last, four in a row."""
    columns = 4
    rows = -(-len(steps) // columns)
    width, height = columns * (BOX + 30) - 6, rows * (HIGH + 30) + 2
    parts = [head(width, height, f"The way of {name.replace('_', ' ')}")]
    for i, (title, words) in enumerate(steps):
        level, column = divmod(i, columns)
        column = column if level % 2 == 0 else columns - 1 - column  # back and forth, so that arrows are short
        x, y = 12 + column * (BOX + 30), 16 + level * (HIGH + 30)
        parts.append(box(x, y, BOX, HIGH, f"{i + 1}. {title}", words))
        if i + 1 < len(steps):
            if (i + 1) % columns == 0:
                parts.append(line(x + BOX / 2, y + HIGH, x + BOX / 2, y + HIGH + 30))
            elif level % 2 == 0:
                parts.append(line(x + BOX, y + HIGH / 2, x + BOX + 30, y + HIGH / 2))
            else:
                parts.append(line(x, y + HIGH / 2, x - 30, y + HIGH / 2))
    return "\n".join([*parts, "</svg>", ""])


def head(width: float, height: float, title: str) -> str:
    """The opening of a picture, with the arrowhead that its lines use."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" font-family="sans-serif">\n<title>{escape(title)}</title>\n'
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#7a8aa0"/></marker></defs>\n'
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="#ffffff"/>'
    )


def line(x: float, y: float, to_x: float, to_y: float) -> str:
    """An arrow."""
    return (
        f'<path d="M{x:g} {y:g} L{to_x:g} {to_y:g}" fill="none" stroke="#7a8aa0" stroke-width="1.2" '
        'stroke-opacity="0.75" marker-end="url(#arrow)"/>'
    )


def box(x: float, y: float, width: float, height: float, title: str, words: str) -> str:
    """A box with a title and a line of words."""
    middle = x + width / 2
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width}" height="{height}" rx="6" fill="#eef3fb" stroke="#3b5b92"/>'
        f'<text x="{middle:g}" y="{y + 21:g}" text-anchor="middle" font-size="14" font-weight="600" fill="#1b2b45">'
        f'{escape(title)}</text><text x="{middle:g}" y="{y + 39:g}" text-anchor="middle" font-size="11" '
        f'fill="#43536b">{escape(words)}</text>'
    )


def table(package: str, found: Mapping[str, Room]) -> str:
    """The same as a table, which architecture.md includes."""
    lines = ["| room | what it holds | imports |", "|---|---|---|"]
    for row in layers(found):
        for name in row:
            room = found[name]
            title = f"`{package.rpartition('/')[2]}/*.py`" if name == ROOT_MODULES else f"`{name}/`"
            about = "modules that stand in no room" if name == ROOT_MODULES else room.about
            used = ", ".join(f"`{one}`" for one in sorted(room.uses - {ROOT_MODULES})) or "none"
            lines.append(f"| {title} | {about.replace('|', chr(92) + '|')} | {used} |")
    return "\n".join(lines) + "\n"
