"""Laws of multi-head modules in the circumstances of models: options of other calls, large scores, own values, dropout.

Faults that one plain call of a new module with small inputs does not show.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from attention_core.conformance.laws.multi_head import ANY, CONTRACT, MASKED, RANGES, TOKENS
from attention_core.conformance.modules.filled_module import ways
from attention_core.conformance.modules.form import Config, Construction
from attention_core.conformance.modules.look import MultiHead
from attention_core.conformance.modules.projections import Projections
from attention_core.conformance.subjects.evidence import NotApplicable, Refused, Result, require_close
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes, after, require_same_later
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.aliases import DROPOUTS
from attention_core.declaration.scales import scale_of

LARGE = 100.0
"""Scores so large that their exponential overflows in float32."""
DROPPED = 0.5
"""The share of weights that a module is built to drop."""


def options_end_with_their_call(subject: MultiHead, case: ParameterCase) -> None:
    """A plain call gives the same before and after calls with a mask, with causality and with a context.

    Formula: f(x), f(x, mask), f(x, causal), f(x, context), then f(x)' = f(x)
    Source: the definition of a function; a mask or a context that a module keeps in an attribute for later steps
    Fault: mask_kept_for_later_calls
    """
    found, x = subject.prepare(case), subject.input(case)
    options: list[dict[str, Any]] = [flags for flags, _, _ in ways(subject, case)[1:]]
    if subject.form.crosses and not subject.always_causal:
        options.append({"context": subject.input(case, "context")})
    if not options:
        raise NotApplicable("the module has no parameter for a mask, for causality or for a context")
    first, between = subject.module(case, found, x), list[Result]()
    for flags in options:
        try:
            between.append(subject.module(case, found, x, **flags))
        except Refused:  # one option alone may not be taken, as causality without a mask
            continue
        again = subject.module(case, found, x)
        what = f"plain output after a call with {', '.join(flags)}"
        require_same_later(again, first, between, subject.rounding(case, found, x), what)
        between.append(again)
    if not between:
        raise NotApplicable("the module declines every call with a mask, with causality or with a context")


def values_come_from_their_own_input(subject: MultiHead, case: ParameterCase) -> None:
    """A module that takes keys and values apart reads its values from the value, and its keys from the key.

    Formula: concat_h softmax(q_h k_h^T / sqrt(E/H)) v_h W_o + b_o with q, k and v of three inputs
    Source: Vaswani et al., section 3.2.2; torch.nn.MultiheadAttention(query, key, value)
    Fault: values_read_from_the_key
    """
    if not {"key", "value"} <= subject.form.inputs.keys():
        raise NotApplicable("the module does not take keys and values apart")
    if subject.always_causal:
        raise NotApplicable("the module is declared to be causal, which says nothing of other sequences")
    found, x = subject.recognise(case), subject.input(case)
    assert found.parts is not None
    keys, values = (subject.input(case, purpose, case["m"]) for purpose in ("key", "value"))
    want, bound = subject.truth(case, found.parts, x, context=keys, values=values)
    got = subject.module(case, found, x, context=keys, values=values)
    require_close(got, want, bound, "output with values of their own")


def inputs_may_be_the_same_tensor(subject: MultiHead, case: ParameterCase) -> None:
    """One tensor that is query, key and value, or two of them, is read as each of them, and the third is read too.

    Formula: concat_h softmax(q_h k_h^T / sqrt(E/H)) v_h W_o + b_o of the objects (x, x, x), (x, x, v), (x, c, c)
    Source: detr, models/transformer.py, whose queries and keys are one tensor and its values another
    Fault: self_attention_recognised_by_its_key
    """
    roles = list(subject.form.inputs)
    if len(roles) < 2:
        raise NotApplicable("the module takes one input")
    shares = [roles]
    if {"key", "value"} <= set(roles) and not subject.always_causal:
        shares += [[role for role in roles if role != "value"], ["key", "value"]]
    found, x = subject.recognise(case), subject.input(case)
    assert found.parts is not None
    for shared in shares:
        context = subject.input(case, "key", case["m"]) if shared == ["key", "value"] else None
        values = subject.input(case, "value") if shared != roles and context is None else None
        want, bound = subject.truth(case, found.parts, x, context=context, values=values)
        given = x if shared == roles else context
        got = subject.module(case, found, x, context=given, values=values, same_=_one_object(subject, shared))
        require_close(got, want, bound, f"output with one tensor for {' and '.join(shared)}")


def _one_object(subject: MultiHead, roles: list[str]) -> tuple[tuple[str, str], ...]:
    """The arguments of some roles as pairs: that of each but the first is the first's object."""
    inputs = list(subject.form.inputs)
    first, *rest = (
        str(place) if (place := inputs.index(role)) < subject.form.places else subject.form.inputs[role]
        for role in roles
    )
    return tuple((name, first) for name in rest)


def large_scores_are_kept(subject: MultiHead, case: ParameterCase) -> None:
    """Scores of a hundred and more are compared as they are: no clamp, no overflow.

    Formula: as heads_attend_as_the_formula_says, for c x with max |s| >= 100
    Source: Milakov and Gimelshein (2018); scores clamped so that the exponential stays finite
    Fault: scores_clamped_at_thirty
    """
    found = subject.recognise(case)
    assert found.parts is not None
    x = enlarge_input(subject, case, found.parts, subject.input(case))
    want, bound = subject.truth(case, found.parts, x)
    require_close(subject.module(case, found, x), want, bound, "output for large scores")


def enlarge_input(subject: MultiHead, case: ParameterCase, parts: Projections, x: NDArray) -> NDArray:
    """The input times the first power of two that makes some score `LARGE`; norms of heads may keep it from that."""
    scale = scale_of(subject.implementation.scale, case["d"])
    for power in range(8):
        q, k = (2.0**power * x @ parts.weights[p].T + parts.biases.get(p, 0.0) for p in "qk")
        q, k = (a.reshape(*a.shape[:2], -1, case["d"]) for a in (q, k))
        k = np.repeat(k, q.shape[2] // k.shape[2], axis=2)
        if np.abs(scale * np.einsum("bihd,bjhd->bhij", q, k)).max(initial=0.0) >= LARGE:
            break
    return np.asarray(2.0**power * x)


def biases_are_added_to_scaled_scores(subject: MultiHead, case: ParameterCase) -> None:
    """An additive mask may hold any number: it is added to the scores after their scaling.

    Formula: concat_h softmax(q_h k_h^T / sqrt(E/H) + b) v_h W_o + b_o
    Source: derivations/laws.md (constant-bias); relative positions and ALiBi come to a module as such masks
    Fault: bias_scaled_with_the_scores
    """
    mask = subject.mask(case, str(case.options["mask"]))
    if mask.form.kind != "additive":
        raise NotApplicable("the module takes no additive mask")
    drawn = case.rng("biases").choice([-2.0, -1.0, 0.5, 1.0], mask.pairs.shape)
    mask = replace(mask, pairs=np.where(mask.pairs, drawn, -np.inf))
    found, x = subject.recognise(case), subject.input(case)
    assert found.parts is not None
    want, bound = subject.truth(case, found.parts, x, mask.pairs)
    require_close(subject.module(case, found, x, mask=mask), want, bound, "output with a bias")


def evaluation_drops_nothing(subject: MultiHead, case: ParameterCase) -> None:
    """A module that is built to drop half of its weights drops none in evaluation mode.

    Formula: f_eval(x; p = 1/2) = concat_h softmax(q_h k_h^T / sqrt(E/H)) v_h W_o + b_o
    Source: torch's scaled_dot_product_attention drops in every mode (pytorch/pytorch#97397)
    Fault: dropped_in_every_mode
    """
    with built_to_drop(subject):
        found, x = subject.recognise(case), subject.input(case)
        assert found.parts is not None
        want, bound = subject.truth(case, found.parts, x)
        require_close(subject.module(case, found, x), want, bound, "output in evaluation mode, built with dropout")


def inputs_written_into_are_read_anew(subject: MultiHead, case: ParameterCase) -> None:
    """A call reads its arrays as they are then, also where an earlier call got the same arrays with other numbers.

    Its parameters are arrays, too, which an optimizer or `load_state_dict` writes into between two calls.

    Formula: f(y), then x's numbers into the arrays of y, then f(x)' = f(x); likewise for a context and for parameters
    Source: the definition of a function; projections of an encoder's tokens are kept while one text is decoded
    Fault: projections_kept_by_identity
    """
    contexts: list[Any] = [None]
    if subject.form.crosses and not subject.always_causal:
        contexts.append("context")
    for purpose in contexts:
        found, x, other = subject.prepare(case), subject.input(case), subject.input(case, "other")
        context, second = (
            None if purpose is None else subject.input(case, f"{purpose}{which}", case["n"] + 1) for which in ("", " 2")
        )
        inputs = [x] if context is None else [x, context]
        bound = (
            subject.rounding(case, found, *inputs)
            if found.parts is None
            else 2 * subject.truth(case, found.parts, x, context=context)[1]
        )
        plain = subject.module(case, found, x, context=context)
        first = replace(subject.make_request(case, found, other, context=second), instance=None, parameters=None)
        got = subject.module(case, found, x, context=context, earlier_=first)
        what = "output after the caller wrote other numbers into the arrays of the call before"
        require_same_later(got, plain, [], bound, what)
        require_parameters_anew(subject, case, context)


def require_parameters_anew(subject: MultiHead, case: ParameterCase, context: NDArray | None) -> None:
    """After two calls, parameters get other numbers, in their own memory; the third call is judged by its truth.

    Nothing else happens to the module between the calls: its mode is set once, before the first.
    """
    found, x = subject.prepare(case), subject.input(case)
    if found.parts is None:
        return
    first = subject.module(case, found, x, context=context)
    before = [first, subject.module(case, found, x, context=context, mode_=None)]
    changed = subject.with_other_numbers(case, found)
    assert changed.parts is not None
    want, bound = subject.truth(case, changed.parts, x, context=context)
    with after(before):
        got = subject.module(case, changed, x, context=context, mode_=None)
        require_close(got, want, bound, "output after a parameter was changed in place")


@contextmanager
def built_to_drop(subject: MultiHead) -> Iterator[None]:
    """Modules inside are built with dropout.

    Raises: NotApplicable where the constructor takes none.
    """
    form = subject.form
    construction = dropping(form.construction)
    if construction == form.construction:
        raise NotApplicable("the constructor is given no dropout")
    subject.form = replace(form, construction=construction)
    try:
        yield
    finally:
        subject.form = form


def dropping(construction: Construction) -> Construction:
    """The arguments of a constructor with `DROPPED` where they say how much is dropped.

    Example:
        >>> dropping(Construction((), {"dropout": 0.0, "bias": True})).names
        {'dropout': 0.5, 'bias': True}
    """
    rates = dict.fromkeys(DROPOUTS, DROPPED)
    names = {name: rates.get(name, value) for name, value in construction.names.items()}
    config = construction.config
    changed = replace(construction, names=names)
    if config is None:
        return changed
    values = {name: rates.get(name, value) for name, value in config.values.items()}
    return changed.with_config(Config(values, config.of, config.keyed))


ROW: dict[str, Any] = {"contract": CONTRACT, "family": "module_calls", "large": 16, "small": 0}
APART = Sizes({**RANGES, "m": (1, 7)}, dtypes=("float32",))
LAWS = (
    Law(options_end_with_their_call, space=TOKENS, **{**ROW, "large": 8}),
    Law(values_come_from_their_own_input, space=APART, **ROW, compares=True),
    Law(inputs_may_be_the_same_tensor, space=APART, **{**ROW, "large": 8}, compares=True),
    Law(large_scores_are_kept, space=replace(TOKENS, adjust=None), **ROW, compares=True),
    Law(biases_are_added_to_scaled_scores, space=replace(MASKED, adjust=None), **{**ROW, "large": 8}, compares=True),
    Law(inputs_written_into_are_read_anew, space=TOKENS, **{**ROW, "large": 6}),
    Law(evaluation_drops_nothing, space=replace(ANY, adjust=None), **{**ROW, "large": 6}, compares=True),
)
