"""Laws of windows, soft caps, sinks and slopes inside packed texts and over pages.

Truth, budget and null models are those of `attention` with these features, a text at a time. What is new are
positions: those of a text, whatever row of the pack or slot of the pages a token lies in.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.counts import share_heads
from attention_core.conformance.cases.features import NULLS, OTHER_CORNER, Features, Posed, distances, pose
from attention_core.conformance.laws import paged, varlen
from attention_core.conformance.laws.paged import paging_of, without_page
from attention_core.conformance.laws.varlen import as_in_models, check_pack, heads_of, note_power, outputs_of
from attention_core.conformance.subjects.evidence import NotApplicable
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.packed_case import PackedCase
from attention_core.conformance.subjects.packed_subject import FAR, PACKED, Pack, PackedSubject, Setting
from attention_core.conformance.subjects.paged_subject import PagedSubject, Paging
from attention_core.conformance.subjects.parameter_case import Sizes
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.features import PAIRS, SYMMETRIC

POSITIONS = ("window", "alibi_slopes")
"""Features that depend on where a token stands in its text."""
HIGH = 2.0**13
"""A cap beyond the scores of most cases, which every dtype holds."""
Called = tuple[Pack, Setting]


def call_with(subject: PackedSubject, case: PackedCase, wanted: str) -> Called:
    """The arrays and the setting of a case with a feature.

    Raises: NotApplicable where the target, or the case, does not have it.
    """
    if wanted not in subject.roles:
        raise NotApplicable(f"it has no parameter for {wanted.replace('_', ' ')}")
    pack, setting = subject.pack(case), subject.setting(case)
    if wanted not in setting.features.given():
        raise NotApplicable
    return pack, setting


def null_models(
    subject: PackedSubject, case: PackedCase, call: Called, wanted: str, paging: Paging | None = None
) -> dict[str, NDArray]:
    """The outputs of calls that get a feature wrong, by what they get wrong."""
    pack, setting = call
    found = {
        wrong: outputs_of(subject, pack, replace(setting, features=features))
        for wrong, features in NULLS[wanted](setting.features, subject.window_kind)
    }
    if wanted not in POSITIONS:
        return found
    corner, name = subject.implementation.causal, wanted.replace("alibi_", "")

    def from_the_other_corner(i: int, one: Case, features: Features) -> Posed:
        return pose(one, features, corner, distances(one, features, OTHER_CORNER[corner]))

    def along_the_pack(i: int, one: Case, features: Features) -> Posed:
        rows, keys = (np.arange(pack.rows(i, which).start, pack.rows(i, which).stop) for which in (0, 1))
        return pose(one, features, corner, rows[:, None] - keys)

    found[f"{name} from the other corner"] = subject.outputs(pack, setting, from_the_other_corner)
    if paging is None:
        found[f"{name} along the pack"] = subject.outputs(pack, setting, along_the_pack)
    else:
        found[f"{name} along the slots of pages"] = _along_the_slots(subject, case, call, paging)
    return found


def _along_the_slots(subject: PackedSubject, case: PackedCase, call: Called, paging: Paging) -> NDArray:
    """The outputs where a key stands at its page's number times the page's size, and its place in the page."""
    assert isinstance(subject, PagedSubject)
    pages, corner = subject.pages(case, call[0], paging), subject.implementation.causal

    def by_slots(i: int, one: Case, features: Features) -> Posed:
        page, at = pages.places(i, 0, one.sizes[1])
        first = distances(one, features, corner)[0, 0, :, :1]  # how far key 0 lies after each query
        return pose(one, features, corner, first - (page * paging.page + at))

    return subject.outputs(call[0], call[1], by_slots)


def agrees(subject: PackedSubject, case: PackedCase, law: str, wanted: str, paging: Paging | None = None) -> None:
    """The output of a pack with a feature is the truth of every text.

    Raises: NotApplicable where no wrong feature would stand out: such a case cannot fail.
    """
    pack, setting = call_with(subject, case, wanted)
    nulls = null_models(subject, case, (pack, setting), wanted, paging)
    if not note_power(subject, law, subject.judge(case, pack, setting), nulls):
        raise NotApplicable(f"no wrong {wanted.replace('_', ' ')} would stand out")
    how: dict[str, Any] = {} if paging is None else {"paging": paging}
    check_pack(subject, case, pack, setting, "out", **how)


def features_of_nothing(subject: PackedSubject, case: PackedCase) -> Setting:
    """A setting whose features leave every score as it is, or nearly: caps beyond all scores, low sinks, slopes of 0.

    Raises: NotApplicable where the target has none of these.
    """
    heads, kind = case.heads, subject.window_kind
    low = np.full(heads, -np.inf if case.seed % 2 else -1e3)
    wide = (FAR, FAR) if kind in (*PAIRS, *SYMMETRIC) else None
    values: dict[str, Any] = {"window": wide, "softcap": HIGH, "sinks": low, "alibi_slopes": np.zeros(heads)}
    features = Features(**{k: v for k, v in values.items() if k in subject.roles and v is not None})
    if not features.given():
        raise NotApplicable(f"it has no parameter for {', '.join(PACKED).replace('_', ' ')}")
    return replace(subject.setting(case), features=features)


# --- packed texts -------------------------------------------------------------------------------------------


def packed_windows_are_the_texts_own(subject: PackedSubject, case: PackedCase) -> None:
    """A row of a pack sees the keys in its window, counted along its own text.

    Formula: |f(pack, window)[text] - softmax over i + o - l <= j <= i + o + r| <= E_o, o = 0 or n_kv - n_q
    Source: derivations/features.md (in-window); huggingface/transformers#39408
    Fault: window_along_the_pack
    """
    agrees(subject, case, packed_windows_are_the_texts_own.__name__, "window")


def packed_scores_are_capped(subject: PackedSubject, case: PackedCase) -> None:
    """A soft cap c turns a scaled score s of any text into c tanh(s / c), before the mask.

    Formula: |f(pack, c)[text] - softmax(c tanh(scale q k^T / c) + b) v| <= E_o
    Source: derivations/features.md (capped); Dao-AILab/flash-attention, flash_attn_varlen_func (softcap)
    Fault: packed_cap_ignored
    """
    agrees(subject, case, packed_scores_are_capped.__name__, "softcap")


def packed_sinks_take_their_weight(subject: PackedSubject, case: PackedCase) -> None:
    """The sink of a head counts once in the normaliser of each of its rows, in every text.

    Formula: |f(pack, z)[text] - sum_j e^s_j v_j / (e^z + sum_j e^s_j)| <= E_o
    Source: derivations/features.md (sink-key); vllm-project/vllm, unified_attention (sinks)
    Fault: sinks_of_the_first_text_alone
    """
    agrees(subject, case, packed_sinks_take_their_weight.__name__, "sinks")


def packed_scores_fall_with_distance(subject: PackedSubject, case: PackedCase) -> None:
    """A score falls by the slope of its head times the distance of query and key in their own text.

    Formula: |f(pack, m)[text] - softmax(scale q k^T - m_h |i + o - j|) v| <= E_o, o = 0 or n_kv - n_q
    Source: derivations/features.md (distance); Dao-AILab/flash-attention, flash_attn_varlen_func (alibi_slopes)
    Fault: slopes_along_the_pack
    """
    agrees(subject, case, packed_scores_fall_with_distance.__name__, "alibi_slopes")


def packed_features_of_nothing_change_nothing(subject: PackedSubject, case: PackedCase) -> None:
    """A window and a cap beyond all, sinks of no weight and slopes of 0 leave a pack as it is without them.

    Formula: f(pack, l = r = 2^20, c = 2^13, z = -inf, m = 0) = f(pack) but for c tanh(s / c) - s
    Source: derivations/features.md (wide-window), (high-cap), (low-sink), (flat)
    Fault: packed_cap_of_5_at_most
    """
    check_pack(subject, case, subject.pack(case), features_of_nothing(subject, case), "out")


def packed_gradients_with_features_are_true(subject: PackedSubject, case: PackedCase) -> None:
    """The gradients of query, key and value have the features of their text, and sinks get those of all texts.

    Formula: |d_x' - d_x| <= E_x for x of query, key, value, sinks
    Source: derivations/features.md (cap-derivative), (sink-gradient), (sink-sum); Dao-AILab/flash-attention#1973
    Fault: sink_gradient_of_the_first_text
    """
    setting = subject.setting(case)
    if not setting.features.given():
        raise NotApplicable
    varlen.require_gradients(subject, case, subject.pack(case), setting, setting.describe())


# --- pages --------------------------------------------------------------------------------------------------


def paged_windows_are_the_texts_own(subject: PagedSubject, case: PackedCase) -> None:
    """A row sees the keys in its window, counted along its text and not along the pages.

    Formula: |f(q, pages, window) - softmax over i + o - l <= j <= i + o + r| <= E_o, o = n_kv - n_q
    Source: derivations/features.md (in-window); vllm-project/vllm PR4768
    Fault: window_along_the_slots
    """
    agrees(subject, case, paged_windows_are_the_texts_own.__name__, "window", paging_of(case))


def paged_scores_are_capped(subject: PagedSubject, case: PackedCase) -> None:
    """A soft cap c turns a scaled score s of any page into c tanh(s / c), before the mask.

    Formula: |f(q, pages, c) - softmax(c tanh(scale q k^T / c) + b) v| <= E_o
    Source: derivations/features.md (capped); vllm-project/vllm, unified_attention (softcap)
    Fault: paged_cap_ignored
    """
    agrees(subject, case, paged_scores_are_capped.__name__, "softcap", paging_of(case))


def paged_sinks_take_their_weight(subject: PagedSubject, case: PackedCase) -> None:
    """The sink of a head counts once in the normaliser of each of its rows, however many pages there are.

    Formula: |f(q, pages, z) - sum_j e^s_j v_j / (e^z + sum_j e^s_j)| <= E_o
    Source: derivations/features.md (sink-key); vllm-project/vllm, unified_attention (sinks)
    Fault: sinks_once_a_page
    """
    agrees(subject, case, paged_sinks_take_their_weight.__name__, "sinks", paging_of(case))


def paged_scores_fall_with_distance(subject: PagedSubject, case: PackedCase) -> None:
    """A score falls by the slope of its head times the distance in the text, wherever the page lies.

    Formula: |f(q, pages, m) - softmax(scale q k^T - m_h |i + o - j|) v| <= E_o, o = n_kv - n_q
    Source: derivations/features.md (distance); vllm-project/vllm, paged_attention (alibi_slopes)
    Fault: slopes_along_the_slots
    """
    agrees(subject, case, paged_scores_fall_with_distance.__name__, "alibi_slopes", paging_of(case))


def paged_features_of_nothing_change_nothing(subject: PagedSubject, case: PackedCase) -> None:
    """A window and a cap beyond all, sinks of no weight and slopes of 0 leave a call as it is without them.

    Formula: f(q, pages, l = r = 2^20, c = 2^13, z = -inf, m = 0) = f(q, pages) but for c tanh(s / c) - s
    Source: derivations/features.md (wide-window), (high-cap), (low-sink), (flat)
    Fault: paged_cap_of_5_at_most
    """
    check_pack(subject, case, subject.pack(case), features_of_nothing(subject, case), "out", paging=paging_of(case))


WIDTHS = ((2, 0), (1, 1), (3, 2), (0, 0), (-1, 1), (2, -1), (-1, 0), (1, 4), (7, 0), (16, 3))
OPTIONS: dict[str, tuple[Any, ...]] = {
    "sides": WIDTHS, "softcap": (0.5, 1.0, 2.0), "sinks": (True,), "slopes": (True,),
}  # fmt: skip
OPTION_OF = {"window": "sides", "softcap": "softcap", "sinks": "sinks", "alibi_slopes": "slopes"}
LENGTHS = ("any", "any", "same", "chunk", "chunk", "decode", "edges")


def asking(wanted: str, ranges: dict[str, tuple[int, int]], lengths: tuple[str, ...], **fields: Any) -> Sizes:
    """Cases that ask for one feature and now and then for others; for each in half of them where none is wanted."""
    options: dict[str, tuple[Any, ...]] = {"causal": (False, True), "scale": (None, None, 0.5), "lengths": lengths}
    for name, values in OPTIONS.items():
        without = (2 if wanted else 1) * len(values) * (None,)
        options[name] = values if name == OPTION_OF.get(wanted) else (*without, *values)
    return Sizes(ranges, options, **fields)


def rows_of(wanted: str) -> dict[str, dict[str, Any]]:
    """What the laws of a feature declare, by contract."""
    own = {"family": "packed_features", "large": 10, "small": 0, "feature": wanted}
    packed = asking(wanted, heads_of(group=(1, 2)), LENGTHS, adjust=as_in_models)
    pages = asking(wanted, heads_of(group=(1, 2), page=(1, 5)), ("any", "same", "decode", "edges"), adjust=without_page)
    return {
        varlen.CONTRACT: {**own, "contract": varlen.CONTRACT, "space": packed},
        paged.CONTRACT: {**own, "contract": paged.CONTRACT, "space": pages},
    }


GRADIENTS = asking(
    "", heads_of(H_kv=(1, 5), most=(1, 8)), ("any", "same", "empty", "chunk"), adjust=share_heads(share=0.7)
)
LAWS = (
    Law(packed_windows_are_the_texts_own, **rows_of("window")[varlen.CONTRACT]),
    Law(packed_scores_are_capped, **rows_of("softcap")[varlen.CONTRACT]),
    Law(packed_sinks_take_their_weight, **rows_of("sinks")[varlen.CONTRACT]),
    Law(packed_scores_fall_with_distance, **rows_of("alibi_slopes")[varlen.CONTRACT]),
    Law(packed_features_of_nothing_change_nothing, **rows_of("")[varlen.CONTRACT]),
    Law(
        packed_gradients_with_features_are_true, **{**rows_of("")[varlen.CONTRACT], "space": GRADIENTS, "large": 14},
        **varlen.GRADIENTS,
    ),
    Law(paged_windows_are_the_texts_own, **rows_of("window")[paged.CONTRACT]),
    Law(paged_scores_are_capped, **rows_of("softcap")[paged.CONTRACT]),
    Law(paged_sinks_take_their_weight, **rows_of("sinks")[paged.CONTRACT]),
    Law(paged_scores_fall_with_distance, **rows_of("alibi_slopes")[paged.CONTRACT]),
    Law(paged_features_of_nothing_change_nothing, **rows_of("")[paged.CONTRACT]),
)  # fmt: skip
COMPARISONS = tuple(law.name for law in LAWS)
