"""How functions of latent attention are called: everything goes by the names of parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.latent_subject import Inputs, read_roles
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.declaration.implementation import TargetError

CASE = ParameterCase({"B": 2, "H": 3, "n_q": 2, "n_kv": 5, "r": 7, "d": 4, "d_rope": 6, "d_v": 8})


def parameters(text: str) -> list[dict[str, Any]]:
    """Parameters by name; those with a "=" have a default."""
    return [{"name": n.rstrip("="), "kind": "", "default": n.endswith("=")} for n in text.split()]


def test_names_come_in_any_order() -> None:
    roles = read_roles(parameters("ckv kpe q_pe q_nope w_vc w_kc sm_scale= mystery="), ())
    assert roles == {
        "latent": "ckv", "key_rope": "kpe", "query_rope": "q_pe", "query": "q_nope", "up_value": "w_vc",
        "up_key": "w_kc", "scale": "sm_scale",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("q_nope q_rope c_kv", "no parameter for its key rope: name it k_rope"),
        ("q_nope q_rope c_kv k_rope w_uk", "no parameter for its up value: name it w_uv"),
        ("q_nope q_rope c_kv k_rope mystery", "the parameter mystery is given is not known"),
    ],
)
def test_what_is_not_known_is_refused(text: str, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        read_roles(parameters(text), ())


def shapes_of(target: Any, seen: list[Any], **record: Any) -> Any:
    """The shapes that the last call of a target saw."""
    with Session(Implementation(target, "f", "mla", **record)) as session:
        subject: Any = session.subject
        subject.send(subject.request_of(CASE, subject.inputs(CASE)))
    return seen[-1]


def test_a_target_that_projects_gets_the_projections_in_its_order_of_axes() -> None:
    seen: list[Any] = []

    def attend(q_nope: Any, q_rope: Any, c_kv: Any, k_rope: Any, w_uk: Any, w_uv: Any) -> Any:
        seen.append([tuple(x.shape) for x in (q_nope, q_rope, c_kv, k_rope, w_uk, w_uv)])
        return q_nope

    plain = [(2, 3, 2, 4), (2, 3, 2, 6), (2, 5, 7), (2, 5, 6), (3, 4, 7), (3, 8, 7)]
    assert shapes_of(attend, seen) == plain
    turned = shapes_of(attend, seen, layout="bnhd", parameters={"w_uk": "rhd", "w_uv": "hrd"})
    assert turned == [(2, 2, 3, 4), (2, 2, 3, 6), (2, 5, 7), (2, 5, 6), (7, 3, 4), (3, 7, 8)]


def test_a_target_for_decoding_gets_queries_of_the_latent_and_the_scale_of_its_head() -> None:
    seen: list[Any] = []

    def decode(q_nope: Any, q_pe: Any, ckv: Any, kpe: Any, sm_scale: Any = None) -> Any:
        seen.append((tuple(q_nope.shape), sm_scale))
        return q_nope

    assert shapes_of(decode, seen) == ((2, 3, 2, 7), pytest.approx(10**-0.5))


def test_every_head_has_its_own_keys_and_the_shared_positions() -> None:
    inputs = Inputs(*(np.random.default_rng(0).standard_normal(shape) for shape in (
        (2, 3, 2, 4), (2, 3, 2, 6), (2, 5, 7), (2, 5, 6), (3, 4, 7), (3, 8, 7),
    )))  # fmt: skip
    query, key, value = inputs.materialise()
    assert query.shape == (2, 3, 2, 10) and key.shape == (2, 3, 5, 10) and value.shape == (2, 3, 5, 8)
    np.testing.assert_allclose(key[1, 2, 3, :4], inputs.up_key[2] @ inputs.latent[1, 3])
    np.testing.assert_array_equal(key[1, 2, 3, 4:], inputs.key_rope[1, 3])
    np.testing.assert_allclose(value[1, 2, 3], inputs.up_value[2] @ inputs.latent[1, 3])
