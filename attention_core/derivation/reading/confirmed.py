r"""What was read of a document, confirmed by a person.

A report says what each undeclared symbol was read as, and quotes the words that may restrict it and were not read.
A person who has looked at both, and finds that the symbols are what they were read as and that nothing else restricts
them, may have that taken for declared: then a step that is false as it was read is false.

What no declaration could say stays open: forms that were read as symbols of their own, a step that uses its symbols in
another way than its section does, and how one symbol depends on another that it is differentiated by. So do the
conventions that the step may follow (see `decision.conventions`), and whether it defines a symbol or claims nothing
(see `decision.unclaimed`). Some names say more than a domain does, and stay undeclared: such a step is refuted only by
a slip (see `decision.slips`). These are

* values of functions that the document does not define, and words: `\text{km}`, `\|x\|_p`, `A \cup B`;
* marks that tie a symbol to another one of the step: a mean `\bar{x}` beside x, `\hat{y}`, `A^+`, `x'`;
* members of a sequence, by where they stand in it: `F_{n+1}`, and `T_n` beside n;
* the letter n or the like as a number, beside a sum that does not say how many terms it has: `\frac{1}{n} \sum_i x_i`;
* the imaginary unit and what differentiates;
* what an ended section gives a value, which the section of the step need not keep.

A symbol stays undeclared as well if a definition of it could not be read: `Put $p := \operatorname{entmax}(x)$`. Where
a declaration that could not be read relates symbols of the step, as in "Suppose $a < 0 < b$.", the step stays open.
"""

from __future__ import annotations

import re
from dataclasses import replace

from attention_core.derivation.inference.infer import inferred_names
from attention_core.derivation.inference.opaque import is_opaque
from attention_core.derivation.inference.usage import letter_of
from attention_core.derivation.latex.commands import unknown_command
from attention_core.derivation.latex.printer import all_names
from attention_core.derivation.reading.step import Step

_ACCENT = r"\\(?:bar|overline|hat|widehat|tilde|widetilde|dot|ddot|check|breve|acute|grave|mathring|vec)\{"
_SCRIPT = r"[_^](?:\{(?:[^{}]|\{[^{}]*\})*\}|[^{}\s])"
_PLAIN = re.compile(
    rf"(?:{_ACCENT})*(?:[a-zA-Z]|\\(?!text|operatorname|nabla|partial|dagger)[a-zA-Z]+(?:\{{\w\}})?)\}}*'*"
    rf"(?:{_SCRIPT})*'*"
)
_MARK = r"(?:'|\^\{?(?:[-+*'H]|\\\w+)\}?$)"
_MARKED = re.compile(
    rf"({_ACCENT})+(?P<base>\\?[a-zA-Z]+)\}}|(?P<of>\\?[a-zA-Z]+)(?:{_SCRIPT})*{_MARK}|(?P<power>\\?[a-zA-Z]+){_MARK}"
)
_SUBSCRIPT = re.compile(r"_(?:\{((?:[^{}]|\{[^{}]*\})*)\}|([a-zA-Z]))")
_SHIFTED = re.compile(r"[a-z]\s*[-+]|[-+]\s*[a-z]|\d\s*[a-z]\b")
_INDICES = re.compile(r"[i-n](?:\s*,?\s*[i-n])+")
_UNITS = frozenset("ij")  # of complex numbers; an index is none
_COUNTS = frozenset("nNmMTdDKBL")  # how many entries there are, where a sum does not say it
MOST_QUOTED = 3  # sentences that are set aside; of the others their number is given


def confirm_readings(step: Step) -> Step | None:
    """Take what a step was read as for all that its document says in words.

    Args:
        step: A step of a document that was read with inference.

    Returns:
        The step with its undeclared symbols declared and without the words around it that were not read; formulas in
        the prose are kept. None where its readings say too little.
    """
    if step.context.loose or step.strange or step.unread_words or _restricts_unread(step):
        return None
    context = step.context.copy()
    used = set(inferred_names(context, step.formulas()))
    if any(map(unknown_command, used)):  # `\\pm` is not a letter
        return None
    context.inferred = {name: text for name, text in context.inferred.items() if _says_more(step, name, used)}
    context.caveats = [one for one in context.caveats if one.formula]
    return replace(step, context=context)


_FORMULA = re.compile(r"(?<!\\)\$([^$]+)(?<!\\)\$")
_RELATION = re.compile(r"[=<>]|\\(?:[lg]eq?(?:slant)?|neq?)(?![A-Za-z])")


def _restricts_unread(step: Step) -> bool:
    """Whether a declaration that could not be read has a relation of symbols of a step: "Suppose $a < 0 < b$."."""
    used = {letter_of(one.rstrip("'")) for formula in step.formulas() for one in all_names(formula)}
    formulas = (one for failed in step.context.failed for one in _FORMULA.findall(failed.paragraph.text))
    related = (one for one in formulas if _RELATION.search(one))
    return any(re.search(rf"(?<![A-Za-z\\]){re.escape(name)}(?![A-Za-z])", one) for one in related for name in used)


def quote_set_aside(step: Step) -> str:
    """The sentences around a step that may restrict its symbols and were not read, '' if there are none.

    Args:
        step: The step.
    """
    used = {one.rstrip("'") for formula in step.formulas() for one in all_names(formula)}
    about = [one for one in step.context.caveats if not one.formula and (one.names is None or one.names & used)]
    about.sort(key=lambda one: (not one.plain, abs(one.line - step.line)))
    lines = {one.quote.strip(" .,:;"): one.line for one in reversed(about)}
    quoted = [f"'{quote}' (line {line})" for quote, line in reversed(lines.items())]
    more = f" and {len(quoted) - MOST_QUOTED} more" if len(quoted) > MOST_QUOTED else ""
    return ", ".join(quoted[:MOST_QUOTED]) + more


def _says_more(step: Step, name: str, used: set[str]) -> bool:
    """Whether the name of an undeclared symbol says more of it than the domain that it was read as."""
    if is_opaque(name) or not _PLAIN.fullmatch(name) or _is_defined_unread(step, name) or has_old_value(step, name):
        return True
    symbol = step.context.symbols.get(name)
    number = symbol is not None and symbol.kind == "array" and symbol.type is not None and symbol.type.scalar
    if name in _UNITS:
        return number
    if name in _COUNTS and number and _has_unwritten_size(step, used):
        return True
    marked = _MARKED.match(name)
    if marked and (marked["base"] or marked["of"] or marked["power"]) in {letter_of(one) for one in used - {name}}:
        return True
    for braced, letter in _SUBSCRIPT.findall(name):
        inside = braced or letter
        if (
            (inside in used and step.context.symbols[inside].kind != "index")
            or _SHIFTED.search(inside)
            or _INDICES.fullmatch(inside)
        ):
            return True
    return False


def _is_defined_unread(step: Step, name: str) -> bool:
    """Whether a definition of a symbol stands in a declaration that could not be read."""
    behind = r"\s*(?:_\s*(?:\w|\{[^{}]*\})|\([^()]*\))?\s*(?::=|=|\\coloneqq|\\equiv)"
    defines = re.compile(rf"(?<![A-Za-z\\]){re.escape(name)}{behind}")
    return any(defines.search(one.paragraph.text) for one in step.context.failed)


def has_old_value(step: Step, name: str) -> bool:
    """Whether a symbol is read with its value in a section that has ended, where this one may give it another.

    Args:
        step: The step.
        name: The name of a symbol.
    """
    ended = step.context.ended.get(name, (None, True))[0]
    kept = step.context.symbols.get(name)
    if ended is None or kept is None or name not in step.context.inferred:
        return False
    return kept.term is not None and kept.line == ended.line


def _has_unwritten_size(step: Step, used: set[str]) -> bool:
    r"""Whether a step rests on a size that no formula of it names, such as the n of `\sum_i x_i`."""
    known = step.context.symbols
    written = {name for formula in step.formulas() for name in all_names(formula)}
    return any(name in known and known[name].kind == "size" for name in used - written)


__all__ = ["confirm_readings", "has_old_value", "quote_set_aside"]
