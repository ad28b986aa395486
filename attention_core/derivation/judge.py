"""The verdict on one step.

A step is decided under a ceiling of time. Then it is asked what the verdict rests on: readings of undeclared symbols,
words that were not read, other conventions, one small change, what a person has confirmed. A mend or a hypothesis is
named where the step is refuted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from attention_core.derivation.cases.problem import Problem
from attention_core.derivation.claims import claim_of, cut_claims, with_decimals
from attention_core.derivation.decision.agreement import NO_CASE
from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.decision.decide import decide
from attention_core.derivation.decision.function_letters import find_compositions
from attention_core.derivation.decision.further_readings import read_further
from attention_core.derivation.decision.inferred_readings import settle_kinds
from attention_core.derivation.decision.mends import Mend
from attention_core.derivation.decision.missing_declarations import (
    CONFIRM,
    DECLARE,
    ask_for_declarations,
    name_unsaid,
)
from attention_core.derivation.decision.open_indices import (
    find_hidden_index,
    find_moving_value,
    rests_on_indices,
    with_stated_indices,
)
from attention_core.derivation.decision.other_kinds import find_contradiction
from attention_core.derivation.decision.places_as_factors import find_place_as_factor
from attention_core.derivation.decision.stated_later import is_stated_later
from attention_core.derivation.effort import CEILING, LATE, Effort, OutOfTime, ceiling
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.inference.infer import inferred_names
from attention_core.derivation.inference.loose_forms import TERMS
from attention_core.derivation.inference.opaque import is_opaque, unknown_dependence
from attention_core.derivation.latex.commands import unknown_command
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.latex.syntax import Array, Num, Unreadable
from attention_core.derivation.reading.any_function import describe_functions, loosen_second
from attention_core.derivation.reading.any_loss import describe_losses, order_of_derivatives, tried_order
from attention_core.derivation.reading.confirmed import confirm_readings, quote_set_aside
from attention_core.derivation.reading.imaginary_unit import find_unit_as_number
from attention_core.derivation.reading.proposed_domains import propose_domain
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import (
    GOOD,
    Evidence,
    Finding,
    Verdict,
)
from attention_core.derivation.terms.context import OVER_ALL
from attention_core.derivation.terms.relevance import averaged_without_law, find_tie_to_noise
from attention_core.derivation.terms.terms import Relation, ShapeMismatch
from attention_core.derivation.words.paragraphs import MISSING, cause_above, declared_later

_TRADED = re.compile(r"with \$(.+?)\$ in place of \$(.+?)\$: is that meant")
_NOT_CHANGED = Unsettled, Unreadable, ShapeMismatch  # of a changed step: the step itself was read
ADVICE_SECONDS = 4.0  # for advice, where a step has twice as much
REASONS = 4  # a relation in a reason has this part of a step's time
OTHERS = 8  # another reading of undeclared symbols has this part


def judge_step(step: Step, effort: Effort, advise: bool, necessity: bool) -> Finding:
    """The finding on one step, with unchecked reasons and, on request, the hypotheses that it needs."""
    found = decide_step(step, effort, advise=advise)
    judged = step
    if step.plain is not None:  # where its shapes fit by another reading, that counts
        other = decide_step(step.plain, effort)
        if other.verdict is not Verdict.UNREADABLE:
            judged, found = step.plain, other
    if _readings_of(step):
        found = read_further(step, found, partial(decide_step, effort=effort, advise=advise), _decide_under, effort)
    if step.as_read and found.verdict is Verdict.UNDECIDED:
        found = _judge_as_read(judged, found, effort, advise)
        if found.verdict is Verdict.UNDECIDED and step.tables is not None:
            other = _judge_as_read(step.tables, decide_step(step.tables, effort, advise), effort, advise)
            found = other if other.verdict is Verdict.REFUTED else found
    elif found.evidence.figures.get("need") == DECLARE and not step.quoted:
        found = _recommend_confirming(judged, found, effort)
    if step.unread_words and found.verdict is not Verdict.UNREADABLE:
        words = ", ".join(f"'{one}'" for one in dict.fromkeys(step.unread_words))
        return Finding(Verdict.UNDECIDED, Evidence(f"not understood in its display: {words}"))
    if step.quoted:
        from attention_core.derivation.decision.reasons import judge_reasons

        brief = replace(effort, seconds=effort.seconds / REASONS)
        found = judge_reasons(step, found, lambda one: decide_step(one, brief))
    if necessity and found.verdict in GOOD:
        from attention_core.derivation.decision.advice import find_needed_hypotheses

        figures = {**found.evidence.figures, "necessity": find_needed_hypotheses(step, effort)}
        found = replace(found, evidence=replace(found.evidence, figures=figures))
    return found


def decide_step(step: Step, effort: Effort, advise: bool = False) -> Finding:
    """The verdict on one step; with `advise`, a refuted one is shown with what would make it true, if that is found."""
    from attention_core.derivation.decision.statistics import SECONDS as SAMPLING

    seconds = max(effort.seconds, SAMPLING) if step.option("check") else effort.seconds
    step = with_stated_indices(step)
    if unit := find_unit_as_number(step.context, _inferred_names(step)):
        return Finding(Verdict.UNDECIDED, Evidence(unit))
    try:
        with ceiling(CEILING * seconds):
            found, problem, extra = _decide_step(step, effort)
        found = _weaken_for_any_function(step, found, effort)
        readings = _readings_of(step)
        step = _settle_kinds(step, effort) if found.verdict in GOOD else step
        certain = rests_on_indices(step, _inferred_names(step)) and not is_stated_later(step)
        if readings and not (found.verdict is Verdict.REFUTED and certain):
            shown = _other_reading(step, _under_readings(found, readings, problem, step), found, effort)
            return _with_slip(step, shown, found, effort, advise, problem)
        shown = _with_slip(step, _apply_doubts(step, found, effort), found, effort, advise, problem)
        if shown.verdict is Verdict.REFUTED and shown.evidence.text != found.evidence.text:
            return shown  # by a slip: it names its readings and the change already
        found = replace(shown, evidence=_with_readings(shown.evidence, readings)) if readings else shown
        if advise and problem is not None and found.counterexample is not None:
            with suppress(OutOfTime), ceiling(CEILING * _time_for_advice(seconds)):  # advice must not hold it up
                advice = _advise(step, problem, extra)
                found = replace(found, evidence=replace(found.evidence, advice=advice))
        return found
    except Unreadable as error:
        message = propose_domain(step, error.message)
        return Finding(Verdict.UNREADABLE, Evidence(message + _declared_elsewhere(step, message)))
    except ShapeMismatch as error:
        return _judge_shapes(step, error, effort, advise)
    except Unsettled as error:
        return Finding(Verdict.UNDECIDED, Evidence(str(error)))
    except OutOfTime:
        return Finding(Verdict.UNDECIDED, Evidence(LATE))
    except RecursionError:
        return Finding(Verdict.UNREADABLE, Evidence("the formula is nested too deeply"))


def _time_for_advice(seconds: float) -> float:
    """Half of a step's time, but all of a short one's: for mends of a step that is false as it was read."""
    return max(seconds / 2, min(seconds, ADVICE_SECONDS))


def _settle_kinds(step: Step, effort: Effort) -> Step:
    doubted = bool(find_contradiction(step, step.context, _inferred_names(step)))
    return settle_kinds(step, doubted, _decide_under(replace(effort, seconds=effort.seconds / OTHERS)))


def _judge_shapes(step: Step, error: ShapeMismatch, effort: Effort, advise: bool) -> Finding:
    """The verdict on a step whose shapes do not fit: refuted where they are declared."""
    if readings := _readings_of(step):
        found = Finding(Verdict.UNREADABLE, Evidence(f"the shapes do not fit: {error}; {_read_as(readings)}"))
        return _other_reading(step, found, found, effort)
    found = _apply_doubts(step, Finding(Verdict.REFUTED, Evidence(f"the shapes do not fit: {error}")), effort)
    if advise and found.verdict is Verdict.REFUTED:
        from attention_core.derivation.decision.mends import Search, find_mend

        advice = find_mend(step, Search(_time_for_advice(effort.seconds), effort.seed))
        found = replace(found, evidence=replace(found.evidence, advice=advice))
    return found


def _with_slip(
    step: Step, shown: Finding, found: Finding, effort: Effort, advise: bool, problem: Problem | None
) -> Finding:
    """The finding on a step that is false as it was read, with the one change that makes it hold so.

    Where that change tells that its symbols were read right, the step is refuted (see `slips`); elsewhere the document
    may say more of them, and with `advise` the change is named.
    """
    left_open = shown.verdict is Verdict.UNDECIDED and found.verdict is Verdict.REFUTED
    if not left_open or found.counterexample is None or step.context.loose or problem is None:
        return shown
    if find_place_as_factor(step) or _is_of_two_values(step, effort):
        return shown
    from attention_core.derivation.decision.mends import Search, find_mend
    from attention_core.derivation.decision.slips import find_likely_slip, find_slip, without_talk
    from attention_core.derivation.decision.spots import find_spots

    seconds = _time_for_advice(effort.seconds)
    search = Search(seconds, effort.seed, find_spots(problem))
    likely = None
    with suppress(OutOfTime, *_NOT_CHANGED), ceiling(2 * CEILING * seconds):
        decide_under = _decide_under(replace(effort, seconds=seconds / OTHERS))
        wrong = _refute_wrong_term(step, found, search, effort)
        if wrong is not None:
            return wrong
        slip = find_slip(step, decide_under, search)
        if slip is not None and (_has_reason(step, slip, decide_under) or not _is_accepted(slip, seconds, effort)):
            slip = None  # as it was read, the changed step would not be accepted either
        refuted = shown
        if slip is not None:
            refuted = _apply_doubts(without_talk(step, slip, decide_under), found, effort, slip=True)
        if slip is not None and refuted.verdict is Verdict.REFUTED:
            text = f"as it was read it is false ({found.evidence.text}), and it holds {slip.words}"
            evidence = Evidence(text, {**found.evidence.figures, "slip": slip.words})
            return replace(refuted, evidence=_with_readings(evidence, _readings_of(step)))
        likely = slip or (find_likely_slip(step, decide_under, search) if advise else None)
    if likely is not None:
        shown = replace(shown, evidence=_with_figure(shown.evidence, "slip", likely.words))
    advice = ""
    with suppress(OutOfTime), ceiling(CEILING * seconds):
        advice = find_mend(step, search) if advise and step.op == "=" else ""
    trivial = not advice or "with $0$ in place" in advice or _trades_values(step, advice)  # both sides vanish, or agree
    if trivial and likely is not None:
        return replace(shown, evidence=replace(shown.evidence, advice=f"the step holds {likely.words}: is that meant?"))
    return shown if trivial else replace(shown, evidence=replace(shown.evidence, advice=advice))


def _is_accepted(slip: Mend, seconds: float, effort: Effort) -> bool:
    """Whether the changed step is accepted, read by itself, as the step is."""
    return decide_step(replace(slip.step, strange=""), replace(effort, seconds=seconds)).verdict in GOOD


def _has_reason(step: Step, slip: Mend, decide_under: Callable[[Step, Sequence[Relation]], Finding]) -> bool:
    """Whether a reason that was not read stands beside a step, and may make good what a slip changes."""
    from attention_core.derivation.decision.given_reasons import has_reasons, holds_by_symmetry
    from attention_core.derivation.decision.slips import SCALES

    if slip.kind in SCALES:
        return step.context.formal is not None and not step.context.claims_all and has_reasons(step)
    return has_reasons(step) or holds_by_symmetry(step, decide_under)


def _is_of_two_values(step: Step, effort: Effort) -> bool:
    """Whether a false step may mix the old and the new value of a symbol, or two versions of one quantity."""
    from attention_core.derivation.decision.new_values import mixes_new_value
    from attention_core.derivation.decision.two_versions import names_two_versions

    decide_under = _decide_under(replace(effort, seconds=effort.seconds / OTHERS))
    return mixes_new_value(step, decide_under) or names_two_versions(step, decide_under)


def _refute_wrong_term(step: Step, found: Finding, search: Any, effort: Effort) -> Finding | None:
    """REFUTED where a side is wrong on both of its sides in a chain, and one change makes both hold; None elsewhere."""
    from attention_core.derivation.decision.chain_terms import find_wrong_term, without_far_words

    decide_under = _decide_under(effort)
    wrong = find_wrong_term(step, decide_under, search)
    if wrong is None:
        return None
    refuted = _apply_doubts(without_far_words(step, wrong.mend, decide_under), found, effort, slip=True)
    if refuted.verdict is not Verdict.REFUTED:
        return None
    text = (
        f"as it was read it is false ({found.evidence.text}), and so is ${wrong.neighbour.text}$ beside it: "
        f"the term of both, ${to_latex(getattr(step, wrong.side))}$, is wrong, and both hold {wrong.mend.words}"
    )
    evidence = Evidence(text, {**found.evidence.figures, "slip": wrong.mend.words})
    return replace(refuted, evidence=_with_readings(evidence, _readings_of(step)))


def _with_figure(evidence: Evidence, name: str, value: Any) -> Evidence:
    return replace(evidence, figures={**evidence.figures, name: value})


def _trades_values(step: Step, advice: str) -> bool:
    """Whether a mend trades a value that nothing defines for another symbol: any equation between two holds so."""
    traded = _TRADED.search(advice)
    values = {name for name in _inferred_names(step) if is_opaque(name)}
    return traded is not None and not values.isdisjoint(traded.groups())


def _weaken_for_any_function(step: Step, found: Finding, effort: Effort) -> Finding:
    """What holds of all functions that were tried in the place of one that is not known AGREES, and is not proved."""
    names = collect_symbols(step)
    parts = (describe_functions(step.context, names), describe_losses(step.context, names))
    words = ", ".join(one for one in parts if one)
    if found.verdict not in GOOD or not words:
        return found
    if parts[1] and (order := order_of_derivatives(claim_of(step)[1])) > tried_order(step.context, names):
        text = f"{parts[1].split(' as ')[0]} is not written out, and its derivatives of order {order} are not tried"
        return replace(found, verdict=Verdict.UNDECIDED, evidence=Evidence(text, found.evidence.figures))
    loose = (
        None
        if "\\frac{d" in step.text or "partial" in step.text
        else loosen_second(step.context, collect_symbols(step))
    )
    if loose is not None:
        other = _decide_step(replace(step, context=loose), replace(effort, seconds=effort.seconds / OTHERS))[0]
        if other.verdict not in GOOD:
            text = f"with {words} it holds, and it may be false where the second derivative is another one"
            return replace(found, verdict=Verdict.UNDECIDED, evidence=Evidence(text, found.evidence.figures))
    text = f"with {words}, and no other function: {found.evidence.text}"
    return replace(found, verdict=Verdict.AGREES, evidence=replace(found.evidence, text=text))


def _advise(step: Step, problem: Problem, extra: list[Relation]) -> str:
    """A factor that a side lacks, the nearest mend, or a hypothesis that may be missing; '' without an idea."""
    from attention_core.derivation.decision.advice import find_missing_factor, find_missing_hypothesis
    from attention_core.derivation.decision.chain_terms import find_shared_mend
    from attention_core.derivation.decision.mends import Search, find_direction, find_mend
    from attention_core.derivation.decision.size_ranges import find_size_range
    from attention_core.derivation.decision.spots import find_spots

    search = Search(_time_for_advice(problem.effort.seconds), problem.effort.seed, find_spots(problem))
    if isinstance(step.left, Array) and isinstance(step.right, Array) and "matrix}" not in step.text:
        return ""  # columns of parts, which the document does not write: no change of them says what to write
    if problem.claim.op != "=" and (found := find_size_range(problem)):
        return found
    if problem.tally.far:  # at the sizes that guesses are tried at, the step holds anyway
        return find_missing_factor(problem) or find_size_range(problem)
    if problem.claim.op == "=":
        brief = replace(problem.effort, seconds=search.seconds / OTHERS)
        if wrong := find_shared_mend(step, _decide_under(brief), search):
            return f"this step and ${wrong.neighbour.text}$ beside it hold {wrong.mend.words}: is that meant?"
        found = find_missing_factor(problem) or find_mend(step, search)
        return found or find_size_range(problem) or find_missing_hypothesis(problem, extra)
    found = find_direction(step, search) or find_missing_hypothesis(problem, extra)
    return found or find_mend(step, search)  # many changes make a bound true


def _readings_of(step: Step) -> list[str]:
    """What the step's undeclared symbols are read as."""
    return [step.context.inferred[name] for name in _inferred_names(step)]


def _inferred_names(step: Step) -> list[str]:
    return inferred_names(step.context, step.formulas())


def _read_as(readings: Sequence[str]) -> str:
    return f"read as: {'; '.join(readings)} (not declared; a declaration would take precedence)"


def _with_readings(evidence: Evidence, readings: Sequence[str]) -> Evidence:
    """The evidence, and what undeclared symbols are read as, if there are any."""
    if not readings:
        return evidence
    figures = {**evidence.figures, "read_as": list(readings)}
    return replace(evidence, text=f"{evidence.text}; {_read_as(readings)}", figures=figures)


def _judge_as_read(step: Step, found: Finding, effort: Effort, advise: bool) -> Finding:
    """The finding on a step that is open, or REFUTED where it is false as a person has confirmed that it was read."""
    from attention_core.derivation.decision.given_reasons import has_reasons, holds_by_symmetry
    from attention_core.derivation.decision.left_unsaid import leaves_something_unsaid
    from attention_core.derivation.decision.out_of_date import find_newer_value
    from attention_core.derivation.decision.unclaimed import find_usual_meaning, may_claim_nothing

    decide_under = _decide_under(effort)
    if has_reasons(step) or _is_of_two_values(step, effort) or holds_by_symmetry(step, decide_under):
        return found
    if leaves_something_unsaid(step) or is_stated_later(step) or find_newer_value(step, decide_under):
        return found
    confirmed = confirm_readings(step)
    if confirmed is None or may_claim_nothing(step):
        return _refute_likely_slip(step, found, effort)
    other = decide_step(confirmed, effort, advise)
    readings = _readings_of(step)
    if readings and other.verdict is Verdict.UNDECIDED and "; as it was read, " in other.evidence.text:
        return replace(found, evidence=_with_readings(other.evidence, readings))
    if other.verdict is not Verdict.REFUTED or other.counterexample is None:  # shapes may be read wrongly
        return _refute_likely_slip(step, found, effort)
    if meant := find_usual_meaning(step, confirmed, other, decide_under):
        return replace(meant, evidence=_with_readings(meant.evidence, readings))
    return _with_confirmed(step, other)


def _recommend_confirming(step: Step, found: Finding, effort: Effort) -> Finding:
    """The finding on a step that is open, which recommends `--as-read` if the step is refuted with it."""
    brief = replace(effort, seconds=effort.seconds / OTHERS)
    promised = replace(step, as_read=True, context=step.context.copy())
    if promised.context.formal is None:
        promised.context.formal = OVER_ALL
    open_ = found.verdict is Verdict.UNDECIDED
    if not open_ or _judge_as_read(promised, found, brief, advise=False).verdict is not Verdict.REFUTED:
        return found
    text = found.evidence.text.replace(f"; {DECLARE}", f"; {CONFIRM}")
    return replace(found, evidence=_with_figure(replace(found.evidence, text=text), "need", CONFIRM))


def _refute_likely_slip(step: Step, found: Finding, effort: Effort) -> Finding:
    """The finding on a step that is open, or REFUTED where a person confirmed what it was read as and it has a slip."""
    from attention_core.derivation.decision.other_intents import is_led_to_otherwise
    from attention_core.derivation.decision.slips import defines_anew, leaves_out

    slip = str(found.evidence.figures.get("slip", ""))
    zero = Num(Fraction(0)) in (step.left, step.right) or "with $0$ in place" in slip  # an equation to be solved
    if not slip or "under" in found.evidence.figures:  # a person confirms readings, and not the equations above
        return found
    if zero or leaves_out(step) or is_led_to_otherwise(step) or defines_anew(step):
        return found
    plain = _decide_under(effort)(step, ())
    context = step.context.copy()
    context.caveats = [one for one in context.caveats if one.formula]
    plain = _apply_doubts(replace(step, context=context), plain, effort, slip=True)
    if plain.verdict is not Verdict.REFUTED or plain.counterexample is None:
        return found
    text = f"as it was read it is false ({plain.evidence.text}), and it holds {slip}"
    evidence = replace(found.evidence, text=text, figures={**plain.evidence.figures, "slip": slip})
    return _with_confirmed(step, replace(plain, evidence=evidence))


def _with_confirmed(step: Step, found: Finding) -> Finding:
    """The finding on a step whose readings a person has confirmed, with these and with what that sets aside."""
    readings = _readings_of(step)
    text = found.evidence.text.replace(f"; {_read_as(readings)}", "")  # a slip of what stays undeclared has named them
    text += f"; read as: {'; '.join(readings)} (taken as declared)" if readings else ""
    text += f"; --as-read sets aside what was not read: {aside}" if (aside := quote_set_aside(step)) else ""
    figures = {**found.evidence.figures, "read_as": readings, "confirmed": True}
    return replace(found, evidence=replace(found.evidence, text=text, figures=figures))


def _under_readings(found: Finding, readings: Sequence[str], problem: Problem | None, step: Step) -> Finding:
    """The finding with the readings that it rests on; nothing is refuted by these alone, but those of indices."""
    text = found.evidence.text
    verdict = found.verdict
    if verdict in (*GOOD, Verdict.REFUTED, Verdict.VACUOUS) and (place := find_place_as_factor(step)):
        verdict, text = Verdict.UNDECIDED, f"{place} was read as a factor, which it is not: nothing was decided"
    elif verdict in (Verdict.REFUTED, Verdict.VACUOUS) and step.context.loose:
        forms = ", ".join(sorted(step.context.loose))
        verdict, text = Verdict.UNDECIDED, f"{forms} were read as symbols of their own, which does not decide it"
        text = f"{step.strange}; {text}" if step.strange else text
        readings = [] if TERMS in step.context.loose else readings  # terms once more, and nothing to declare
    elif verdict in (Verdict.REFUTED, Verdict.VACUOUS):
        ask = ask_for_declarations(step, _inferred_names(step))
        unsaid = name_unsaid(step, _inferred_names(step), None if problem is None else problem.claim)
        verdict, text = Verdict.UNDECIDED, f"{unsaid or 'as it was read it is false'} ({text}); {ask}"
        found = replace(found, evidence=_with_figure(found.evidence, "need", ask))
    elif verdict in GOOD and problem is not None and (doubt := _find_dependence(step, problem)):
        verdict, text = Verdict.UNDECIDED, doubt
    elif verdict in GOOD and (command := _find_unknown_command(step)):
        text = f"as it was read it holds, with \\{command}, which nothing here defines, as a symbol"
        verdict = Verdict.UNDECIDED
    elif verdict in GOOD and (names := find_compositions(step, _inferred_names(step))):
        text = f"it holds of products entry by entry ({text}), but $\\circ$ may compose {names}: declare them"
        verdict = Verdict.UNDECIDED
    elif verdict in GOOD and step.strange:
        text = f"read by itself it holds ({text}), but not as its section uses the symbols: {step.strange}"
        verdict = Verdict.UNDECIDED
    elif verdict in GOOD and problem is not None and _says_shapes(step, readings, problem):
        text = "it says which shapes its symbols have, and they were read so: nothing is left to check"
        verdict = Verdict.UNDECIDED
    elif verdict in GOOD and (doubt := find_contradiction(step, step.context, _inferred_names(step))):
        verdict, text = Verdict.UNDECIDED, f"as it was read it holds, but {doubt}"
    evidence = _with_readings(replace(found.evidence, text=text), readings)
    return Finding(verdict, evidence, found.counterexample if verdict is found.verdict else None)


def _find_dependence(step: Step, problem: Problem) -> str:
    """Why what holds of free symbols may not hold of those of a document, '' for no reason."""
    return unknown_dependence(problem.claim) or find_moving_value(step, _inferred_names(step))


def _find_unknown_command(step: Step) -> str:
    """A command that nothing defines and that was read as a symbol, or hides an index that runs in its name."""
    named = (unknown_command(name) or find_hidden_index(step, name) for name in _inferred_names(step))
    return next(filter(None, named), "")


def _says_shapes(step: Step, readings: Sequence[str], problem: Problem) -> bool:
    r"""Whether a step says in which \mathbb{R}^n a formula lies of whose arrays no other line says it."""
    bare = step.op == "in" and problem.claim.left == problem.claim.right
    return bare and any(r"\in \mathbb{R}^" in one and not one.endswith("says so)") for one in readings)


def _other_reading(step: Step, shown: Finding, found: Finding, effort: Effort) -> Finding:
    """What is shown of an inferred reading; AMBIGUOUS where the verdict is another one by another reading."""
    from attention_core.derivation.decision.inferred_readings import find_false_reading, find_other_reading

    if shown.verdict in GOOD:
        shown = _apply_doubts(step, shown, effort)
    elif NO_CASE in shown.evidence.text and (plain := _apply_doubts(step, shown, effort)).verdict in GOOD:
        shown = replace(plain, evidence=_with_readings(plain.evidence, _readings_of(step)))
    if found.verdict in (Verdict.REFUTED, Verdict.UNREADABLE):
        find = find_other_reading
    elif shown.verdict in GOOD:
        find = find_false_reading
    else:
        return shown
    brief = replace(effort, seconds=effort.seconds / OTHERS)

    def decide(one: Step) -> Finding:
        with ceiling(CEILING * brief.seconds):
            other, problem, _ = _decide_step(one, brief)
        doubt = unknown_dependence(problem.claim) if other.verdict in GOOD and problem is not None else ""
        return Finding(Verdict.UNDECIDED, Evidence(doubt)) if doubt else other

    with suppress(OutOfTime):
        return find(step, shown, decide) or shown
    return shown


def _apply_doubts(step: Step, found: Finding, effort: Effort, slip: bool = False) -> Finding:
    """The finding, if nothing that was not read, and no other convention, could change it."""
    from attention_core.derivation.decision.doubts import reconsider

    return reconsider(step, found, _decide_under(effort), slip)


def _decide_under(effort: Effort) -> Callable[[Step, Sequence[Relation]], Finding]:
    """What decides a step under some more hypotheses, with this effort; alone, it is decided once."""

    def decide(one: Step, more: Sequence[Relation]) -> Finding:
        if not more and effort in one.decided:
            found: Finding = one.decided[effort]
            return found
        try:
            with ceiling(CEILING * effort.seconds):
                found = _decide_step(one, effort, more)[0]
        except OutOfTime:
            return Finding(Verdict.UNDECIDED, Evidence(LATE))
        if not more:
            one.decided[effort] = found
        return found

    return decide


def _decide_step(
    step: Step, effort: Effort, more: Sequence[Relation] = ()
) -> tuple[Finding, Problem | None, list[Relation]]:
    """The finding, with the problem (None if random samples decided) and the step's own hypotheses."""
    context, claim, extra = claim_of(step)
    extra = [*extra, *more]
    if step.option("check"):
        from attention_core.derivation.decision.statistics import Sampler, parse_check

        errors = parse_check(step.option("check"), step.line)
        errors = replace(errors, alpha=errors.alpha / max(1, step.sharing))
        return Sampler(context, claim, extra, effort, errors, step.text).decide(), None, extra
    problem = Problem(context, claim, extra, effort)
    found = decide(problem)
    if found.verdict in GOOD and (name := averaged_without_law(context, (claim.left, claim.right))):
        text = f"{name} is averaged and has no law: write its law, or its mean and variance"
        found = Finding(Verdict.UNDECIDED, Evidence(text, found.evidence.figures))
    if found.verdict is Verdict.REFUTED and (name := find_tie_to_noise(context, (claim.left, claim.right))):
        text = f"{name} is averaged, and a hypothesis ties it to what is random: write 'Put ${name} := ...'"
        found = Finding(Verdict.UNDECIDED, Evidence(f"{text}; with {name} held fixed, {found.evidence.text}"))
    if found.verdict is Verdict.REFUTED and _holds_as_decimal(step, effort, more):
        text = f"as it is printed it is false ({found.evidence.text}), and it holds of numbers rounded or cut off"
        advice = r"write \approx if that is meant"
        found = Finding(Verdict.AMBIGUOUS, Evidence(text, found.evidence.figures, advice))
    cut = cut_claims(step, claim) if found.verdict is Verdict.REFUTED and step.op == "~" else []
    if cut and all(decide(Problem(context, one, extra, effort)).verdict in GOOD for one in cut):
        text = f"off by more than half a unit in the last printed place ({found.evidence.text})"
        found = Finding(Verdict.AMBIGUOUS, Evidence(f"{text}; true if digits were cut off and not rounded"))
    return found, problem, extra


def _holds_as_decimal(step: Step, effort: Effort, more: Sequence[Relation]) -> bool:
    r"""Whether an equation with a decimal number holds with `\approx`; of symbols this claims nothing."""
    rounded = with_decimals(step)
    if rounded is None:
        return False
    try:
        return _decide_step(rounded, effort, more)[0].verdict in (*GOOD, Verdict.AMBIGUOUS)
    except (Unreadable, ShapeMismatch, Unsettled):
        return False


def _declared_elsewhere(step: Step, message: str) -> str:
    """Where a symbol that is missing is declared: above, where that could not be read, or too late."""
    above = cause_above(step.context.failed, message)
    missing = MISSING.match(message)
    line = declared_later(step.later, missing.group(1)) if missing and not above else 0
    if not line:
        return above
    return f"; line {line} declares it, below its use: move that above the display, or say it right after with 'where'"


__all__ = ["decide_step", "judge_step"]
