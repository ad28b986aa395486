"""The first look at a module: a few cheap calls that find how it is built and called, before any law.

Names are read from signatures; where more than one form is possible (which result is the output, which kind and shapes
of masks) the calls tell: a form is taken where the output then agrees with the truth, and else the contract's own one.
What a module means (its polarity, causality, the place of its batch) is declared and never taken from what it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attention_core.conformance.modules.construction import narrow_config, read_construction
from attention_core.conformance.modules.filled_module import PROBE, Called, ModuleSubject, drawn_pairs
from attention_core.conformance.modules.form import KINDS, Construction, Form, Mask, MaskForm
from attention_core.conformance.modules.fused_roles import layout_by_roles
from attention_core.conformance.modules.gradients import is_forward_only
from attention_core.conformance.subjects.evidence import NotApplicable, Refused, Violation, excess
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import Request
from attention_core.declaration.aliases import CAUSAL, INPUTS, MASKS, ROTATION, SAYS_WEIGHTS, WEIGHTS
from attention_core.declaration.implementation import TargetError

CANDIDATES: Mapping[str, tuple[str, ...]] = {
    "pairs": ("shared", "by sequence", "rows", "keys", "wide keys"),
    "keys": ("keys", "wide keys"),
}
"""The shapes of masks that are tried by what the name of a parameter says, those that it should take first."""


def read_call(
    name: str, construction: Construction, parameters: Sequence[Mapping[str, Any]] | None, given: Mapping[str, Any]
) -> Form:
    """The form of a call by the names of a forward's parameters; `given` holds what `--arg` passes.

    Raises:
        TargetError: a parameter that has no default and gets no value.
    """
    plain = [p for p in parameters or () if not p["kind"].startswith("VAR_")]
    if not any(p["kind"] != "KEYWORD_ONLY" for p in plain):  # forward(*args, **options): the contract's own names
        return Form(construction)
    open_ended = any(p["kind"].startswith("VAR_") for p in parameters or ())
    inputs, places = read_inputs(plain)
    masks, required, others, causal, rotation = list[MaskForm](), list[str](), list[str](), "", ""
    for p in plain:
        own = p["name"]
        if own in inputs.values() or own in given:
            continue
        if own in MASKS:
            masks.append(MaskForm(own, CANDIDATES[MASKS[own]]))
            required += [] if p["default"] else [own]
        elif own in CAUSAL and not causal:
            causal = own
        elif own in ROTATION:
            rotation = own
        elif p["default"] or own in INPUTS:
            others.append(own)
        else:
            raise TargetError(
                f"the forward of {name} has the parameter {own!r} without a default, which is not known: "
                f"give --arg {own}=VALUE"
            )
    if len(plain) == 1 and open_ended:  # forward(x, **options): the contract's own names
        return Form(construction, inputs, places)
    return Form(
        construction, inputs, places, tuple(masks), tuple(required), causal, rotation, others=tuple(others)
    )  # fmt: skip


def read_inputs(plain: Sequence[Mapping[str, Any]]) -> tuple[dict[str, str], int]:
    """What the inputs are -> their names, and how many of them can go by place.

    The first parameter is the input, unless its name says that it is a key or a value. A context with a default is an
    input too, left out where a module attends to its own input.
    """
    inputs: dict[str, str] = {}
    for p in plain:
        role = INPUTS.get(p["name"], "" if inputs or p["default"] else "x")
        if role:
            inputs.setdefault(role, p["name"])
    if not inputs:
        inputs["x"] = plain[0]["name"]
    if {"key", "value"} <= inputs.keys():
        inputs = {("query" if role == "x" else role): own for role, own in inputs.items() if role != "context"}
    elif "query" in inputs:
        inputs["x"] = inputs.pop("query")
    if "x" not in inputs and "query" not in inputs:
        raise TargetError(f"no input among the parameters {', '.join(p['name'] for p in plain)} of its forward")
    names = [p["name"] for p in plain]
    inputs = dict(sorted(inputs.items(), key=lambda item: names.index(item[1])))
    places = 0
    for p, own in zip(plain, inputs.values(), strict=False):
        if p["name"] != own or p["kind"] == "KEYWORD_ONLY" or (p["default"] and places):
            break
        places += 1
    return inputs, places


UNALIGNED = ParameterCase({"B": 3, "n": 5, "H": 3, "d": 6}, seed=5)
"""Sizes that no power of two divides."""
STANDARD = ("shared", "by sequence")
"""The shapes in which this contract hands masks over: a module that takes one is judged on it."""
PARTS = (1.0, 0.5, 0.25)
"""The parts of a head that models rotate."""
CONVENTIONS: tuple[Mapping[str, Any], ...] = tuple(
    {**causal, **batch, **scale, **grouping}
    for grouping in ({}, {"grouping": "modular"})
    for scale in ({}, {"scale": "1"}, {"scale": "1/d"})
    for batch in ({}, {"batch_first": False})
    for causal in ({}, {"always_causal": True})
)
"""Changes of what is declared under which a plain call may agree with the truth, those of shared key heads last."""
DECLINED = (Refused, Violation, NotApplicable)


class MultiHead(ModuleSubject):
    """A multi-head factory in the form that the first look found."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.form = first_look(self)
        self.compares = False  # whether some output was compared with a truth


def first_look(subject: ModuleSubject) -> Form:
    """The form of a module; the contract's own where it cannot be built or called at all.

    Raises:
        TargetError: a parameter of the constructor, of its config or of the forward that gets no value.
    """
    implementation = subject.implementation
    construction = read_construction(implementation.name, subject.description, implementation.config)
    subject.form = Form(construction)
    described = subject.describe_call(subject.adapt_case(PROBE))
    if not described:
        refuse_unknown_settings(subject)
        return subject.form
    construction = narrow_config(construction, described.get("read", ()), bool(described.get("keyed")))
    form = read_call(implementation.name, construction, described.get("parameters"), implementation.arguments)
    sized = (
        one for one in _iterate_head_counts(form) if _answers(subject, one, PROBE) and _answers(subject, one, UNALIGNED)
    )
    subject.form = next(sized, form)
    subject.form = replace(subject.form, output=_output(subject))
    if construction.takes("H_kv"):
        grouped = replace(subject.form, grouped=True)
        subject.form = replace(grouped, grouped=_has_fewer_heads_of_keys(subject, grouped))
    if subject.form.rotation == "position_embeddings":
        subject.form = with_rotated_part(subject)
    agree(subject)
    with subject.under(subject.agrees or {}):
        masks = [_mask_form(subject, mask) for mask in subject.form.masks]
        flags = [own for own in subject.form.others if own in WEIGHTS and _asks_for_weights(subject, own)]
    masks = [mask for mask in masks if mask.shapes]
    return replace(subject.form, masks=tuple(masks), weights=flags[0] if len(flags) == 1 else "")


def _asks_for_weights(subject: ModuleSubject, flag: str) -> bool:
    """Whether a flag gives something of the weights' form beside the output of a plain call.

    A flag whose name may mean other things too has to give the weights of the heads, or their mean; what else it gives
    is declared, and then judged.
    """
    case = subject.adapt_case(PROBE)
    try:
        found, x = subject.recognise(case), subject.input(case)
        assert found.parts is not None
        others = subject.module(case, found, x, **{flag: True}).extra["response"].outputs[1:]
    except DECLINED:
        return False
    p, bound = subject.inside(case, found.parts, x, None, False, unit=True)
    for want, limit in ((p, bound), subject.average_heads(p, bound)):
        if len(others) == 1 and others[0].shape == want.shape:
            return flag in SAYS_WEIGHTS or bool(excess(others[0].values, want, limit).max(initial=0.0) <= 1)
    return False


def agree(subject: ModuleSubject) -> None:
    """Find the layout, and the fewest changes of what is declared, under which the plain call agrees."""
    subject.agrees = None
    probe = subject.grouped_probe() if subject.form.grouped else subject.adapt_case(PROBE)
    called: dict[bool, Called | None] = {}
    for changes in (one for one in CONVENTIONS if subject.form.grouped or "grouping" not in one):
        with subject.under(changes):
            if subject.batch_second not in called:
                called[subject.batch_second] = subject.plain_call(probe)
            layout = subject.agreeing_layout(probe, called[subject.batch_second])
            forward_only = layout is not None and is_forward_only(subject, probe)
        if layout is not None:
            subject.layout, subject.agrees = layout, {**changes, **({"gradients": False} if forward_only else {})}
            return
    subject.layout, subject.unseen = layout_by_roles(subject, probe)


def refuse_unknown_settings(subject: ModuleSubject) -> None:
    """Raise where the constructor reads a name of its config that has no value, with the option that gives one.

    Raises: TargetError.
    """
    built = subject.plan_instance(subject.adapt_case(PROBE), subject.fresh_instance())
    failure = subject.runner.run(Request(instance=built, describe=True)).failure
    if failure is not None and failure.types[0] == "UnknownSetting":
        name = failure.message.partition("'")[2].partition("'")[0]
        raise TargetError(f"{failure.message}: give --config {name}=VALUE")


def _iterate_head_counts(form: Form) -> Iterator[Form]:
    """The form for any number of heads, and for multiples of four."""
    yield form
    yield replace(form, multiple=4)


def _answers(subject: ModuleSubject, form: Form, case: ParameterCase) -> bool:
    """Whether a plain call of a form gives anything."""
    before, subject.form = subject.form, form
    try:
        case = subject.adapt_case(case)
        subject.send(subject.make_request(case, subject.fill(case), subject.input(case)))
    except DECLINED:
        return False
    finally:
        subject.form = before
    return True


def with_rotated_part(subject: ModuleSubject) -> Form:
    """The form with the widest (cos, sin) that a call takes.

    Some models turn the first half or quarter of each head alone. The probe's heads are so large that a quarter of them
    is more than one number, which would broadcast to any width.
    """
    forms = [replace(subject.form, rotated=part) for part in PARTS]
    return next((one for one in forms if _answers(subject, one, PROBE.with_(d=8))), subject.form)


def _has_fewer_heads_of_keys(subject: ModuleSubject, form: Form) -> bool:
    """Whether a module of fewer key heads can be called, and has other weights than one of as many as query heads."""
    case = subject.grouped_probe()
    if not _answers(subject, form, case):
        return False
    few, many = (subject.fill(one).values for one in (case, case.with_(H_kv=case["H"])))
    return {n: v.shape for n, v in few.items()} != {n: v.shape for n, v in many.items()}


def _output(subject: ModuleSubject) -> int:
    """The first result of the output's shape; 0 where there is none."""
    case = subject.adapt_case(PROBE)
    x = subject.input(case)
    try:
        outputs = subject.send(subject.make_request(case, subject.fill(case), x)).outputs
    except DECLINED:
        return 0
    shape = tuple(subject.to_target_axes(x).shape)
    return next((i for i, out in enumerate(outputs) if out.shape == shape), 0)


def _mask_form(subject: ModuleSubject, mask: MaskForm) -> MaskForm:
    """The kind and shapes of one mask parameter: those with which a call agrees with the truth.

    A bool mask that means the reverse is a bool mask: its polarity is declared, and an additive mask, of which 0
    allows, must not explain it. Shapes of the contract that a call takes belong to it, whatever it makes of them.
    Where nothing agrees, the first shape that is taken stays, to be judged.
    """
    declared = subject.implementation.masks
    for kind in (declared,) if declared in KINDS else KINDS:
        own = replace(mask, kind=kind)
        for true in polarities(subject.implementation.mask_true, kind):
            with subject.under({"mask_true": true}):
                agreed = [shape for shape in mask.shapes if _judge(subject, own, shape)]
            if agreed:
                if true != subject.implementation.mask_true:
                    subject.agrees = {**(subject.agrees or {}), "mask_true": true}
                taken = [s for s in mask.shapes if s in agreed or _is_judged(subject, own, s)]
                return replace(own, shapes=tuple(taken))
    own = replace(mask, kind=declared if declared in KINDS else KINDS[0])
    taken = [shape for shape in mask.shapes if shape in STANDARD and _is_taken(subject, own, shape)]
    taken = taken or [shape for shape in mask.shapes if _is_taken(subject, own, shape)][:1] or [mask.shapes[0]]
    return replace(own, shapes=tuple(taken))


def polarities(declared: str, kind: str) -> tuple[str, ...]:
    """What True may mean, the declared first; an additive mask has one meaning."""
    other = "attend" if declared == "ignore" else "ignore"
    return (declared,) if kind == "additive" else (declared, other)


def _is_judged(subject: ModuleSubject, form: MaskForm, shape: str) -> bool:
    """Whether a mask of a shape belongs to a module that makes something else of it.

    The contract's own shapes do. (B, n, n), too, where it is taken beside another number of heads: it does not
    broadcast to (B, H, n, n) then, so the module spreads it over the heads itself.
    """
    return (shape in STANDARD and _is_taken(subject, form, shape)) or (
        shape == "rows" and _judge(subject, form, shape) is not None
    )


def _is_taken(subject: ModuleSubject, form: MaskForm, shape: str) -> bool:
    """Whether a mask of a shape is taken, perhaps only where there are as many sequences as heads.

    One on the wrong axis then fits, and is judged.
    """
    case = subject.adapt_case(PROBE)
    return any(_judge(subject, form, shape, one) is not None for one in (case, case.with_(B=case["H"])))


def _judge(subject: ModuleSubject, form: MaskForm, shape: str, case: ParameterCase | None = None) -> bool | None:
    """Whether a masked call agrees with the truth; None where it is declined."""
    case = case or subject.adapt_case(PROBE)
    mask = Mask(drawn_pairs(case, shape), form, shape)
    try:
        found = subject.fill(case)
        got = subject.module(case, found, subject.input(case), mask=mask).values
    except DECLINED as error:  # a call that changes its arguments was not declined: laws refute it
        return False if isinstance(error, Violation) and error.evidence.kind == "mutated" else None
    try:
        parts = subject.parts(case, found)
    except NotApplicable:
        return False
    want, bound = subject.truth(case, parts, subject.input(case), mask.pairs)
    return bool(excess(got, want, bound).max(initial=0.0) <= 1)
