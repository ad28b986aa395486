"""The contracts: what kind of target is tested, with which subject, cases and laws.

A contract ties together four things that the search needs and that laws of different contracts do not share. Further
packages add theirs through the entry-point group `attention_core.contracts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.draw import draw
from attention_core.conformance.cases.small import declared_sizes, small_cases
from attention_core.conformance.cases.space import Space, small_members
from attention_core.conformance.first_look import FirstLook
from attention_core.conformance.first_look.functions import look_at_function
from attention_core.conformance.first_look.modules import findings
from attention_core.conformance.first_look.parameters import CHOICES as CHOICES_OF_PARAMETERS
from attention_core.conformance.first_look.parameters import look_at_parameters
from attention_core.conformance.first_look.whole_rows import look_at_self_attention
from attention_core.conformance.laws import (
    between_calls,
    bias,
    block_mask,
    cache_changes,
    cross_cache,
    handing_out,
    indexer,
    kv_cache,
    latent_attention,
    laws_of,
    linear_attention,
    linear_gradients,
    linear_texts,
    mask_builder,
    merge,
    module_calls,
    module_gradients,
    module_weights,
    multi_head,
    packed_features,
    paged,
    position_table,
    process_state,
    quantised,
    rotary,
    rotation,
    seed_attention,
    seed_steps,
    split_merge_heads,
    stored_pages,
    topk_index,
    tree_mask,
    variant_attention,
    varlen,
)
from attention_core.conformance.laws.cache_methods import ChangingCache
from attention_core.conformance.subjects.binding import bind
from attention_core.conformance.subjects.block_subject import BlockSubject
from attention_core.conformance.subjects.core import plain_call, plain_cases
from attention_core.conformance.subjects.cross_subject import CrossSubject
from attention_core.conformance.subjects.grouped_call import with_grouped_heads
from attention_core.conformance.subjects.indexed_subject import IndexedSubject
from attention_core.conformance.subjects.indexer_subject import IndexerSubject
from attention_core.conformance.subjects.latent_subject import LatentSubject
from attention_core.conformance.subjects.law import Law, with_comparisons, with_roles
from attention_core.conformance.subjects.linear_subject import LinearAttention
from attention_core.conformance.subjects.merge_subject import Merger
from attention_core.conformance.subjects.packed_case import PackedCase
from attention_core.conformance.subjects.packed_subject import PackedSubject
from attention_core.conformance.subjects.paged_subject import PagedSubject
from attention_core.conformance.subjects.parameter_case import (
    ParameterCase,
    ParameterSubject,
    allows_parameters,
    draw_parameters,
    restrict_parameters,
)
from attention_core.conformance.subjects.quantised_subject import QuantisedSubject
from attention_core.conformance.subjects.session_subject import SessionSubject
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.subjects.tree_subject import TreeSubject
from attention_core.conformance.subjects.variant_subject import VariantSubject
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.features import FEATURES
from attention_core.declaration.implementation import Implementation, TargetError, summarize_error


@dataclass(frozen=True)
class Contract:
    """One kind of target.

    Args:
        name: e.g. "attention".
        subject: `(runner, implementation, description, seed) -> subject` given to the laws.
        restrict: `(subject, law) -> space`; raises NotApplicable when the law has no case within what is declared.
        draw: `(subject, space, rng) -> case or None`, the large source.
        small: `(subject, space) -> Hypothesis strategy` or None, the small source.
        core: spaces of which one case each must be accepted for the target to conform.
        from_json: rebuilds a saved case.
        allows: `(subject, space, case)`: whether a shrunk case is still allowed.
        widest: `(subject, space)`: a space whose small cases serve this one too where they fit, or None.
        ask: `(subject, case)`: the plain call of a core case.
        look: `(runner, implementation, description, seed)`: the first look at a target, before any law; None without.
        gradients: whether a law of it tests gradients where there are any; where none does, every report says so.
    """

    name: str
    subject: Callable[[Runner, Implementation, Mapping[str, Any], int], SessionSubject]
    restrict: Callable[[Any, Law], Any]
    draw: Callable[[Any, Any, np.random.Generator], Any]
    small: Callable[[Any, Any], Any]
    core: Callable[[Any], list[tuple[str, Any]]]
    from_json: Callable[[Mapping[str, Any]], Any]
    allows: Callable[[Any, Any, Any], bool] = lambda subject, space, case: True
    widest: Callable[[Any, Any], Any] = lambda subject, space: None
    laws: tuple[Law, ...] = ()
    ask: Callable[[Any, Any], object] = lambda subject, case: subject.forward(case)
    look: Callable[[Runner, Implementation, Mapping[str, Any], int], FirstLook | None] | None = None
    gradients: bool = True


def _attention_subject(runner: Runner, implementation: Implementation, description: Any, seed: int) -> Subject:
    binding = with_grouped_heads(bind(implementation, description), runner)
    judged = {claim for law in laws_of(implementation.contract) for claim in law.needs}
    unjudged = {"dropout_p", *FEATURES} - judged
    binding = replace(binding, claims=binding.claims - unjudged)  # a claim that no law judges is untested
    return Subject(runner, binding, seed)


def _restrict(subject: Subject, law: Law) -> Space | None:
    return subject.binding.profile().restrict(law.space, "" if law.central else law.family)


def _draw(subject: Subject, space: Space, rng: np.random.Generator) -> Case | None:
    return draw(space, subject.binding.profile(), rng)


def _small(subject: Subject, space: Space) -> Any:
    profile, wish = subject.binding.profile(), space.for_small()
    if profile.pool and not small_members(wish):
        return None
    return small_cases(wish, profile) if space.small and declared_sizes(wish, profile) else None


CORE_MISSES = 20
"""So many draws without any declared size (50 tries each), and no core case is looked for any longer."""


def _core(subject: Subject) -> list[tuple[str, Case]]:
    """Unmasked problems at aligned and at unaligned sizes, one pair per declared dtype."""
    rng = np.random.default_rng(0)
    profile = subject.binding.profile()
    plain = Space(
        masks=("none",), causal=(profile.always_causal,), scales=False, grouped=False, regimes=("normal",), max_n=65
    )
    found: list[tuple[str, Case]] = []
    misses = 0
    for dtype in profile.dtypes:
        wish = plain.with_(dtypes=(dtype,))
        wish = profile.restrict(wish) or wish
        for kind, divides in (("aligned", True), ("unaligned", False)):
            for _ in range(400):
                case = draw(wish, profile, rng)
                misses += case is None
                if misses > CORE_MISSES:
                    return found
                if case is not None and all(n % 8 == 0 for n in case.sizes[:2]) is divides:
                    found.append((f"{dtype}/{kind}", case))
                    break
    return found


def _allows(subject: Subject, space: Space, case: Case) -> bool:
    return subject.binding.profile().allows(case.sizes) and space.contains(case)


def _widest(subject: Subject, space: Space) -> Space | None:
    profile = subject.binding.profile()
    return None if space.dead or profile.pool else profile.restrict(Space())


def attention_contract(name: str = "attention") -> Contract:
    """The contract of `attention` (and of its relatives that share its cases)."""
    return Contract(
        name,
        _attention_subject,
        _restrict,
        _draw,
        _small,
        _core,
        Case.from_json,
        _allows,
        _widest,
        with_roles(with_comparisons(laws_of(name))),
        look=look_at_function,
    )


def parameter_contract(family: ModuleType, subject: Callable[..., Any] = ParameterSubject) -> Contract:
    """A contract whose cases are sizes and options; `family` is the file of its laws, with `CONTRACT` and `LAWS`.

    Its `COMPARISONS` name the laws, beside the central one, that hold an output against a truth.
    """
    shared = tuple(
        law for law in (*between_calls.LAWS, *handing_out.LAWS, *process_state.LAWS) if law.contract == family.CONTRACT
    )
    laws = (*with_comparisons(family.LAWS, *getattr(family, "COMPARISONS", ())), *shared)
    return Contract(
        family.CONTRACT, subject, restrict_parameters, draw_parameters, _no_small,
        partial(plain_cases, family.CONTRACT), ParameterCase.from_json, allows_parameters, laws=laws,
        ask=partial(plain_call, family.CONTRACT), look=_look_at(family.CONTRACT, subject, laws),
        gradients=getattr(family, "GRADIENTS", True),
    )  # fmt: skip


def _look_at(contract: str, subject: Callable[..., Any], laws: tuple[Law, ...]) -> Callable[..., FirstLook] | None:
    """The first look of a contract whose parameters are found by calls; None for the others."""
    if contract not in CHOICES_OF_PARAMETERS:
        return None
    return partial(look_at_parameters, subject, laws)


def _no_small(subject: Any, space: Any) -> None:
    """These contracts have one source: their cases are a few numbers already."""


def _lse_subject(runner: Runner, implementation: Implementation, description: Any, seed: int) -> Subject:
    return _attention_subject(runner, implementation.with_(returns="out,lse"), description, seed)


def lse_contract() -> Contract:
    """The contract of functions that return (out, lse)."""
    return replace(attention_contract("attention-lse"), subject=_lse_subject)


def batch_invariant_contract() -> Contract:
    """The contract of attention whose bits do not depend on what else is computed."""
    return attention_contract("batch-invariant")


def module_contract() -> Contract:
    """The contract of multi-head modules, whose laws fill four files."""
    contract = parameter_contract(multi_head, multi_head.MultiHead)
    return replace(
        contract, laws=(*contract.laws, *module_weights.LAWS, *module_calls.LAWS, *module_gradients.LAWS),
        draw=multi_head.draw_module,
        allows=multi_head.allows_module, look=_look_at_module,
    )  # fmt: skip


def cache_contract() -> Contract:
    """The contract of key-value caches, those that take tokens back or reorder rows among them."""
    contract = parameter_contract(kv_cache, ChangingCache)
    *laws, process = contract.laws
    own = with_comparisons(cache_changes.LAWS, *cache_changes.COMPARISONS)
    return replace(contract, laws=(*laws, *own, process))


def packed_contract(family: ModuleType, subject: Callable[..., Any]) -> Contract:
    """A contract of several texts in one call, with the features that such calls have."""
    contract, name = parameter_contract(family, subject), family.CONTRACT
    families = (packed_features, stored_pages)
    laws_of = (with_comparisons(one.LAWS, *one.COMPARISONS) for one in families)
    own = [law for found in laws_of for law in found if law.contract == name]
    *laws, process = contract.laws
    return replace(contract, laws=(*laws, *own, process), from_json=PackedCase.from_json)


def linear_contract() -> Contract:
    """The contract of linear attention, whose laws fill three files."""
    contract = parameter_contract(linear_attention, LinearAttention)
    *laws, process = contract.laws
    more = (with_comparisons(family.LAWS, *family.COMPARISONS) for family in (linear_texts, linear_gradients))
    return replace(contract, laws=(*laws, *(law for laws in more for law in laws), process))


def seed_contract() -> Contract:
    """The contract of functions of projected tokens that cut heads themselves."""
    return replace(parameter_contract(seed_attention, seed_attention.SelfAttention), look=look_at_self_attention)


def _look_at_module(
    runner: Runner, implementation: Implementation, description: Mapping[str, Any], seed: int
) -> FirstLook:  # fmt: skip
    return findings(multi_head.MultiHead(runner, implementation, description, seed))


BUILT_IN: tuple[Callable[[], Contract], ...] = (
    attention_contract,
    lse_contract,
    partial(parameter_contract, mask_builder, mask_builder.MaskBuilder),
    partial(parameter_contract, split_merge_heads),
    module_contract,
    partial(parameter_contract, rotary, rotation.Rotary),
    partial(parameter_contract, bias),
    partial(parameter_contract, position_table),
    cache_contract,
    seed_contract,
    partial(parameter_contract, seed_steps, seed_steps.StepFunction),
    partial(parameter_contract, merge, Merger),
    partial(packed_contract, varlen, PackedSubject),
    partial(packed_contract, paged, PagedSubject),
    linear_contract,
    partial(parameter_contract, quantised, QuantisedSubject),
    partial(parameter_contract, block_mask, BlockSubject),
    partial(parameter_contract, latent_attention, LatentSubject),
    partial(parameter_contract, tree_mask, TreeSubject),
    partial(parameter_contract, topk_index, IndexedSubject),
    partial(parameter_contract, indexer, IndexerSubject),
    partial(parameter_contract, variant_attention, VariantSubject),
    partial(parameter_contract, cross_cache, CrossSubject),
    batch_invariant_contract,
)


def built_in() -> dict[str, Contract]:
    """The contracts of attention and its parts by name: those of this package."""
    return {c.name: c for c in (make() for make in BUILT_IN)}


def contracts() -> dict[str, Contract]:
    """Every contract by name, those that packages add at `attention_core.contracts` included.

    Raises: TargetError where one that a package adds cannot be loaded.
    """
    added = (_load_contract(entry) for entry in entry_points(group="attention_core.contracts"))
    return {**built_in(), **{contract.name: contract for contract in added}}


def find_contract(name: str) -> Contract:
    """One contract; those of other packages are loaded only where they are used.

    Raises:
        TargetError: there is no such contract, or it cannot be loaded.
    """
    known = built_in()
    if name in known:
        return known[name]
    entries = {entry.name: entry for entry in entry_points(group="attention_core.contracts")}
    if name not in entries:
        near = get_close_matches(name, [*known, *entries], 1)
        if near:
            raise TargetError(f"no contract {name!r}; did you mean {near[0]}? `attention-core contracts` lists all")
        raise TargetError(f"no contract {name!r}; there are: {', '.join([*known, *entries])}")
    return _load_contract(entries[name])


def _load_contract(entry: EntryPoint) -> Contract:
    """The contract that a package adds under a name."""
    try:
        made = entry.load()
        contract: Contract = made() if callable(made) else made
    except Exception as error:
        raise TargetError(
            f"contract {entry.name!r} ({entry.value}) cannot be loaded: {summarize_error(error)}"
        ) from error
    return contract
