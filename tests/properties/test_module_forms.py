"""Modules as people write them get the right verdict; each with a fault planted is refuted."""

from __future__ import annotations

from typing import Any

import pytest
from mutants import module_forms as forms
from mutants.judging_contracts import conforming, refuting
from torch import nn

from attention_core.conformance import Implementation
from attention_core.conformance.session import Session

CONTRACT = "multi-head"
TRUTH = "heads_attend_as_the_formula_says"


@pytest.mark.parametrize(("right", "fault", "record"), forms.FORMS, ids=lambda x: getattr(x, "__name__", ""))
def test_a_module_as_people_write_it_conforms_and_its_fault_does_not(
    right: type[nn.Module], fault: type[nn.Module], record: dict[str, Any]
) -> None:
    conforming(right, CONTRACT, **record)
    assert refuting(fault, CONTRACT, **record)


@pytest.mark.parametrize(("right", "record"), [(f[0], f[2]) for f in forms.FORMS if f[2]])
def test_what_is_declared_of_a_module_is_found_by_the_first_look(
    right: type[nn.Module], record: dict[str, Any]
) -> None:
    with Session(Implementation(right, "under test", CONTRACT), effort="quick") as session:
        look = session.first_look
    assert look is not None and look.agrees
    assert dict(look.found) == record
