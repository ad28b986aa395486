"""Laws of linear attention to packed texts: each begins with a state of its own, and ends with one.

Texts lie one after the other in one row, and `cu_seqlens` says where they end, or `seq_idx` which text a token is of.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.recurrence_terms import Tokens
from attention_core.conformance.laws.linear_attention import CONTRACT, count_power
from attention_core.conformance.subjects.evidence import NotApplicable, require_close
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.linear_subject import LinearAttention, Truth, split_texts
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes
from attention_core.conformance.worker.exchange import NDArray

EDGES = (1, 15, 16, 17, 31, 32, 33, 63, 64, 65)


def draw_lengths(case: ParameterCase) -> list[int]:
    """The lengths of B texts, n tokens at most."""
    rng, kind = case.rng("lengths"), str(case.options.get("lengths", "any"))
    if kind == "edges":
        return [min(int(length), case["n"]) for length in rng.choice(EDGES, case["B"])]
    lengths = [int(length) for length in rng.integers(1, case["n"] + 1, case["B"])]
    return [*lengths[:-1], case["n"]] if case.seed % 2 else [case["n"], *lengths[1:]]


def pack(subject: LinearAttention, case: ParameterCase, lengths: list[int]) -> Tokens:
    """The tokens of texts of these lengths, one after the other in one row."""
    return subject.tokens(case.with_(B=1, n=sum(lengths)))


def require_packs(subject: LinearAttention) -> None:
    """Raise NotApplicable where nothing says where texts end."""
    if not subject.call_form.takes_packs:
        raise NotApplicable("it takes no packed texts")


def draw_start(subject: LinearAttention, case: ParameterCase) -> NDArray | None:
    """A state for each text in half of the cases, where a target takes these."""
    takes = "state" in subject.roles and "ends" in subject.roles
    return subject.start(case) if takes and case.seed // 2 % 2 else None


def null_models(
    tokens: Tokens, lengths: list[int], start: NDArray | None, truth: Truth, scale: float
) -> dict[str, tuple[NDArray, NDArray]]:
    """What a pack with borders elsewhere, or with states of other texts, gives."""

    def run(lengths: list[int], start: NDArray | None) -> tuple[NDArray, NDArray]:
        texts = zip(*split_texts(tokens, lengths, start), strict=True)
        parts = [oracle.linear_attention(*one.recur(), first, scale=scale) for one, first in texts]
        return np.concatenate([out for out, _ in parts], axis=2), np.concatenate([state for _, state in parts])

    first = None if start is None else start[:1]
    out, state = oracle.linear_attention(*tokens.recur(), first, scale=scale)
    nulls = {"the state runs over borders": (out, np.broadcast_to(state, truth.state.shape))}
    if len(lengths) > 1 and lengths[1] > 1:
        nulls["the first border one token late"] = run([lengths[0] + 1, lengths[1] - 1, *lengths[2:]], start)
    if start is not None:
        nulls["initial states ignored"] = run(lengths, None)
        nulls["the first initial state for all"] = run(lengths, np.broadcast_to(start[:1], start.shape))
    return nulls


def check_pack(
    subject: LinearAttention, case: ParameterCase, lengths: list[int], what: str, law: str, *, state: bool
) -> None:
    """One call of packed texts agrees with the truth of each text, in outputs and in the states that come back."""
    require_packs(subject)
    tokens, start = pack(subject, case, lengths), draw_start(subject, case)
    truth = subject.truth_of_pack(case, tokens, lengths, start)
    nulls = null_models(tokens, lengths, start, truth, subject.scale(case))
    count_power(subject, law, nulls, truth, state=state)
    out, last = subject.attend(case, tokens, start, lengths=lengths)
    if state and last is None:
        raise NotApplicable("it returns no state")
    require_close(out, truth.out, truth.bounds.out, f"out of {what}")
    if last is not None:
        rows = slice(None) if "ends" in subject.roles else slice(-1, None)
        require_close(last, truth.state[rows], truth.bounds.state[rows], f"states after {what}")


def packed_texts_begin_with_states_of_their_own(subject: LinearAttention, case: ParameterCase) -> None:
    """Every text of a pack is linear attention by itself: nothing of the one before is in its state.

    Formula: f(pack)[text] = f(text; its initial state), outputs and last states, lengths 15 .. 17 and 63 .. 65, too
    Source: derivations/linear_attention.md (two-parts); THUDM/slime PR1686, vllm-project/vllm PR23279
    Fault: state_runs_over_borders
    """
    lengths, law = draw_lengths(case), "packed_texts_begin_with_states_of_their_own"
    check_pack(subject, case, lengths, f"texts of {_list(lengths)} tokens", law, state=False)


def empty_texts_keep_their_state(subject: LinearAttention, case: ParameterCase) -> None:
    """A text without tokens, first, between or last, ends with the state that it began with, and moves no other.

    Formula: n = 0 implies S_n = S_0; other texts as without it
    Source: Dao-AILab/flash-attention#2562 (empty texts of a pack); requests without new tokens in a batch of serving
    Fault: states_of_full_texts_alone
    """
    require_packs(subject)
    if "ends" not in subject.roles:
        raise NotApplicable("the numbers of texts cannot name an empty one")
    lengths = draw_lengths(case)
    lengths.insert(int(case.rng("empty").integers(len(lengths) + 1)), 0)
    case = case.with_(B=len(lengths))
    what, law = f"texts of {_list(lengths)} tokens", "empty_texts_keep_their_state"
    check_pack(subject, case, lengths, what, law, state=False)


def _list(lengths: list[int]) -> str:
    """Lengths in words."""
    *first, last = map(str, lengths)
    return f"{', '.join(first)} and {last}" if first else last


RANGES = {"B": (1, 4), "H": (1, 3), "n": (1, 9), "d": (1, 8), "d_v": (1, 8)}
EMPTY = Sizes({**RANGES, "B": (1, 3)})


def longer(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Texts longer than a block in a third of the cases."""
    if rng.random() < 0.33:
        return {
            **sizes,
            "n": int(rng.integers(17, 66)),
            "H": 1,
            "d": int(rng.integers(1, 5)),
            "d_v": int(rng.integers(1, 5)),
        }
    return sizes


PACKS = Sizes({**RANGES, "B": (2, 4)}, {"lengths": ("any", "any", "edges")}, adjust=longer)
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "linear_texts", "small": 0}
LAWS = (
    Law(packed_texts_begin_with_states_of_their_own, space=PACKS, large=14, **ROW),
    Law(empty_texts_keep_their_state, space=EMPTY, large=6, **ROW),
)
COMPARISONS = tuple(law.name for law in LAWS)
