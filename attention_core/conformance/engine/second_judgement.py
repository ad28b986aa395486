"""The same laws under the conventions that the first look found, in the same run and mostly on the same worker.

The verdict under the declared conventions stays as it is; this one says what it would be if they were declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import product
from typing import Any

from attention_core.conformance.budgets.rounding import UNIT_ROUNDOFF
from attention_core.conformance.cases.space import OF_CALLS
from attention_core.conformance.engine.earlier_calls import depends_on_earlier_calls
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.first_look.findings import FirstLook, option_text
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.report.ranking import is_plain, order_results
from attention_core.conformance.report.results import Report
from attention_core.conformance.subjects.evidence import NotApplicable, Refused, Violation
from attention_core.declaration.implementation import Implementation, OtherForm, TargetError, Unavailable
from attention_core.declaration.sizes import ATTENTION


def adopt_conventions(session: Session, look: FirstLook | None) -> Session | None:
    """A session under the conventions that the first look found; None where they neither explain nor help anything.

    Raises:
        TargetError, Unavailable: as for `Session`.
    """
    if look is None or not look.judges:
        return None
    array = look.found.get("array", session.implementation.array)
    other = array != session.implementation.array
    runner = session.runner.with_array(array) if other else session.runner
    found = Session(
        session.implementation.with_(**look.found), session.origin, effort=session.effort, seed=session.seed,
        timeout=session.timeout, shrink=session.shrink, runner=runner, looks=False,
    )  # fmt: skip
    found.owns_runner = other
    return found


def is_of_another_contract(session: Session) -> bool:
    """Whether the target was found to be called as another contract has it, which has laws of its own."""
    return session.first_look is not None and "contract" in session.first_look.found


def results_under_conventions(
    session: Session, names: Sequence[str], look: FirstLook | None = None
) -> list[LawResult]:  # fmt: skip
    """The results of some laws under the conventions found; none where these explain nothing.

    Raises:
        TargetError, Unavailable: as for `Session`.
    """
    look = look or session.first_look
    other = adopt_conventions(session, look) if not is_of_another_contract(session) else None
    if other is None:
        return []
    with other:
        return list(other.results(select_laws(other.laws, names)))


def judge_under_conventions(
    session: Session, report: Report, names: Sequence[str], *, complete: bool, earlier: Sequence[LawResult] = (),
    look: FirstLook | None = None,
) -> None:  # fmt: skip
    """Put the report under the conventions found into `report`, and what follows from it into its advice.

    `names` are the laws to judge, `earlier` the results of those that another process has judged already. `look` holds
    other conventions than the first look's.
    """
    try:
        other = adopt_conventions(session, look or session.first_look) if not report.passed else None
        if other is None:
            if look is None and complete:
                judge_further(session, report, names)
            return
        with other:
            names = [law.name for law in other.laws] if is_of_another_contract(session) else names
            done = {result.law for result in earlier}
            left = [name for name in names if name not in done]
            results = {result.law: result for result in earlier}
            for result in other.results(select_laws(other.laws, left)) if left else ():
                results[result.law] = result
            report.under_found = other.report([results[name] for name in names], complete=complete)
    except (TargetError, Unavailable) as error:
        report.advice.insert(0, f"the conventions found cannot be judged: {error}")
        return
    used = look or session.first_look
    if used is not None and used.explains and not withdraw_conventions(session, report, names, complete=complete):
        explain_refutations(session, report, used)
    if complete and report.failed and report.verdict == "error":  # the number of its results is the one found
        report.failed, declared = False, report.problem.partition(": declare ")[0]
        how = (look or session.first_look or FirstLook(())).options()
        report.problem = f"{declared}; it is judged under {how}: {report.under_found.verdict}"
    if look is None and complete:
        judge_further(session, report, names)


def judge_further(session: Session, report: Report, names: Sequence[str]) -> None:
    """Judge a function under conventions that its refutations suggest, and that no call of the first look shows.

    Where the cause is state between calls, they suggest none: a law that was refuted holds on other calls.
    """
    if depends_on_earlier_calls(session, report.laws):
        return
    judge_as_merge(session, report, names)
    judge_in_other_forms(session, report, names)
    judge_without_float64(session, report, names)
    judge_without_refusals(session, report, names)
    advise_wide_dtypes(session, report)


def withdraw_conventions(session: Session, report: Report, names: Sequence[str], *, complete: bool) -> bool:
    """Take back the conventions that calls before a first look may have made, and judge all laws as is declared.

    That is so where what the target gives depends on earlier calls, and it is not right under them either. How its
    arrays lie does not matter in such calls.
    """
    under, look = report.under_found, session.first_look
    wrong = under is not None and any(r.family not in OF_CALLS for r in under.with_status("refuted"))
    if not wrong or look is None or look.found.keys() & OF_FORM:
        return False
    law = depends_on_earlier_calls(session, report.laws)
    if law:
        session.withdraw_conventions(STATE)
        laws = select_laws(session.laws, names)
        results = {result.law: result for result in session.results(laws)}
        whole = session.report([results[one.name] for one in laws], complete=complete)
        for field in fields(Report):
            setattr(report, field.name, getattr(whole, field.name))
        report.advice.insert(0, f"{STATE} ({law}): no convention is proposed")
    return bool(law)


def judge_as_merge(session: Session, report: Report, names: Sequence[str]) -> None:
    """Judge a function as one that merges parts by `exp(lse - total)`, where this explains every wrong number.

    Only the rounding of a log-sum-exp separates such code from what is declared: laws of large scores refute it, on
    plain calls too, and with masks there are many of them. What is refuted without a number (a call that should have
    been declined) stays so.
    """
    wrong = [r for r in (report.under_found or report).with_status("refuted") if is_wrong_number(r)]
    refuted = [result.law for result in wrong]
    declared, first = session.implementation, session.first_look
    own = declared.contract in ATTENTION and declared.merges == "none"
    if not own or first is None or not first.agrees or not refuted:
        return
    needs = {law.name: law.needs for law in session.laws}
    if not any(is_plain(r) and not {"attn_mask", "is_causal"} & set(needs.get(r.law, ())) for r in wrong):
        return  # a rounding of every weight does not wait for a mask
    look = replace(first, lines=(*first.lines, MERGES), found={**first.found, "merges": "lse"})
    if all_hold_under(session, refuted, look):
        report.advice = [line for line in report.advice if "; consistent with " not in line]
        report.first_look = look
        judge_under_conventions(session, report, names, complete=True, look=look)


def judge_in_other_forms(session: Session, report: Report, names: Sequence[str]) -> None:
    """Judge a cache, or a function of texts or pages, in another form in which it agrees with the truth.

    It is the first form that takes most problems; where none does, that which takes the largest share. The first look
    finds such forms of functions of one pack; these contracts have none.
    """
    declared, refuted = session.implementation, [result.law for result in report.with_status("refuted")]
    central = [law.name for law in session.laws if law.central]
    if report.passed or report.failed or declared.contract not in FORMS_OF_TEXTS:
        return
    if not refuted and any(result.law in central for result in report.with_status("held")):
        return  # it is right as it is declared; something else is not judged
    best, most = None, 0.0
    for changes in other_forms(declared):
        if "grouping" in changes and not refuted:
            continue  # plain calls, which share no heads, would hold under it too
        look = FirstLook((describe_form(changes),), changes, agrees=True)
        wanted = central if "parameters" in changes else [*central, *refuted]
        share = share_judged_under(session, wanted, look)
        if share is not None and (best is None or share > most):
            best, most = look, share
        if most > 0.5:
            break
    if best is not None:
        report.first_look = best
        judge_under_conventions(session, report, names, complete=True, look=best)
    elif session.core():
        advise_form(session, report)


def advise_form(session: Session, report: Report) -> None:
    """Name the form that takes all plain calls of a function that takes none as it is declared, and is wrong in each.

    A form that only fits where two sizes coincide takes some of them.
    """
    for changes in other_forms(session.implementation):
        look = FirstLook((), changes, agrees=True)
        if "parameters" in changes and takes_plain_calls(session, look):
            report.advice.append(
                f"no plain call is taken as it is declared; all are with {look.options()}, and the results are wrong: "
                "declare these options to see where"
            )
            return


def takes_plain_calls(session: Session, look: FirstLook) -> bool:
    """Whether every plain call is answered under the conventions of a look, by an array of the right shape."""
    try:
        other = adopt_conventions(session, look)
        if other is None:
            return False
        with other:
            cases = other.contract.core(other.subject)
            for _, case in cases:
                other.contract.ask(other.subject, case)
    except (NotApplicable, Refused, TargetError, Unavailable, Violation):
        return False
    return bool(cases)


def other_forms(declared: Implementation) -> Iterator[dict[str, Any]]:
    """Changes of a record: of heads that are shared in turn, or of axes, the fewest first."""
    if declared.grouping == "interleaved":
        yield {"grouping": "modular"}
    choices = FORMS_OF_TEXTS[declared.contract]
    ways = [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
    for way in sorted(ways, key=lambda way: sum(value is not None for value in way.values())):
        changes = {name: value for name, value in way.items() if value is not None}
        if changes and not changes.keys() & declared.parameters.keys():
            yield {"parameters": {**declared.parameters, **changes}}


def judge_without_float64(session: Session, report: Report, names: Sequence[str]) -> None:
    """Judge a target that computes float64 in float32 without float64, where this explains all that is refuted.

    All that is refuted is a number of float64 that is good to float32. The first look finds this of functions of
    query, key and value; other contracts have no such look.
    """
    declared, refuted = session.implementation, report.with_status("refuted")
    rest = tuple(dtype for dtype in declared.dtypes if dtype != "float64")
    if report.failed or report.under_found is not None or declared.contract in ATTENTION or not (rest and refuted):
        return
    if not all(is_good_to_float32(result) for result in refuted):
        return
    look = FirstLook((SINGLE,), {"dtypes": rest}, agrees=True)
    central = [law.name for law in session.laws if law.central]
    if all_hold_under(session, dict.fromkeys([*central, *(result.law for result in refuted)]), look):
        report.first_look = look
        judge_under_conventions(session, report, names, complete=True, look=look)


def is_good_to_float32(result: LawResult) -> bool:
    """Whether a law is refuted by a number of float64 whose error float32 would be allowed."""
    found = result.counterexample
    if found is None or found.event or dtype_of(result) != "float64":
        return False
    if found.got is None or found.want is None or found.bound is None:
        return False
    ratio = UNIT_ROUNDOFF["float32"] / UNIT_ROUNDOFF["float64"]  # budgets are in proportion to the unit roundoff
    return abs(found.got - found.want) <= found.bound * ratio


def describe_form(changes: Mapping[str, Any]) -> str:
    """A form that was found, in words.

    Example:
        >>> describe_form({"parameters": {"tokens": "hnd"}})
        'it is called in another form: --parameter tokens=hnd'
    """
    if "grouping" in changes:
        return MODULAR
    return f"it is called in another form: {' '.join(option_text(name, value) for name, value in changes.items())}"


def judge_without_refusals(session: Session, report: Report, names: Sequence[str]) -> None:
    """Judge a function that is right wherever its arrays fit, and refuses none that do not, as one of `--misfits`."""
    base = report.under_found or report
    refuted, first = base.with_status("refuted"), report.first_look or session.first_look
    families = {law.name: law.family for law in session.laws}
    if first is None or not refuted or any(families.get(result.law) != "refusal" for result in refuted):
        return
    look = replace(first, lines=(*first.lines, MISFITS), found={**first.found, "misfits": "unspecified"})
    judge_under_conventions(session, report, names, complete=True, look=look)
    report.first_look = look


def all_hold_under(session: Session, names: Iterable[str], look: FirstLook) -> bool:
    """Whether each of some laws holds under the conventions found; no law is judged after the first that does not."""
    return share_judged_under(session, names, look) is not None


def share_judged_under(session: Session, names: Iterable[str], look: FirstLook) -> float | None:
    """The share of problems that the target took, where each of some laws holds under the conventions found; else None.

    Axes that are taken for one another fit where two sizes coincide, and are refused elsewhere.
    """
    try:
        other = adopt_conventions(session, look) if not is_of_another_contract(session) else None
        if other is None:
            return None
        other.shrink = False  # no counterexample of it is shown
        judged = refused = 0
        with other:
            for law in (laws := select_laws(other.laws, [*names])):
                result = other.run(law, lightly=True)
                if result.status != "held":
                    return None
                judged, refused = judged + result.cases, refused + result.refused
            return judged / max(judged + refused, 1) if laws else None
    except (TargetError, Unavailable):
        return None


def is_wrong_number(result: LawResult) -> bool:
    """Whether a law is refuted by a number that is off, and not by what happened or did not."""
    found = result.counterexample
    return found is not None and not found.event and found.got is not None and found.want is not None


def advise_wide_dtypes(session: Session, report: Report) -> None:
    """Say which dtypes leave half precision out, where every counterexample is in it and the wider ones hold the laws.

    A law ends with its first counterexample: those that are refuted are judged once more, in the wider dtypes alone.
    """
    look, refuted = report.first_look, (report.under_found or report).with_status("refuted")
    found = dict(look.found) if look is not None and report.under_found is not None else {}
    dtypes = found.get("dtypes", session.implementation.dtypes)
    met = [name for name in HALVES if name in {dtype_of(result) for result in refuted}]
    wide = tuple(name for name in dtypes if name not in HALVES)
    if not wide or not 0 < len(refuted) <= FEW_REFUTED or {dtype_of(r) for r in refuted} - {*HALVES}:
        return
    if "contract" in found:
        return
    try:
        wider = FirstLook((), {**found, "dtypes": wide}, agrees=True)
        results = results_under_conventions(session, [result.law for result in refuted], wider)
    except (TargetError, Unavailable):
        return
    if all(result.status in ("held", "not_applicable") for result in results):
        report.advice.append(
            f"every counterexample{' under these' if found else ''} is in {' or '.join(met)}; the same laws hold in "
            f"{' and '.join(wide)}: --dtype {','.join(wide)} leaves half precision out, which is then not judged"
        )


HALVES = ("float16", "bfloat16")


def dtype_of(result: LawResult) -> str:
    """The dtype of a counterexample; "" where it has none."""
    return "" if result.counterexample is None else str(result.counterexample.data.get("dtype", ""))


OF_FORM = {
    "contract", "parameters", "array", "layout", "key_layout", "out_layout", "axes", "batch_axes", "qkv_axis",
    "returns", "sizes",
}  # fmt: skip
"""What a plain call shows of the form of a target, whatever was called before."""
STATE = "what it gives depends on the calls before, so that a few calls show no convention"
MISFITS = "it takes arrays that do not fit each other: --misfits unspecified declares that nothing is said of those"
SHARES_KEY_HEADS = ("kv-cache", "quantised", "block-mask", "tree-mask", "topk-index", "cross-cache")
FORMS_OF_TEXTS: Mapping[str, Mapping[str, tuple[str | None, ...]]] = {
    **{contract: {} for contract in SHARES_KEY_HEADS},
    "varlen": {"tokens": (None, "hnd", "bnhd", "bhnd")},
    "paged": {
        "query": (None, "bhnd", "bhd"), "pages": (None, "phsd", "hpsd", "phds"),
        "key_pages": (None, "phds"),
    },
}  # fmt: skip
"""Contracts without a first look whose targets may share key heads -> how their arrays may lie."""
MODULAR = "it shares key head h mod H_kv where there are fewer key heads: --grouping modular declares that"
SINGLE = "it computes float64 in float32: the dtypes that are declared leave float64 out"
MERGES = "its weights are good to a rounding of their log-sum-exp, as exp(score - lse) is: --merges lse declares that"
FEW_REFUTED = 8
"""Most laws that are judged once more in wider dtypes."""
FORMS: Mapping[str, str] = {
    "multi-head": "a class of modules with many heads",
    "kv-cache": "a class of caches of keys and values",
    "self-attention": "a function of projected tokens, which it cuts into heads itself",
    "varlen": "a function of packed texts",
    "paged": "a function of keys and values in pages",
    "topk-index": "a function of the keys that indices name",
    "block-mask": "a function of a map of blocks",
    "tree-mask": "a function of a tree of tokens",
    "quantised": "a function of stored numbers and their scales",
    "linear-attention": "linear attention with a state",
}
"""What suits a contract -> in words."""
PACKED = "a function of one array that holds query, key and value"
BUILT = "a class that is built without arguments, and called with query, key and value"


def look_at_form(error: OtherForm) -> FirstLook:
    """What is known of a target of another form before it is called.

    Example:
        >>> look_at_form(OtherForm("C is a class", {"contract": "multi-head"})).lines
        ('a class of modules with many heads: it is judged under --contract multi-head',)
    """
    options = " ".join(option_text(name, value) for name, value in error.changes.items())
    return FirstLook((f"{name_form(error)}: it is judged under {options}",), error.changes)


def name_form(error: OtherForm) -> str:
    """What a target of another form is, in words."""
    return PACKED if "qkv_axis" in error.changes else FORMS.get(str(error.changes.get("contract")), BUILT)


def judge_other_form(report: Report, error: OtherForm, judge: Callable[[Mapping[str, Any]], Report]) -> None:
    """Put the report of a target under the form that it suits into `report`, the error of its declared one.

    Args:
        report: the report of the error.
        error: what the target was found to be.
        judge: gives the report under changed fields of the record.
    """
    look = look_at_form(error)
    other = judge(error.changes)
    if other.failed or other.unavailable:
        report.first_look = look
        report.advice.insert(0, f"under {look.options()}: {other.problem or other.unavailable}")
        return
    under = other.under_found or other
    more = other.first_look or FirstLook((), agrees=other.passed)
    if "self-attention" in error.changes.values() and not more.agrees:  # a name alone says little of a function
        return
    lines, found = (*look.lines, *more.lines), {**error.changes, **more.found}
    report.first_look = FirstLook(lines, found, more.agrees, more.nearest, more.calls, more.seconds)
    report.under_found = under
    how = "consistent with" if more.agrees else "judged under"
    report.advice.insert(0, f"not judged as it is declared; {how} {report.first_look.options()}")
    report.problem = f"{name_form(error)}: declare {look.options()}, under which it is judged below"


def explain_refutations(session: Session, report: Report, look: FirstLook | None) -> None:
    """The sentence "refuted as ...; consistent with ...", and the laws that it explains."""
    under = report.under_found
    assert look is not None and under is not None
    old = ", ".join(f"{name}={format_field(getattr(session.implementation, name))}" for name in look.found)
    refuted = [r.law for r in report.with_status("refuted")]
    still = [r.law for r in order_results(under.with_status("refuted"))]
    explained = [law for law in refuted if law not in still]
    laws = "law" if len(still) == 1 else "laws"
    rest = f", except for {len(still)} refuted {laws}: {', '.join(still[:3])}" if still else ""
    verdict = "refuted" if refuted else "not judged"
    unjudged = f"; {look.unjudged}" if look.unjudged else ""
    report.advice.insert(0, f"{verdict} as {old}; consistent with {look.options()}{rest}{unjudged}")
    report.explained = explained


def format_field(value: object) -> str:
    """A value of the record as the report writes it."""
    if value is None or value == {}:
        return "none"
    if value == "":
        return "undeclared"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(getattr(value, "text", value))
