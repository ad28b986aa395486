"""The table of rules: each has words, and is kept somewhere."""

from __future__ import annotations

import inspect
import re

from attention_core.grading import batch, conduct, measure, player, run, source
from attention_core.grading.rules import RULES


def test_every_rule_has_a_sentence_and_a_hint() -> None:
    for name, rule in RULES.items():
        assert name == rule.name and rule.seen in ("source", "process", "grader")
        assert rule.sentence.endswith(".") and rule.hint.endswith(".")


def test_every_rule_is_kept_somewhere_and_every_name_is_a_rule() -> None:
    text = "".join(inspect.getsource(module) for module in (batch, conduct, measure, player, run, source))
    assert [name for name in RULES if f'"{name}"' not in text] == []
    assert set(re.findall(r'Refused\("(\w+)"', text)) <= set(RULES)
