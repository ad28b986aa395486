"""The findings of a first look at a module, in words and as what can be declared."""

from __future__ import annotations

from typing import Any

from attention_core.conformance.first_look.findings import FirstLook
from attention_core.conformance.modules.form import Config, Construction, Form, Size
from attention_core.conformance.modules.look import MultiHead


def findings(subject: MultiHead) -> FirstLook:
    """What the first look at a module found."""
    form, changes = subject.form, subject.agrees
    lines = [f"built as {construction_text(form.construction)}, called as {form.call()}"]
    lines += [f"masks: {'; '.join(mask.describe() for mask in form.masks)}"] if form.masks else []
    lines += [f"gives its weights where {form.weights} asks for them"] if form.weights else []
    lines += describe_options(form)
    if form.others:
        lines.append(f"left at their defaults: {', '.join(form.others)}")
    found = subject.fields_of(changes or {})
    return FirstLook(tuple(lines), found, changes is not None, "", subject.calls)


def construction_text(construction: Construction) -> str:
    """The constructor's arguments, sizes by their letters.

    Example:
        >>> construction_text(Construction(names={"dropout": 0.0}))
        'f(E, H, dropout=0.0)'
    """
    names = [f"{k}={_text(v)}" for k, v in construction.names.items()]
    return f"f({', '.join([*map(_text, construction.places), *names])})"


def _text(argument: Any) -> str:
    if isinstance(argument, Size):
        return argument.name
    if isinstance(argument, Config):
        values = ", ".join(f"{k}={_text(v)}" for k, v in argument.values.items())
        return f"{argument.of.partition(':')[2] or 'config'}({values})"
    return repr(argument)


def describe_options(form: Form) -> list[str]:
    """One line on what else is known of the form."""
    facts = []
    if form.output:
        facts.append(f"result {form.output} is the output")
    if form.grouped:
        facts.append("fewer heads of keys are accepted, and judged")
    if form.multiple > 1:
        facts.append(f"heads are multiples of {form.multiple}")
    if form.rotation:
        how = "all 0" if form.rotation == "position_ids" else "cos 1, sin 0"
        how += f", as wide as {form.rotated:g} of a head" if form.rotated < 1 else ""
        facts.append(f"{form.rotation} turns nothing ({how}), so the rotation is not judged")
    return ["; ".join(facts)] if facts else []
