r"""What a step may still depend on: hypotheses that were not read, other conventions, and other kinds of symbols.

REFUTED says that a step is false as its author means it. So it is the verdict only if nothing in its scope that may
restrict its symbols was passed over, and no convention in use makes it true.

Steps that define a symbol or restrict it: `k = 2 q` or `A x = b` where nothing is known of k and b.

"For all k and q, k = 2 q" is not a claim that an author makes. Where nothing else determines k, such a display
defines it, or is an equation that restricts it, whatever the words around it say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from attention_core.derivation.claims import find_claim
from attention_core.derivation.decision.agreement import NO_CASE
from attention_core.derivation.decision.by_entries import find_entries_meant
from attention_core.derivation.decision.conventions import (
    EINSTEIN,
    collect_symbols,
    doubtful,
    find_bold_constant,
    has_read_side,
    other_norms,
    readings,
    softmax_of_columns,
)
from attention_core.derivation.decision.counted_ends import name_count
from attention_core.derivation.decision.ended_values import find_ended_value
from attention_core.derivation.decision.groupings import regroup, usual_reading
from attention_core.derivation.decision.held_fixed import find_varying
from attention_core.derivation.decision.interval_events import find_order_of_ends
from attention_core.derivation.decision.number_arrays import has_array
from attention_core.derivation.decision.open_indices import find_meant_indices
from attention_core.derivation.decision.other_arithmetics import equates_numbers, may_hold_otherwise
from attention_core.derivation.decision.other_intents import find_other_integrals, is_denied, is_posed
from attention_core.derivation.decision.other_kinds import quote_words
from attention_core.derivation.decision.other_meanings import find_other_numbers
from attention_core.derivation.decision.other_notations import name_notation
from attention_core.derivation.decision.other_pi import weigh_letter_pi
from attention_core.derivation.decision.out_of_date import find_newer_value, find_other_value
from attention_core.derivation.decision.rounded_entries import name_rounding
from attention_core.derivation.decision.solved_nearby import name_solution
from attention_core.derivation.decision.usual import (
    VAGUE,
    find_claim_beside,
    fixes_what_moves,
    meant_by_words,
    operations_of,
    words_of,
)
from attention_core.derivation.decision.words_of_numbers import (
    ROUNDS,
    find_singled_place,
    find_unread_words,
    may_be_of_numbers,
    names_numbers,
)
from attention_core.derivation.decision.zero_based import count_from_zero
from attention_core.derivation.elaborate.hypotheses import relations_of
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.latex.printer import all_names, symbol_name, to_latex
from attention_core.derivation.latex.syntax import Expr, Group, Name, Sub, Times, Unreadable
from attention_core.derivation.reading.any_function import is_any_function
from attention_core.derivation.reading.repeated_indices import sum_repeats
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.withdrawals import drop_ended_assumptions, without_older
from attention_core.derivation.records import GOOD, Evidence, Finding, Verdict
from attention_core.derivation.terms.context import Caveat, Symbol
from attention_core.derivation.terms.terms import Relation, ShapeMismatch
from attention_core.derivation.words.caveats import chains_of
from attention_core.derivation.words.inert import OF_DIGITS, OF_UPDATES
from attention_core.derivation.words.roles import is_weights
from attention_core.derivation.words.vocabulary import advice_for

_KINDS = ("size", "index", "array", "family")


def restriction(step: Step) -> str:
    """What to write for a step that reads as a definition or an equation, '' for a claim."""
    if step.restricts:
        return (
            f"it reads as a hypothesis on a line of its own: write 'Assume ${_formula(step)}$', or lead to it with "
            "words that claim it, as in 'Hence'"
        )
    if step.chained or step.op != "=":
        return ""
    for side, other in ((step.left, step.right), (step.right, step.left)):
        name = _free_symbol(step, side, other) or _free_function(step, side, other)
        if not name:
            continue
        return (
            f"it reads as a definition of {name} or an equation that restricts it: write "
            f"'Put ${to_latex(side)} := {to_latex(other)}$', or declare it as a hypothesis, 'Assume ${_formula(step)}$'"
        )
    return ""


def _free_function(step: Step, side: Expr, other: Expr) -> str:
    """The function that is only known to be differentiable, if a side is a value of it and the other has none."""
    if not isinstance(side, Times) or len(side.factors) != 2 or not isinstance(side.factors[1], Group):
        return ""
    name = symbol_name(side.factors[0]) or ""
    known = step.context.symbols.get(name)
    others = {one.rstrip("'") for one in all_names(other)}
    return name if known is not None and is_any_function(known) and name.rstrip("'") not in others else ""


def _formula(step: Step) -> str:
    return step.text.rsplit(r"\implies ", 1)[-1]


def _free_symbol(step: Step, side: Expr, other: Expr) -> str:
    """The symbol that a side is, or is an entry of, if nothing but its shape is known and the other side lacks it."""
    if not isinstance(side, Name | Sub):
        return ""
    known = step.context.symbols
    base: Expr = side
    name = symbol_name(base)
    while name not in known:
        if not isinstance(base, Sub):
            return ""
        base = base.base
        name = symbol_name(base)
    symbol = known[name]
    given = {n for chain, conditions in step.assumed for c in (chain, *conditions) for n in all_names(c)}
    tied = name in given or any(name in h.mentions for h in step.context.hypotheses)
    defined = not symbol.whole and (symbol.kind not in _KINDS or symbol.term is not None)
    if defined or symbol.law is not None or tied:
        return ""
    reached = _reach(step, other)
    if isinstance(side, Sub) and symbol_name(side) not in known and not reached & set(known):
        return ""  # `v_1 = 0` says something of v
    return "" if name in reached else name


def _reach(step: Step, side: Expr) -> set[str]:
    """The symbols that a side depends on: those it mentions, their sizes and what defines them."""
    known = step.context.symbols
    found, fresh = set(all_names(side)), set(all_names(side))
    while fresh:
        fresh = {m for n in fresh if n in known for m in known[n].mentions} - found
        found |= fresh
    return found


Decide = Callable[[Step, Sequence[Relation]], Finding]
_SHAPES = ("shapes", "size", "square", "dimension", "width", "length", "rows", "columns")
_ALIKE = re.compile(r"a \S+ x \S+ matrix and a \S+ x \S+ matrix|a (column|row) of \S+ and a \1 of")
MAX_TRIED = 8  # relations of the prose that are tried as hypotheses


def reconsider(step: Step, found: Finding, decide: Decide, slip: bool = False) -> Finding:
    """The finding, or UNDECIDED where a step is found false that may hold as its author means it.

    Args:
        step: The step.
        found: What was found as the step was read.
        decide: Decides a step under some more hypotheses.
        slip: Whether one change makes it an identity (see `slips`).
    """
    expected = step.option("expect") == "refuted"
    if found.verdict in (*GOOD, Verdict.REFUTED) and not expected:
        found = weigh_letter_pi(step, found, decide)
    if found.verdict in GOOD:
        if not expected and (message := _find_other_basis(step, decide)):
            return _withhold_verdict(found, message)
        return _without_law(step, _check_endings(step, _otherwise_usual(step, found, decide), decide))
    if found.verdict is Verdict.VACUOUS:
        return _unless_cases(step, found, decide)
    if found.verdict is not Verdict.REFUTED:
        return found if expected else _without_witness(step, found, decide)
    message = "" if expected else _find_other_role(step, found, decide)
    if message:
        return _withhold_verdict(found, message)
    meant_of = "" if expected else find_meant_indices(step, decide, slip)
    if meant_of:
        return _name_reading(found, "it holds", f"for ${meant_of}$ alone: say for which indices it is meant")
    other = None if expected else _without_ends(step, found, decide) or _other_reading(step, found, decide)
    if other is not None:
        return other
    message = "" if expected else _restriction(step, found)
    if message:
        return _withhold_verdict(found, message)
    left = _under_caveats(step, found, decide, expected)
    if left.verdict is not Verdict.REFUTED or expected:
        return left
    numbers = not collect_symbols(step)
    if numbers and not step.context.claims_all and has_array(step) and (words := find_singled_place(step)):
        return _withhold_verdict(found, quote_words(words, "the numbers"))
    unsaid = numbers and step.context.formal is None
    if numbers and (notation := _name_notation(step)):
        return _withhold_verdict(found, notation)
    if unsaid and may_hold_otherwise(step) and (words := find_other_numbers(step) or find_unread_words(step)):
        return _withhold_verdict(found, quote_words(words, "the numbers"))
    if step.context.formal is not None and (claim := find_claim_beside(step, decide)):
        message = f"it may be the condition of ${claim}$ beside it: write 'Assume ${_formula(step)}$'"
        return _withhold_verdict(found, message)
    meant = None if found.counterexample is None else meant_by_words(step, decide, slip)
    return left if meant is None else _withhold_verdict(found, words_of(meant))


def _name_notation(step: Step) -> str:
    """What to say of numbers, or of integrals, that may be written in another way."""
    words = find_other_integrals(step)
    other = quote_words(words, "the integrals") if words is not None else ""
    return name_notation(step) or name_count(step) or name_rounding(step) or other


def _find_other_role(step: Step, found: Finding, decide: Decide) -> str:
    """What a false step may be instead of a claim of all values: of one entry, of a new value, or to be solved."""
    message = _one_entry(step, found) or find_entries_meant(step, found)
    message = message or find_bold_constant(step) or find_newer_value(step, decide)
    message = message or find_order_of_ends(step, decide)
    return message or ("" if step.context.claims_all else name_solution(step, decide))


def _without_witness(step: Step, found: Finding, decide: Decide) -> Finding:
    """The finding, or that a step holds whatever is assumed, where no case of the hypotheses was found."""
    if NO_CASE not in found.evidence.text or not step.context.hypotheses:
        return found
    context = step.context.copy()
    context.hypotheses = []
    try:
        other = decide(replace(step, context=context), ())
    except (Unreadable, ShapeMismatch, Unsettled):
        return found
    return other if other.verdict in GOOD else found


def _find_other_basis(step: Step, decide: Decide) -> str:
    """What a step that holds may not rest on: a value that was replaced or has ended, or one that is held fixed."""
    return find_other_value(step, decide) or find_varying(step) or find_ended_value(step, decide)


def _otherwise_usual(step: Step, found: Finding, decide: Decide) -> Finding:
    """The finding that a step holds, or UNDECIDED where it is false as everybody else reads it."""
    usual = usual_reading(step) or other_norms(step) or softmax_of_columns(step) or count_from_zero(step)
    if usual is None:
        return found
    words, other = usual
    try:
        verdict = decide(other, ()).verdict
    except ShapeMismatch:
        return found  # no author reads it this way
    except (Unreadable, Unsettled):
        verdict = Verdict.UNDECIDED
    if verdict in GOOD:
        return found
    if verdict is Verdict.REFUTED:
        return _name_reading(found, "it is false", words)
    return _withhold_verdict(found, f"it may be false {words}")


def _check_endings(step: Step, found: Finding, decide: Decide) -> Finding:
    """The finding that a step holds, or UNDECIDED where it rests on what a sentence above may have taken back."""
    ended = drop_ended_assumptions(step.context, collect_symbols(step))
    if ended is None or found.verdict not in GOOD:
        return found
    context, one = ended
    try:
        if decide(replace(step, context=context), ()).verdict in GOOD:
            return found
    except (Unreadable, ShapeMismatch, Unsettled):
        pass
    return _withhold_verdict(
        found,
        f"line {one.line} may take back what is assumed there or above ('{one.quote}'), and the step was not found to "
        "hold without: give each case a heading of its own, or declare the symbol anew: 'Let $x \\in \\mathbb{R}$.'",
    )


def _unless_cases(step: Step, found: Finding, decide: Decide) -> Finding:
    """The finding that nothing satisfies the hypotheses, or UNDECIDED where some may have ended."""
    names = collect_symbols(step)
    if (ended := drop_ended_assumptions(step.context, names)) is not None:
        wider, one = ended
        without = replace(step, context=wider)
        free = not any(kept.mentions & names for kept in wider.hypotheses)
        if (verdict := _verdict_of(without, decide)) in GOOD and free:
            return decide(without, ())
        if verdict is not Verdict.VACUOUS:
            return _withhold_verdict(found, f"line {one.line} may end what is assumed there or above ('{one.quote}')")
    newest = max((one.line for one in step.context.hypotheses if one.mentions & names), default=0)
    newest = step.line if step.assumed or step.conditions else newest
    between = max((one.line for one in step.peers if one.line < min(newest, step.line)), default=0)
    context = without_older(step.context, between, names)
    if context is None:
        return found
    try:
        other = decide(replace(step, context=context), ())
    except (Unreadable, ShapeMismatch, Unsettled):
        return found
    if other.verdict is Verdict.VACUOUS:
        return found
    return _withhold_verdict(
        found,
        f"what is assumed above line {between} cannot hold beside what is assumed below: if another case begins there, "
        "give each case a heading of its own",
    )


def _restriction(step: Step, found: Finding) -> str:
    """What a step reads as that is not a claim; shapes that do not fit are wrong in any reading."""
    if found.counterexample is None and "shapes do not fit" in found.evidence.text:
        return ""
    if step.context.formal is not None and not step.context.claims_all and (words := _claims_nothing(step)):
        return words
    return "" if step.context.claims_all and not has_read_side(step) else restriction(step)


def _claims_nothing(step: Step) -> str:
    """What to say of a step that its author may not claim, where only a reader promises that he does; '' elsewhere."""
    if is_posed(step):
        return (
            "the words above it may pose it as an equation, or define something by it: it claims nothing then; "
            f"if it is a hypothesis, write 'Assume ${_formula(step)}$'"
        )
    unread = any(not one.formula for one in step.context.caveats)
    if unread and not step.chained and not step.assumed and _assigns(step):
        return f"it may give {to_latex(step.left)} a new value, beside words that were not read: write := if it does"
    return ""


def _one_entry(step: Step, found: Finding) -> str:
    """What to say of shapes that do not fit where a size is 1, so that an array may have one entry; '' elsewhere."""
    if found.counterexample is not None or "shapes do not fit" not in found.evidence.text:
        return ""
    chains = [*(chain for chain, _ in step.assumed), *step.conditions]
    formulas = [to_latex(one) for one in chains] + [one.text for one in step.context.hypotheses]
    names = {match[1] or match[2] for one in formulas if (match := _IS_ONE.match(one))}
    name = next((n for n in sorted(names) if n in step.context.symbols and step.context.symbols[n].kind == "size"), "")
    return name and f"at {name} = 1 an array of {name} entries may be meant as a number: write that entry, as in $x_1$"


_IS_ONE = re.compile(r"^\s*(?:(\S+)\s*=\s*1|1\s*=\s*(\S+))\s*$")


def _withhold_verdict(found: Finding, reason: str) -> Finding:
    return Finding(
        Verdict.UNDECIDED, Evidence(f"{reason}; as it was read, {found.evidence.text}", found.evidence.figures)
    )


def _without_ends(step: Step, found: Finding, decide: Decide) -> Finding | None:
    """UNDECIDED where a step holds as those mean its words who leave out the ends of what they say; None if not."""
    names = collect_symbols(step)
    open_ = [(h.text, h.narrower) for h in step.context.hypotheses if h.narrower is not None and h.mentions & names]
    if not open_:
        return None
    try:
        verdict = decide(step, [narrower for _, narrower in open_]).verdict
    except (Unreadable, ShapeMismatch, Unsettled):
        verdict = Verdict.UNDECIDED
    if verdict is Verdict.REFUTED:
        return None
    return _withhold_verdict(found, f"it may hold without the ends of {open_[0][0]}: write what is meant as a formula")


def _other_reading(step: Step, found: Finding, decide: Decide) -> Finding | None:
    """AMBIGUOUS where a refuted step holds in another reading, UNDECIDED where it may; None if it is false in all."""
    claim = find_claim(step)
    if (summed := sum_repeats(step)) is not None:
        verdict = _verdict_of(summed, decide)
        if verdict in GOOD:
            return _name_reading(found, "it holds", EINSTEIN)
        if verdict is not Verdict.REFUTED:
            return _withhold_verdict(found, f"it may hold {EINSTEIN}")
    doubt = "" if summed is not None else doubtful(step, claim, found.counterexample)
    if doubt:
        return _withhold_verdict(found, f"it may hold {doubt}")
    conventions = ((words, replace(step, context=context)) for words, context in readings(step, claim))
    counted = count_from_zero(step)
    for words, one in (*conventions, *regroup(step), *([counted] if counted else [])):
        try:
            verdict = decide(one, ()).verdict
        except (Unreadable, ShapeMismatch):
            continue
        except Unsettled:
            verdict = Verdict.UNDECIDED
        if verdict in GOOD:
            return _name_reading(found, "it holds", words)
        if verdict is Verdict.UNDECIDED:
            return _withhold_verdict(found, f"it may hold {words}")
    return None


def _verdict_of(step: Step, decide: Decide) -> Verdict:
    """The verdict on a step in another reading; one whose shapes do not fit is false in it."""
    try:
        return decide(step, ()).verdict
    except ShapeMismatch:
        return Verdict.REFUTED
    except (Unreadable, Unsettled):
        return Verdict.UNDECIDED


def _name_reading(found: Finding, verdict: str, words: str) -> Finding:
    """AMBIGUOUS: the verdict is another one in another reading."""
    withheld = _withhold_verdict(found, f"{verdict} {words}")
    figures = {**withheld.evidence.figures, "reading": words}
    return replace(withheld, verdict=Verdict.AMBIGUOUS, evidence=replace(withheld.evidence, figures=figures))


def _under_caveats(step: Step, found: Finding, decide: Decide, expected: bool) -> Finding:
    names = collect_symbols(step)
    about = _choose_caveats(step, found, names, expected)
    tried: list[tuple[Caveat, list[Relation]]] = []
    unread: list[Caveat] = []
    made = operations_of(step)
    if any(is_weights(step.context, name) for name in names & set(step.context.symbols)):
        made |= {"softmax"}  # "attention weights" says nothing new
    if not any(_is_free_square(step.context.symbols[name]) for name in names & set(step.context.symbols)):
        made |= {"deriv"}  # nothing here may be the Jacobian or the Hessian
    strange = [one for one in about if _matters(step, one, bool(names)) and not one.made_by & made]
    for one in about:
        if one.words or one.maybe or one.whole or one.value or _says_the_same(step, one):
            continue
        relations = _relations(step, one)
        if relations is None or len(tried) == MAX_TRIED:
            unread.append(one)
        else:
            tried.append((one, relations))
    for one, relations in [*tried, *([_join_relations(step, tried, decide)] if len(tried) > 1 else [])]:
        try:
            other = decide(step, relations)
        except (Unreadable, ShapeMismatch, Unsettled):
            return _withhold_verdict(found, _unread(one))
        if other.verdict is Verdict.VACUOUS and one.formula:  # it may begin another case
            context = without_older(step.context, one.line, one.names or frozenset())
            other = other if context is None else decide(replace(step, context=context), relations)
        if other.verdict in GOOD or other.verdict is Verdict.UNDECIDED:
            holds = "holds" if other.verdict in GOOD else "may hold"
            return _withhold_verdict(
                found,
                f"it {holds} under ${one.formula}$ (line {one.line}: '{one.quote}'), which was not assumed here: "
                f"write 'Assume ${one.formula}$' above the display, or '% assume: {one.formula}' above the step",
            )
    if unread:
        return _withhold_verdict(found, _unread(unread[0]))
    return _withhold_verdict(found, _strange(step, strange[0])) if strange else found


def _join_relations(
    step: Step, tried: list[tuple[Caveat, list[Relation]]], decide: Decide
) -> tuple[Caveat, list[Relation]]:
    """All relations that were tried as one hypothesis, with all their formulas; those that are not needed left out."""

    def holds(some: list[tuple[Caveat, list[Relation]]]) -> bool:
        try:
            return decide(step, [r for _, relations in some for r in relations]).verdict in GOOD
        except (Unreadable, ShapeMismatch, Unsettled):
            return False

    kept = list(tried)
    for one in tried if holds(tried) else ():
        rest = [other for other in kept if other is not one]
        kept = rest if len(rest) > 1 and holds(rest) else kept
    formulas = dict.fromkeys(one.formula for one, _ in kept)
    return replace(kept[-1][0], formula=", ".join(formulas)), [r for _, relations in kept for r in relations]


def _choose_caveats(step: Step, found: Finding, names: frozenset[str], expected: bool) -> list[Caveat]:
    """The caveats that are about a step; what is said of a function may be about its derivatives."""
    names |= {name.rstrip("'") for name in names}
    about = [c for c in step.context.caveats if not c.ends and (c.names is None or c.names & names)]
    about = [c for c in about if not fixes_what_moves(step, c.formula, c.line)]
    if not names and not is_denied(step):
        closed = not may_hold_otherwise(step)
        about = [c for c in about if (equates_numbers(c) if closed else may_be_of_numbers(step, c))]
    if expected or step.context.formal is not None:
        kept = () if expected else [c for c in about if _is_of_digits(c, bool(names))]
        about = [c for c in about if c.plain or (c.written and not expected and not _is_past(step, c))]
        about += [replace(c, whole=False) for c in kept if not c.plain and not c.written]
    if found.counterexample is None and "shapes do not fit" in found.evidence.text:
        alike = bool(_ALIKE.search(found.evidence.text))  # then words may make sizes equal
        about = [c for c in about if c.whole or (alike and c.words) or any(word in c.quote.lower() for word in _SHAPES)]
    return about


def _is_past(step: Step, caveat: Caveat) -> bool:
    """Whether all that a caveat is about was declared anew below it."""
    known = step.context.symbols
    return bool(caveat.names) and all(n in known and known[n].line > caveat.line for n in caveat.names or ())


def _is_free_square(symbol: Symbol) -> bool:
    """Whether a symbol is a square matrix that no definition gives."""
    kind = symbol.type
    return symbol.term is None and kind is not None and kind.kind == "matrix" and kind.rows == kind.cols


def _matters(step: Step, caveat: Caveat, symbols: bool) -> bool:
    """Whether words that were not read can matter here: some concern assignments alone, some steps without symbols."""
    if caveat.whole or (symbols and caveat.words) or (caveat.value and _has_constant_side(step)):
        return True
    if any(OF_UPDATES.fullmatch(word) for word in caveat.maybe) and _assigns(step):
        return True
    digits = any(OF_DIGITS.fullmatch(word) for word in caveat.maybe)
    return not symbols and (digits or any(names_numbers(word) for word in caveat.words))


def _is_of_digits(caveat: Caveat, symbols: bool) -> bool:
    """Whether words say how numbers are written, on which a step without symbols depends: no hypothesis says that."""
    return not symbols and any(ROUNDS.fullmatch(word) for word in caveat.words)


def _has_constant_side(step: Step) -> bool:
    """Whether a side of a step mentions no symbol, as in "The gradient is: g = 0", which may set a condition."""
    return not all(all_names(side) & set(step.context.symbols) for side in (step.left, step.right))


def _assigns(step: Step) -> bool:
    """Whether a step may be an assignment: one symbol stands alone on the left, and on the right as well."""
    claim = find_claim(step)
    if claim is None or claim.op != "=":
        return False
    place = claim.left
    while place.op in ("entry", "member") and place.args and place.args[0].op in ("leaf", "member"):
        place = place.args[0]
    return place.op in ("leaf", "member", "int") and any(
        part.op == place.op and part.data == place.data for part in claim.right.walk()
    )


def _strange(step: Step, caveat: Caveat) -> str:
    open_words = caveat.words or caveat.maybe
    words = ", ".join(f"'{word}'" for word in open_words) or "a sentence"
    were = "were" if len(open_words) > 1 else "was"
    promise = "; if no words here restrict anything, write 'All hypotheses are declared as formulas.' above"
    promise = promise if step.context.formal is None else ""  # it was promised, and these words count all the same
    said = f"{words} {were} not read (line {caveat.line}: '{caveat.quote}')"
    return f"{said}: if this is a hypothesis, {advice_for(caveat.quote)}{promise}"


def _unread(caveat: Caveat) -> str:
    return f"a hypothesis was not read (line {caveat.line}): '{caveat.quote}'; {advice_for(caveat.quote)}"


def _relations(step: Step, caveat: Caveat) -> list[Relation] | None:
    """The relation of a caveat as hypotheses, None where it cannot be one."""
    if not caveat.formula:
        return None
    try:
        chains = chains_of(caveat.formula, caveat.line)
        if any(op in VAGUE for chain in chains for op in chain.ops):
            return None
        return [r for chain in chains for r in relations_of(step.context.copy(), chain, [], caveat.line)] or None
    except (Unreadable, ShapeMismatch, RecursionError):
        return None


def _says_the_same(step: Step, caveat: Caveat) -> bool:
    """Whether a relation of the prose is the step itself: "We show that $a = b$." above it."""
    if not caveat.formula or caveat.plain:  # meant as an assumption
        return False
    try:
        (chain,) = chains_of(caveat.formula, caveat.line)
    except (Unreadable, RecursionError, ValueError):
        return False
    sides = [to_latex(side) for side in chain.exprs]
    apart = caveat.line != step.line or step.context.formal is not None
    return apart and chain.ops == (step.op,) and sides == [to_latex(step.left), to_latex(step.right)]


def _without_law(step: Step, found: Finding) -> Finding:
    """UNDECIDED for an average of a symbol whose law stands in words that were not read."""
    caveats = [c for c in step.context.caveats if c.random and (c.plain or step.context.formal is None)]
    if not caveats:
        return found
    claim = find_claim(step)
    if claim is None:
        return found
    averaged = [p.args[0] for side in (claim.left, claim.right) for p in side.walk() if p.op == "expect"]
    known = step.context.symbols
    inside = {str(p.data) for body in averaged for p in body.walk() if p.op in ("leaf", "member")} & set(known)
    fixed = {n for n in inside if known[n].law is None}
    for one in caveats:
        alone = one.plain or fixed == inside
        if alone and fixed & (collect_symbols(step) if one.names is None else one.names):
            return _withhold_verdict(found, f"{_unread(one)}; {sorted(fixed)[0]} has no law that was read")
    return found
