"""How plain the English of the source and of its pages is, in figures that may only fall.

    python tests/quality/wording.py        # the table, and every function named by a participle

Words of reported speech (`told`, `said`, `asked`, `nobody`, `whoever`) read as a dialect where they are frequent, "is no X"
stands for "is not an X", and a participle does not say what a function does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORDS = re.compile(r"\b(?:told|said|asked|nobody|whoever)\b", re.IGNORECASE)
IS_NO = re.compile(r"(?<!there )\b(?:is|are) no [a-z]", re.IGNORECASE)
IDIOMS = re.compile(r"\b(?:is|are) no (?:longer|more|less|fewer|smaller|larger|greater)\b", re.IGNORECASE)
IRREGULAR = re.compile(
    "begun|born|bought|broken|brought|built|chosen|come|done|drawn|driven|fed|felt|forgotten|fought|found|given|gone|heard|held|"
    "hidden|kept|known|laid|left|lent|lost|made|meant|met|paid|said|seen|sent|shown|sought|spent|spoken|stood|sung|taken|taught|"
    "thought|told|understood|won|worn|written"
)
REGULAR = re.compile("(?!(?:bleed|embed|exceed|feed|need|proceed|seed|shed|speed|succeed)$)[a-z]{2,}ed")
GENERATED = frozenset({"laws.md", "kernels.md", "power.md", "mutation.md", "matrix.md", "birthplaces.md"})


@dataclass(frozen=True)
class Figures:
    """Counts over some files."""

    lines: int
    words: int
    is_no: int
    functions: int
    participles: tuple[str, ...]

    @property
    def words_per_thousand(self) -> float:
        """Words of reported speech per 1,000 lines."""
        return 1000 * self.words / self.lines

    @property
    def participle_share(self) -> float:
        """The share of functions that are named by a participle, in percent."""
        return 100 * len(self.participles) / max(self.functions, 1)


def is_participle(word: str) -> bool:
    """Whether a word is a past participle and nothing else: not `read`, `set` or `split`, which are verbs as well.

    >>> [is_participle(word) for word in ("told", "gathered", "gather", "seed", "read")]
    [True, True, False, False, False]
    """
    return bool(IRREGULAR.fullmatch(word) or REGULAR.fullmatch(word))


def laws() -> frozenset[str]:
    """The names of laws: sentences that stay as they are."""
    return frozenset(
        re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "laws.md").read_text(encoding="utf-8"), re.MULTILINE)
    )


def functions(source: str) -> Iterator[str]:
    """The names of the functions of a module, but predicates (`is_`, `has_`) and special methods."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__"):
            name = node.name.strip("_")
            if not name.startswith(("is_", "has_", "are_")):
                yield name


def measure(paths: list[Path]) -> Figures:
    """Count over the files `paths`."""
    lines = words = is_no = total = 0
    participles: list[str] = []
    sentences = laws()
    for path in paths:
        text = path.read_text(encoding="utf-8")
        lines += text.count("\n")
        words += len(WORDS.findall(text))
        is_no += len(IS_NO.findall(text)) - len(IDIOMS.findall(text))
        if path.suffix == ".py":
            for name in functions(text):
                total += 1
                if is_participle(name.rsplit("_", 1)[-1]) and name not in sentences:
                    participles.append(f"{path.relative_to(ROOT)}: {name}")
    return Figures(lines, words, is_no, total, tuple(participles))


def groups() -> dict[str, list[Path]]:
    """What is measured, by name. Pages that are generated stay out: their words are those of the code."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "tests" / "README.md"]
    found = {
        package: [
            path for path in (ROOT / package).rglob("*.py") if "faults" not in path.parts
        ]  # named for what is wrong
        for package in ("attention_core", "finetune")
    }
    for room in ("bench", "conformance", "derivation"):
        found[f"attention_core/{room}"] = [*(ROOT / "attention_core" / room).rglob("*.py")]
    found["pages"] = [page for page in pages if page.name not in GENERATED and "figures" not in page.name]
    return found


def main() -> None:
    """Print the table."""
    print(f"{'':30} {'lines':>8} {'words per 1,000':>16} {'is no X':>8} {'participles':>16}")
    every: set[str] = set()
    for name, paths in groups().items():
        found = measure(paths)
        every |= set(found.participles)
        share = f"{len(found.participles)} ({found.participle_share:.1f} %)" if found.functions else ""
        print(f"{name:30} {found.lines:8} {found.words_per_thousand:16.1f} {found.is_no:8} {share:>16}")
    print(*sorted(every), sep="\n")


if __name__ == "__main__":
    main()
