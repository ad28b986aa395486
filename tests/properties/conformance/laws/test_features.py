"""What the laws of features share: other features stand beside, and cases that could not fail are passed over."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from attention_core.conformance import Implementation
from attention_core.conformance.cases.features import Features
from attention_core.conformance.cases.space import Space
from attention_core.conformance.engine.session import Session
from attention_core.conformance.laws.features import count_power, draw_features, null_models
from attention_core.conformance.subjects.evidence import NotApplicable
from attention_core.conformance.subjects.featured import judge_call
from attention_core.declaration.features import FEATURES
from attention_core.faults import features as faults


@pytest.mark.parametrize("wanted", FEATURES)
def test_other_features_stand_beside_the_one_that_is_judged(wanted: str) -> None:
    rng, seen = np.random.default_rng(0), Counter[str]()
    with Session(Implementation(faults.build(), name="f")) as session:
        for _ in range(60):
            case = session.contract.draw(session.subject, Space(max_n=17), rng)
            features = draw_features(session.subject, case, wanted)
            seen.update([*features.given()])
            call = judge_call(session.implementation, case, features)
            assert null_models(call, wanted, session.subject.binding.window_kind), "each feature can be got wrong"
    assert seen[wanted] == 60 and all(seen[other] >= 5 for other in FEATURES), seen


def test_a_case_that_could_not_fail_is_passed_over() -> None:
    with Session(Implementation(faults.build(), name="f")) as session:
        case = session.contract.draw(session.subject, Space(max_n=9, causal=(False,)), np.random.default_rng(0))
        call = judge_call(session.implementation, case.with_(value=np.zeros_like(case.value)), Features(window=(1, 1)))
        with pytest.raises(NotApplicable, match="no wrong window would stand out"):
            count_power(session.subject, call, "a_window_agrees_with_the_truth", "window")
