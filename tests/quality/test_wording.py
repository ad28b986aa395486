"""Ceilings on what makes a page hard to read: they may only fall.

`python tests/quality/wording.py` prints the figures. When they fall, lower the ceilings in the same commit.
"""

from __future__ import annotations

import pytest
from quality.wording import groups, measure

# words of reported speech per 1,000 lines, "is no X", functions named by a participle (percent)
CEILINGS = {
    "attention_core": (0.9, 0, 0.8),
    "finetune": (1.3, 0, 0.9),
    "pages": (1.5, 2, 0.0),
}


def test_every_package_has_ceilings() -> None:
    assert {name for name in groups() if "/" not in name} == set(CEILINGS)  # rooms get files from each other


@pytest.mark.parametrize("name", CEILINGS)
def test_the_english_stays_plain(name: str) -> None:
    figures, (words, is_no, participles) = measure(groups()[name]), CEILINGS[name]
    advice = "python tests/quality/wording.py shows where; house rules: CONTRIBUTING.md"
    assert figures.words_per_thousand <= words, f"told, said, asked, nobody, whoever in {name}: {advice}"
    assert figures.is_no <= is_no, f'"is no X" for "is not an X" in {name}: {advice}'
    assert figures.participle_share <= participles, f"functions named by participles in {name}: {advice}"
