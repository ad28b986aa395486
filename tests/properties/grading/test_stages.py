"""The arrays of a call, by workload and layout."""

from __future__ import annotations

from attention_core.bench.workloads.workload import Workload
from attention_core.grading.stages import attention_fields


def test_the_arrays_of_forward_and_backward() -> None:
    workload = Workload(B=2, H=4, H_kv=2, n_q=3, n_kv=5, d=7, d_v=11, direction="bwd")
    found = {field.name: field for field in attention_fields(workload, (0, 2, 1, 3), (0, 1, 2, 3))}
    shapes = {"query": (2, 4, 3, 7), "key": (2, 2, 5, 7), "value": (2, 2, 5, 11), "out": (2, 4, 3, 11)}
    shapes |= {"cotangent": shapes["out"], **{f"d_{name}": shapes[name] for name in ("query", "key", "value")}}
    assert {name: field.shape for name, field in found.items()} == shapes
    assert {name for name, field in found.items() if field.is_output} == {"out", "d_query", "d_key", "d_value"}
    assert found["query"].order == (0, 2, 1, 3) and found["cotangent"].order == (0, 1, 2, 3)
    forward = attention_fields(Workload(n_q=3, n_kv=5))
    assert [field.name for field in forward] == ["query", "key", "value", "out"]
