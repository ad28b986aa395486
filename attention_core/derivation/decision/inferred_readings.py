r"""Other readings of a step whose symbols are not declared.

Nothing is refuted by an inferred reading alone (see `slips`). Where a step is false by it, or its shapes do not fit,
and it holds as another author may mean it, it is AMBIGUOUS, and the message says which reading makes it true: a letter
that only its formula made a vector is a number that is added to every entry ($\operatorname{softmax}(x + c)$), a small
letter is a vector, letters of matrices are numbers, or a convention is another one (gradients as rows).

Where a step is true by the inferred reading and false by another one that the document allows, it is AMBIGUOUS too: T
and L of $T L = L T$ may be matrices, and the m of $\sqrt{m} \le m$ need not be a whole number. The document allows a
reading if little speaks for the first one, and every step that fitted still fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from attention_core.derivation.claims import claim_of, find_claim
from attention_core.derivation.decision.conventions import EINSTEIN, collect_symbols, has_shapes, readings
from attention_core.derivation.decision.factor_orders import find_moved_factor
from attention_core.derivation.decision.function_letters import find_false_value
from attention_core.derivation.decision.matrix_exponents import (
    describe_matrices,
    exponents_of_numbers,
    letters_in_exponents,
    with_matrices,
)
from attention_core.derivation.decision.other_kinds import find_contradiction
from attention_core.derivation.decision.stated_later import find_stated_later
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.inference.constraints import ENTRYWISE, is_capital
from attention_core.derivation.inference.fresh_sizes import FRESH
from attention_core.derivation.inference.infer import domain_text
from attention_core.derivation.inference.usage import letter_of, walk, whole_names
from attention_core.derivation.latex.printer import all_names
from attention_core.derivation.latex.syntax import Call, Chain, Group, Statement, Transpose, Unreadable, names_in
from attention_core.derivation.reading.complex_numbers import UNIT, write_parts
from attention_core.derivation.reading.repeated_indices import sum_repeats
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Evidence, Finding, Verdict
from attention_core.derivation.terms.context import Context, Hypothesis, Symbol
from attention_core.derivation.terms.terms import SCALAR, Relation, ShapeMismatch, Size, Term, Type, matrix

Change = tuple[str, dict[str, Symbol]]  # what a reading says, and the symbols as it has them
Decide = Callable[[Step], Finding]
DecideUnder = Callable[[Step, Sequence[Relation]], Finding]
READ = "as it was read"
MOST = 6  # readings that are tried
CAPITAL = "(a capital letter)"
_LETTERS = tuple(f"(the letter {letter})" for letter in "LJNT")
_SAY = "declare them, as in 'Let $x, y \\in \\mathbb{R}$.'"
MAX_PEERS = 30  # steps of a document that may tell whether it allows a reading
_NUMBERS = ("(from the formulas around it)", *_LETTERS)
WEAK = ("(from the formulas around it)", "(a small letter)", "(a value that nothing here determines)")
"""Reasons that any other reading may overrule."""


def find_other_reading(step: Step, found: Finding, decide: Decide) -> Finding | None:
    """AMBIGUOUS where a step that is not true as it was read holds in another reading; None where none was found.

    Args:
        step: The step.
        found: What was found of it.
        decide: Decides a step.
    """
    for words, one in islice(_iterate_readings(step), MOST):
        try:
            verdict = decide(one).verdict
        except (Unreadable, ShapeMismatch, Unsettled):
            continue
        if verdict in GOOD:
            why = found.evidence.text
            text = f"it holds {words}; {why if why.startswith(READ) else f'{READ}, {why}'}"
            return Finding(Verdict.AMBIGUOUS, Evidence(text, {**found.evidence.figures, "reading": words}))
    return None


def find_false_reading(step: Step, found: Finding, decide: Decide) -> Finding | None:
    """AMBIGUOUS where a step that is true as it was read is false in another reading; None where none was found.

    Args:
        step: The step.
        found: What was found of it.
        decide: Decides a step.
    """
    if one := _find_false_with_matrices(step, found, decide):
        return one
    changed = (
        *_increments(step),
        *_letters_among_matrices(step),
        *_symbols_apart(step),
        *_matrices_together(step),
        *_numbers_for_sizes(step),
    )
    for words, changes in islice(changed, MOST):
        if not _is_allowed(step, changes):
            continue
        try:
            other = decide(replace(step, context=_with_symbols(step.context, changes)))
        except (Unreadable, ShapeMismatch, Unsettled):
            continue
        if other.verdict is Verdict.REFUTED and other.counterexample is not None:
            text = f"it is false {words}: {other.evidence.text}; {READ}, {found.evidence.text}"
            figures = {**found.evidence.figures, "reading": words}
            advice = f"declare {', '.join(f'${name}$' for name in changes)}"
            return Finding(Verdict.AMBIGUOUS, Evidence(text, figures, advice))
    if words := find_moved_factor(step) or find_false_value(step, decide):
        text = f"it is false {words}; {READ}, {found.evidence.text}"
        return Finding(Verdict.AMBIGUOUS, Evidence(text, {**found.evidence.figures, "reading": words}, _SAY))
    return None


def settle_kinds(step: Step, doubted: bool, decide: DecideUnder) -> Step:
    """A step that is true as it was read, without the doubts about arrays that change nothing.

    What its section says of a step that is read by itself changes nothing where the step holds of all kinds for which
    it has a meaning, and what words say of arrays and functions where it has one, and holds, with matrices.

    Args:
        step: The step.
        doubted: Whether words say that a symbol of it is something else.
        decide: Decides a step under some more hypotheses.
    """
    if step.op != "=" or not (step.strange or doubted):
        return step
    numbers, columns, matrices = _try_kinds(step, decide)
    if False in (numbers, columns, matrices) or (step.strange and _has_meaning(step)):
        return step
    untried = [name for name in sorted(collect_symbols(step) & set(step.context.inferred)) if _is_greek(name)]
    tried = not find_contradiction(step, step.context, untried)  # none of these is called a matrix, or a function
    return replace(step, strange="", of_all_kinds=bool(matrices) and tried)


def _is_greek(name: str) -> bool:
    return letter_of(name).startswith("\\")


def _has_meaning(step: Step) -> bool:
    """Whether an undeclared symbol was read as something of its own, as e_i was as a unit vector."""
    known = step.context.symbols
    return any(known[name].term is not None for name in step.context.inferred if name in collect_symbols(step))


def _try_kinds(step: Step, decide: DecideUnder) -> tuple[bool | None, bool | None, bool | None]:
    """Whether a step holds with numbers in the place of arrays, with matrices in that of vectors, or of all letters.

    None says that it has no meaning then; small Greek letters stay what they are.
    """
    plain = _open_symbols(step, ("",))
    arrays = [one for one in plain if one.type is not None and not one.type.scalar]
    columns = [one for one in arrays if _is_column(one.type)]
    letters = [one for one in plain if one in arrays or not _is_greek(one.name)]
    size = next((name for name in FRESH if name not in step.context.symbols and name not in all_names(step.left)), "")
    square = matrix(Size.symbol(size), Size.symbol(size))
    edge = {size: Symbol(size, "size", step.line, step.context.level)}

    def holds(symbols: Sequence[Symbol], kind: Type, more: dict[str, Symbol]) -> bool | None:
        if not symbols or not size:
            return None
        changes = {**more, **_declare_as_one_kind(symbols, kind)[1]}
        try:
            return decide(replace(step, context=_with_symbols(step.context, changes)), ()).verdict in GOOD
        except (Unreadable, ShapeMismatch, Unsettled):
            return None

    return holds(arrays, SCALAR, {}), holds(columns, square, edge), holds(letters, square, edge)


def _find_false_with_matrices(step: Step, found: Finding, decide: Decide) -> Finding | None:
    """AMBIGUOUS where capitals in exponents may be matrices, and the step is then false."""
    letters = letters_in_exponents(step, _open_symbols(step, _NUMBERS))
    if not letters or not all(has_shapes(with_matrices(peer, letters)) for peer in _peers_with(step, letters)):
        return None
    try:
        other = decide(with_matrices(step, letters))
    except (Unreadable, ShapeMismatch, Unsettled):
        return None
    if other.verdict is not Verdict.REFUTED:
        return None
    words = f"with square matrices ${', '.join(letters)}$ and $e^X = I + X + X X / 2 + \\dots$"
    point = f"at {describe_matrices(letters)}"
    text = f"it is false {words}, {point}: {other.evidence.text}; {READ}, {found.evidence.text}"
    advice = f"declare {', '.join(f'${name}$' for name in letters)}"
    return Finding(Verdict.AMBIGUOUS, Evidence(text, {**found.evidence.figures, "reading": words}, advice))


def _peers_with(step: Step, letters: Sequence[str]) -> Iterator[Step]:
    """The other steps whose shapes fit and that use these letters as this one does."""
    for peer in step.peers[:MAX_PEERS]:
        if not isinstance(peer, Step) or peer is step or not set(letters) & collect_symbols(peer) or _brackets(peer):
            continue
        symbols = peer.context.symbols
        if all(symbols.get(name) == step.context.symbols[name] for name in letters) and has_shapes(peer):
            yield peer


def _brackets(step: Step) -> bool:
    r"""Whether a step has a commutator such as `[A, B]`, or an adjoint: numbers have neither."""
    nodes = [one for side in (step.left, step.right) for one in walk(side)]
    pairs = any(isinstance(one, Group) and one.bracket == "[" and len(one.items) > 1 for one in nodes)
    return pairs or r"\dagger" in step.text


def _is_allowed(step: Step, changes: dict[str, Symbol]) -> bool:
    """Whether every step of the section whose shapes fit still fits with these symbols."""
    for peer in step.peers[:MAX_PEERS]:
        if not isinstance(peer, Step) or peer is step or _brackets(peer):
            continue
        known = peer.context
        same = {n for n in known.inferred if known.symbols[n] == step.context.symbols.get(n)}
        here = {n: s for n, s in changes.items() if n in same}
        if not set(here) & collect_symbols(peer):
            continue
        try:
            claim_of(peer)
        except (Unreadable, ShapeMismatch, Unsettled, RecursionError):
            continue
        fresh = {n: s for n, s in changes.items() if n not in step.context.symbols}
        try:
            claim_of(replace(peer, context=_with_symbols(known, {**fresh, **here})))
        except (Unreadable, ShapeMismatch):
            return False
    return True


def _with_symbols(context: Context, changes: dict[str, Symbol]) -> Context:
    """The context with other symbols; of what was a size its hypotheses speak as of a number."""
    changed = context.copy()
    changed.symbols.update(changes)
    sizes = {name for name in changes if name in context.symbols and context.symbols[name].kind == "size"}
    changed.hypotheses = [_of_numbers(one, sizes) for one in changed.hypotheses]
    return changed


def _of_numbers(one: Hypothesis, sizes: set[str]) -> Hypothesis:
    if not one.mentions & sizes:
        return one

    def turn(term: Term) -> Term:
        if term.op == "int" and term.data in sizes:
            return replace(term, op="leaf")
        return replace(term, args=tuple(map(turn, term.args)))

    def turn_sides(relation: Relation | None) -> Relation | None:
        return relation and replace(relation, left=turn(relation.left), right=turn(relation.right))

    relation = turn_sides(one.relation)
    assert relation is not None
    return replace(one, relation=relation, narrower=turn_sides(one.narrower))


def _iterate_readings(step: Step) -> Iterator[tuple[str, Step]]:
    """What each reading says, and the step in it; what it says of one symbol first, then other conventions."""
    if (unit := _with_unit(step)) is not None:
        yield f"where ${UNIT}$ is the imaginary unit", unit
    for words, changes in (*_symbols_apart(step), *_numbers_together(step)):
        changed = _with_symbols(step.context, changes)
        changed.broadcast = step.context.level  # a number is added to every entry
        yield words, replace(step, context=changed)
    if (summed := sum_repeats(step)) is not None:
        yield EINSTEIN, summed
    yield from ((words, replace(step, context=one)) for words, one in readings(step, find_claim(step)))


def _with_unit(step: Step) -> Step | None:
    """The step with an undeclared number i as the imaginary unit, None where it has none or is of something else."""
    symbol = step.context.symbols.get(UNIT)
    if symbol is None or UNIT not in step.context.inferred or symbol.type != SCALAR or step.assumed or step.conditions:
        return None
    (chain,) = write_parts(step.context, Statement((Chain((step.left, step.right), (step.op,)),))).chains
    return None if UNIT in names_in(chain) else replace(step, left=chain.exprs[0], right=chain.exprs[1])


def _symbols_apart(step: Step) -> Iterator[Change]:
    """One symbol that little speaks for: a vector as a number, a number as a vector of the step's."""
    known = step.context.symbols
    kinds = (known[n].type for n in sorted(collect_symbols(step) & set(known)))
    columns = tuple(dict.fromkeys(kind for kind in kinds if kind is not None and _is_column(kind)))
    for symbol in _open_symbols(step, WEAK):
        for kind in (SCALAR,) if _is_column(symbol.type) else columns[:2]:
            yield _declare_as_one_kind([symbol], kind)


def _increments(step: Step) -> Iterator[Change]:
    """The change of a matrix, `d A`, that was read as a number, as a matrix of the same shape."""
    known = step.context.symbols
    for name in sorted(collect_symbols(step) & set(step.context.inferred) & set(known)):
        base = known.get(name.removeprefix("d "))
        if name.startswith("d ") and base is not None and base.type is not None and not base.type.scalar:
            yield _declare_as_one_kind([known[name]], base.type)


def _numbers_together(step: Step) -> Iterator[Change]:
    """All letters that are matrices since they are capitals, as numbers, where nothing asks for matrices."""
    parts = [node for side in (step.left, step.right) for node in walk(side)]
    if any(isinstance(one, Transpose) or (isinstance(one, Call) and one.function not in ENTRYWISE) for one in parts):
        return
    capitals = [one for one in _open_symbols(step, (CAPITAL,)) if one.type is not None and one.type.kind == "matrix"]
    if capitals:
        yield _declare_as_one_kind(capitals, SCALAR)


def _matrices_together(step: Step) -> Iterator[Change]:
    """All capitals that are numbers by their letter or the formulas around them alone, as square matrices.

    Not where one stands in an exponent: exp entry by entry, beside products of matrices, is not what anyone means.
    """
    raised = {name for exponent in exponents_of_numbers(step) for name in whole_names(exponent)}
    letters = [
        one for one in _open_symbols(step, _NUMBERS)
        if one.type is not None and one.type.scalar and is_capital(one.name)
    ]  # fmt: skip
    size = next((name for name in FRESH if name not in step.context.symbols and name not in all_names(step.left)), "")
    if letters and size and not raised & {one.name for one in letters}:
        edge = Size.symbol(size)
        words, changes = _declare_as_one_kind(letters, matrix(edge, edge))
        yield words, {size: Symbol(size, "size", step.line, step.context.level), **changes}


def _letters_among_matrices(step: Step) -> Iterator[Change]:
    """Capitals that are numbers by their letter alone, and the matrices beside them, as square matrices of one size."""
    letters = [one for one in _open_symbols(step, _LETTERS) if one.type is not None and one.type.scalar]
    used = collect_symbols(step)
    beside = _open_symbols(step, (CAPITAL,), frozenset(step.context.inferred))  # those of its section as well
    matrices = [one for one in beside if one.type is not None and one.type.kind == "matrix"]
    size = next((name for name in FRESH if name not in step.context.symbols and name not in all_names(step.left)), "")
    if letters and any(one.name in used for one in matrices) and size:
        edge = Size.symbol(size)
        changes = _declare_as_one_kind([*letters, *matrices], matrix(edge, edge))[1]
        words = _declare_as_one_kind([one for one in (*letters, *matrices) if one.name in used], matrix(edge, edge))[0]
        yield words, {size: Symbol(size, "size", step.line, step.context.level), **changes}


def _numbers_for_sizes(step: Step) -> Iterator[Change]:
    """Letters that are whole numbers by a root of them, or by a later section alone, as any number."""
    known = step.context.symbols
    tied = {name for symbol in known.values() for name in symbol.mentions}
    later = find_stated_later(step)
    for name in sorted(collect_symbols(step) & set(step.context.inferred) - tied):
        rooted = step.context.inferred[name].endswith(rf"(\sqrt{{{name}}})")
        if known[name].kind == "size" and (rooted or name in later):
            yield _declare_as_one_kind([replace(known[name], kind="array")], SCALAR)


def _declare_as_one_kind(symbols: Sequence[Symbol], kind: Type) -> Change:
    """Symbols of one kind, in words and as declared."""
    sizes = frozenset(kind.rows.symbols() | kind.cols.symbols())
    names = ", ".join(symbol.name for symbol in symbols)
    changes = {one.name: replace(one, type=kind, mentions=sizes) for one in symbols}
    return f"with ${names} \\in {domain_text(kind)}$", changes


def _open_symbols(step: Step, reasons: tuple[str, ...], names: frozenset[str] | None = None) -> list[Symbol]:
    """The inferred symbols of a step that nothing is known of, and for whose kind no more than these reasons speak.

    Neither does what a later section says of them.
    """
    context = step.context
    names = collect_symbols(step) if names is None else names
    named = [n for n in sorted(names & set(context.inferred)) if n in context.symbols]
    later = find_stated_later(step)
    found = [context.symbols[n] for n in named if n in later or context.inferred[n].endswith(reasons)]
    plain = [one for one in found if one.kind == "array" and one.law is None and one.term is None and one.type]
    held = {name for one in context.symbols.values() if one.term is not None for name in one.mentions}
    held |= {name for one in context.hypotheses for name in one.mentions}
    return [one for one in plain if one.name not in held]  # a definition has the shapes that its symbols had


def _is_column(kind: Type | None) -> bool:
    return kind is not None and kind.kind == "matrix" and kind.column


__all__ = ["find_false_reading", "find_other_reading", "settle_kinds"]
