"""A quick test in front of a pattern never hides a match."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thorough import examples, takes_fewest

import attention_core.derivation.check as loads_every_reader
from attention_core.derivation.quick_patterns import QuickAlternatives, QuickPattern, compile_quick

DERIVATIONS = Path(__file__).resolve().parents[3] / "derivations"


def quick_patterns() -> Iterator[tuple[str, QuickPattern]]:
    """The quick patterns of all readers, by the names of their modules."""
    room = loads_every_reader.__name__.rpartition(".")[0]
    for name, module in sorted(sys.modules.items()):
        if name.startswith(room):
            yield from ((f"{name.removeprefix(room)}.{key}", one) for key, one in vars(module).items()
                        if isinstance(one, QuickPattern))  # fmt: skip


PATTERNS = dict({one.pattern: (name, one) for name, one in quick_patterns()}.values())


@pytest.mark.parametrize("name", PATTERNS)
def test_whatever_a_pattern_matches_holds_one_of_its_words(name: str) -> None:
    plain = PATTERNS[name].plain

    @settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.from_regex(plain))
    def holds(text: str) -> None:
        assert PATTERNS[name].may_match(text)
        assert not text.isascii() or PATTERNS[name].may_match(text.swapcase()) or not plain.search(text.swapcase())

    holds()


def texts() -> list[str]:
    """The lines of the derivations, each as it is and in capitals; of every twelfth one by default."""
    paths = sorted(DERIVATIONS.glob("*.md"))[:: 12 if takes_fewest() else 1]
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").split("\n")]
    return [*lines, *map(str.upper, lines)]


def test_quick_patterns_find_in_documents_what_re_finds() -> None:
    assert len(PATTERNS) > 30
    for text in texts():
        for name, one in PATTERNS.items():
            wanted = [found.span() for found in one.plain.finditer(text)]
            assert [found.span() for found in one.finditer(text)] == wanted, name
            assert bool(one.search(text)) == bool(wanted), name
            assert one.sub("", text) == one.plain.sub("", text), name


def test_every_method_is_that_of_re() -> None:
    plain, quick = re.compile(r"\bdrop(?:s|ped)?\b|unless", re.I), compile_quick(r"\bdrop(?:s|ped)?\b|unless", re.I)
    for text in ("We dropped it, unless it drops.", "UNLESS", "We kept it.", "unle\u017f\u017f"):
        assert str(quick.match(text)) == str(plain.match(text)) and str(quick.search(text)) == str(plain.search(text))
        assert str(quick.fullmatch(text)) == str(plain.fullmatch(text))
        assert str([*quick.finditer(text, 3)]) == str([*plain.finditer(text, 3)])
        assert quick.findall(text) == plain.findall(text)
        assert quick.subn("-", text) == plain.subn("-", text) and quick.sub("-", text) == plain.sub("-", text)
    assert bool(quick.search("unle\u017f\u017f"))  # a letter that is an s without capitals


@pytest.mark.parametrize("pattern", [r"a", r"\w+", r"(?:long|\d)", r"(?:unless)?", r"unless|"])
def test_a_pattern_that_needs_no_word_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="needs no words"):
        compile_quick(pattern)


WORDS = ("a b", r"b+ c?", r"`[^`]*`", r"c \w+", r"^c", r"(?:a|b) c")


@given(st.text(alphabet="abc `\u00e9", max_size=24))
def test_alternatives_match_as_one_pattern_does(text: str) -> None:
    whole = re.compile(rf"(?<!x)(?:{'|'.join(WORDS)})(?!y)", re.IGNORECASE)
    quick = QuickAlternatives("(?<!x)", WORDS, "(?!y)", re.IGNORECASE)
    assert [one.span() for one in quick.finditer(text)] == [one.span() for one in whole.finditer(text)]
    assert quick.sub(lambda found: f"<{found[0]}>", text) == whole.sub(lambda found: f"<{found[0]}>", text)
