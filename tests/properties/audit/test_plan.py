"""A plan crosses to another process as it is."""

from __future__ import annotations

import json

from attention_core.audit.adapter import Form
from attention_core.audit.plan import Plan
from attention_core.conformance.engine.verify import saved_fields
from attention_core.declaration.sizes import SizeCondition


def test_a_plan_comes_back_from_json() -> None:
    fields = {"layout": "bnhd", "dtypes": ("float32",), "sizes": SizeCondition("d % 8 == 0"), "arguments": {"a": (1,)}}
    form = vars(Form("tuple", (), (False, True)))
    plan = Plan("m:f", "replace", "tiles.x", saved_fields(fields), form, ("-q",), ("t.py::test_a",), ("/folder",))
    again = Plan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again.form == form and again.arguments == ("-q",) and again.path == ("/folder",)
    assert (again.leave_out, again.fault, again.mode) == (("t.py::test_a",), "tiles.x", "replace")
    found = again.fields()
    assert found["sizes"].text == "d % 8 == 0" and found["arguments"] == {"a": (1,)} and found["dtypes"] == ("float32",)


def test_what_stands_in_the_place() -> None:
    assert Plan("m:f").replacement().name == "right"
    assert Plan("m:f", declared={"contract": "attention-lse"}).replacement().returns == "out,lse"
    assert Plan("m:f", fault="masking.mask_ignored").replacement().name == "masking.mask_ignored"
