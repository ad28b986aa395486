"""Laws of the importance of attention heads: `finetune.laws.head_importance.head_probe.make_target(...)`.

Its arguments are `gradient`, `ablation`, `agreement`, `choose`, `gate` and `prune`, each a function of yours; those
that are given are judged. The losses are known functions of the gates, so both importances follow in closed form, text
by text; a layer with gated or pruned heads is held against the formula in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_core.conformance.laws.process_state import law_of
from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Refused,
    Shown,
    Violation,
    require_close,
    require_same,
)
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes
from finetune.laws.head_importance.measured import MEASURES, SINGLE, Measured, kept_gates, spearman, split

CONTRACT = "head-importance"


# --- both measures of importance ------------------------------------------------------------------------------


def a_slope_counts_by_its_size(subject: Measured, case: ParameterCase) -> None:
    """The importance of a head by the gradient of one text is the absolute value of its slope along the gate.

    Formula: I_lh = |d loss / d g_lh| at g = 1
    Source: Michel et al. (2019), equation 2; signed slopes of texts cancel, and a head that hurts ranks last
    Fault: signed_slopes
    """
    subject.require_importance(case, "gradient", [[0]], "importance by the gradient, of one text")


def texts_of_a_batch_do_not_cancel(subject: Measured, case: ParameterCase) -> None:
    """Each text of a batch has a slope of its own: the absolute value is taken before the mean.

    Formula: I_lh = 1 / N sum_i |d loss_i / d g_lh|, not |sum_i d loss_i / d g_lh| / N
    Source: Michel et al. (2019), equation 2 (the expectation of an absolute value)
    Fault: one_gradient_a_batch
    """
    batch = [list(range(case["N"]))]
    subject.require_importance(case, "gradient", batch, "importance by the gradient, of one batch")


def each_batch_has_its_own_slopes(subject: Measured, case: ParameterCase) -> None:
    """The gates' gradients are zeroed between batches: what earlier ones left is not counted again.

    Formula: I_lh over batches b = sum_b sum_(i in b) |d loss_i / d g_lh| / N
    Source: a well-known script for head importance calls backward for every batch and never zeroes its head mask
    Fault: gates_never_zeroed
    """
    subject.require_importance(
        case, "gradient", split(case, even=True), "importance by the gradient, of several batches"
    )


def every_text_weighs_the_same(subject: Measured, case: ParameterCase) -> None:
    """Over batches of different sizes the importance is the mean over all texts, not the mean of the batches' means.

    Formula: I_lh = sum_i |s_ilh| / N by the gradient; sum_i (loss_i(g_lh = 0) - loss_i(1)) / N by ablation
    Source: a last, shorter batch whose texts count more than the others
    Fault: mean_of_means
    """
    judged = 0
    for kind in MEASURES:
        try:
            subject.require_importance(
                case, kind, split(case, even=False), f"importance by {kind}, batches of two sizes"
            )
        except NotApplicable:
            continue
        judged += 1
    if not judged:
        raise NotApplicable("make_target() was given neither gradient nor ablation")


def a_head_is_taken_out_alone(subject: Measured, case: ParameterCase) -> None:
    """By ablation a head has the rise of the loss without it, all other heads as they are.

    Formula: I_lh = loss(g_lh = 0, all others 1) - loss(1)
    Source: Michel et al. (2019), section 3.2 (one head at a time); the rest is neither scaled up nor taken out with it
    Fault: the_rest_is_scaled_up
    """
    subject.require_importance(case, "ablation", [[0]], "importance by ablation, of one text")


def a_head_that_hurts_has_a_negative_rise(subject: Measured, case: ParameterCase) -> None:
    """Where the loss falls without a head its importance by ablation is negative, over any number of texts.

    Formula: I_lh = 1 / N sum_i (loss_i(g_lh = 0) - loss_i(1)), with its sign
    Source: Voita et al. (2019): most heads can go, and some are better gone; an absolute value would keep these
    Fault: rises_without_their_sign
    """
    batch = [list(range(case["N"]))]
    subject.require_importance(case, "ablation", batch, "importance by ablation, of one batch")


def heads_are_measured_without_dropout(subject: Measured, case: ParameterCase) -> None:
    """Losses are computed in evaluation mode, in whichever mode the model was found.

    Formula: no module's training is True whenever a loss is computed
    Source: dropout on in evaluation: the rise of a loss is then the difference of two draws
    Fault: measured_in_training_mode
    """
    for kind, training in measures_of(subject, case):
        found = subject.measure(case, kind, split(case, even=False), training=training)
        if not len(found.calls):
            raise Violation(f"{kind}: got no call of the model, but should be measured on it", found.as_evidence())
        if found.calls[:, 0].any():
            raise Violation(f"{kind}: got modules in training mode, but should be none", found.as_evidence())


def measuring_changes_nothing(subject: Measured, case: ParameterCase) -> None:
    """A measure leaves the model's parameters and the batches as they were, and which parameters ask for gradients.

    Formula: theta' = theta and requires_grad' = requires_grad, bit by bit; batches after = batches before
    Source: an ablation that zeroes rows of the output projection in place, and does not put them back
    Fault: parameters_are_frozen
    """
    for kind, training in measures_of(subject, case):
        found = subject.measure(case, kind, split(case, even=False), training=training)
        for column, name in enumerate(("numbers in the batches", "parameters, or others that ask for gradients")):
            if not found.facts[:, column].all():
                raise Violation(f"{kind}: got other {name}, but should be as before", found.as_evidence())


def a_measure_remembers_nothing(subject: Measured, case: ParameterCase) -> None:
    """The same measure of the same texts again has the same result.

    Formula: I(model, batches), I(model, batches): equal
    Source: a running sum that is not begun anew; gates that are kept from one call to the next
    Fault: total_goes_on
    """
    for kind, training in measures_of(subject, case):
        found = subject.measure(case, kind, split(case, even=True), training=training)
        require_close(found.again, found.first.values, 0.0, f"importance by {kind}, measured again")


def ablation_keeps_no_graph(subject: Measured, case: ParameterCase) -> None:
    """An ablation computes no graph: a pass for every head would cost the memory of training.

    Formula: gradients are off whenever an ablation computes a loss
    Source: torch.no_grad() missing
    Fault: ablation_with_a_graph
    """
    found = subject.measure(case, "ablation", split(case, even=True))
    if found.calls[:, 1].any():
        raise Violation("ablation: got a graph, but should be computed without one", found.as_evidence())


def measures_of(subject: Measured, case: ParameterCase) -> list[tuple[str, bool]]:
    """The measures that were given, each with a mode in which it finds the model. Raises: NotApplicable without any."""
    found = []
    for kind in MEASURES:
        try:
            subject.measure(case, kind, [[0]])
        except NotApplicable:
            continue
        found.append((kind, bool(case.rng(kind).integers(2))))
    if not found:
        raise NotApplicable("make_target() was given neither gradient nor ablation")
    return found


# --- agreement, choice ----------------------------------------------------------------------------------------


def agreement_is_spearmans(subject: Measured, case: ParameterCase) -> None:
    """Two importances agree by the correlation of their ranks.

    Formula: rho = sum a_i b_i / sqrt(sum a_i^2 sum b_i^2) of centred ranks, within 2 (n + 8) u of float32
    Source: Spearman (1904); numbers of another scale, as rises and slopes are, are not to be correlated themselves
    Fault: values_correlated
    """
    n = case["L"] * case["H"]
    first, second = (case.rng(name).permutation(n) ** 2.0 for name in ("first", "second"))
    require_agreement(subject, case, first, second, "agreement")


def ties_share_their_mean_rank(subject: Measured, case: ParameterCase) -> None:
    """Heads of equal importance share the mean of their ranks, whatever order they stand in.

    Formula: rank(x) = #{y < x} + (#{y = x} + 1) / 2
    Source: Kendall (1948), tied ranks; heads that a ReLU or a mask has switched off are all equally unimportant
    Fault: ties_ranked_in_their_order
    """
    n = case["L"] * case["H"]
    first = np.r_[0.0, 0.0, case.rng("first").integers(0, 3, n - 3), 1.0]
    second = case.rng("second").permutation(n) * 1.0
    require_agreement(subject, case, case.rng("order").permutation(first), second, "agreement with ties")


def require_agreement(
    subject: Measured, case: ParameterCase, first: np.ndarray[Any, Any], second: np.ndarray[Any, Any], what: str
) -> None:
    """Raise where the agreement of two importances is not Spearman's, in either order of the two."""
    shape, want = (case["L"], case["H"]), spearman(first, second)
    bound = 2 * (first.size + 8) * SINGLE
    for a, b in ((first, second), (second, first)):
        (got,) = subject.outputs("agreement", 1, a.reshape(shape), b.reshape(shape), dtype=case.dtype)
        require_close(got, np.array([want]), bound, what)


def the_least_important_are_chosen(subject: Measured, case: ParameterCase) -> None:
    """Of all layers together those heads are chosen that have the smallest importance, negative ones first.

    Formula: { (l, h): rank(I_lh) <= count }, each once, in any order
    Source: Michel et al. (2019), section 4 (sorted over all layers)
    Fault: most_important_chosen
    """
    L, H = case["L"], case["H"]
    importance = (case.rng("importance").permutation(L * H) - (L * H) // 2).reshape(L, H) / 4.0
    count = int(case.rng("count").integers(1, L * H))
    (got,) = subject.outputs("choose", 1, importance, count, dtype=case.dtype)
    order = np.argsort(importance.reshape(-1))[:count]
    want = np.array(sorted((int(n) // H, int(n) % H) for n in order), float)
    rows = np.array(sorted(map(tuple, got.values.tolist())), float).reshape(-1, 2)
    if rows.shape != want.shape or (rows != want).any():
        names = [[(int(layer), int(head)) for layer, head in pairs] for pairs in (rows, want)]
        message = f"{count} heads: got {names[0]}, but should be {names[1]}"
        raise Violation(message, Evidence((Shown(got.request),), kind="crash"))


# --- gates and pruning ----------------------------------------------------------------------------------------


def a_gate_scales_its_head(subject: Measured, case: ParameterCase) -> None:
    """A gate multiplies what its own head hands to the output projection, and nothing else.

    Formula: y = W_o concat_h(g_h softmax(q_h k_h^T / sqrt(d)) v_h) + b_o
    Source: Michel et al. (2019), equation 1 (the mask variables)
    Fault: gated_weights_renormalised
    """
    gates = case.rng("gates").integers(0, 13, case["H"]) / 8.0
    want, bound = subject.layer_truth(case, gates)
    require_close(subject.gate(case, gates)[0], want, bound, "output under gates")


def open_gates_change_nothing(subject: Measured, case: ParameterCase) -> None:
    """With every gate at 1 a layer gives what it gives without gates.

    Formula: y(g = 1) = y, within both budgets
    Source: Michel et al. (2019), section 2.3; a gate after a sigmoid is not open at 1
    Fault: gates_behind_a_sigmoid
    """
    gates = np.ones(case["H"])
    _, bound = subject.layer_truth(case, gates)
    found, plain = subject.gate(case, gates)
    require_same(found, plain, 2 * bound, "output under gates of 1, against no gates")


def gates_are_gone_afterwards(subject: Measured, case: ParameterCase) -> None:
    """After a gated call the layer is what it was.

    Formula: y(g), then y = W_o concat_h(o_h) + b_o
    Source: a forward hook that is never removed: every later head is measured without the earlier ones
    Fault: gate_left_in_the_layer
    """
    gates = case.rng("gates").integers(0, 8, case["H"]) / 8.0
    want, bound = subject.layer_truth(case, np.ones(case["H"]))
    require_close(subject.gate(case, gates)[1], want, bound, "output without gates, after a call with them")


def gone_heads(case: ParameterCase) -> list[int]:
    """Some heads in any order, not all of them."""
    count = int(case.rng("count").integers(1, case["H"]))
    return [int(h) for h in case.rng("gone").permutation(case["H"])[:count]]


def require_gone(subject: Measured, case: ParameterCase, lists: list[list[int]], gone: list[int], what: str) -> None:
    """Raise where a layer pruned list by list is not the layer whose heads `gone` have gates of 0."""
    want, bound = subject.layer_truth(case, kept_gates(case["H"], gone))
    require_close(subject.prune(case, lists)[0], want, bound, what)


def a_pruned_head_adds_nothing(subject: Measured, case: ParameterCase) -> None:
    """A layer without some heads gives what it gives with gates of 0 on them; the scale stays that of a head.

    Formula: y = W_o concat_h(g_h o_h) + b_o, g_h = 0 for the heads that are gone
    Source: transformers, prune_linear_layer (rows of query, key and value, columns of the output)
    Fault: the_head_after_is_pruned
    """
    gone = gone_heads(case)
    require_gone(subject, case, [gone], gone, f"output without heads {sorted(gone)}")


def several_heads_go_at_once(subject: Measured, case: ParameterCase) -> None:
    """Several heads are taken out together, named in any order: the first one gone does not shift the others.

    Formula: prune(layer, P heads) = prune(layer, heads) for permutations P, each head by its number in the layer
    Source: a loop that prunes head by head, by numbers of the whole layer
    Fault: numbers_shift_under_the_loop
    """
    count = int(case.rng("several").integers(2, case["H"]))
    gone = [int(h) for h in case.rng("gone").permutation(case["H"])[:count]]
    require_gone(subject, case, [gone], gone, f"output without heads {gone}")


def the_last_head_may_go(subject: Measured, case: ParameterCase) -> None:
    """A layer without any head gives the bias of its output projection.

    Formula: y = b_o
    Source: gates of 0 on all heads; a layer of no rows divides by no head
    Fault: last_head_kept
    """
    gone = list(range(case["H"]))
    require_gone(subject, case, [gone], gone, "output without heads")


def a_head_named_twice_is_pruned_once(subject: Measured, case: ParameterCase) -> None:
    """A head that is named twice is taken out once.

    Formula: prune(layer, heads + heads) = prune(layer, heads)
    Source: transformers, find_pruneable_heads_and_indices (a set)
    Fault: pruned_one_after_the_other
    """
    gone = gone_heads(case)
    require_gone(subject, case, [gone + gone[::-1]], gone, f"output without heads {sorted(gone)}, each named twice")


def pruning_again_counts_as_declared(subject: Measured, case: ParameterCase) -> None:
    """A second pruning counts the heads that the layer has then (`numbers=old`: those that it had at first).

    Formula: prune(prune(layer, [a]), [b']) is the layer without a and b, b' = b - [a < b] (b' = b where declared)
    Source: transformers, pruned_heads (old numbers)
    Fault: pruning_again_by_old_numbers
    """
    a, b = sorted(int(h) for h in case.rng("again").permutation(case["H"])[:2])
    second = b if subject.parameters.get("numbers") == "old" else b - 1
    require_gone(subject, case, [[a], [second]], [a, b], f"output without head {a}, then without head {b}")


def a_pruned_head_is_gone(subject: Measured, case: ParameterCase) -> None:
    """Pruning takes numbers away: rows and biases of three maps, and columns of the fourth.

    Formula: numbers = 4 E^2 + 4 E - k (3 (E d + d) + d E) for k heads of d features
    Source: a mask of zeros saves no time; Michel et al. (2019), section 4.2 (speed)
    Fault: zeroed_in_place_of_pruned
    """
    gone, E, d = gone_heads(case), case["H"] * case["d"], case["d"]
    found = subject.prune(case, [gone])
    want = 4 * E * E + 4 * E - len(gone) * (3 * (E * d + d) + d * E)
    got = int(found[1].values[0])
    if got != want:
        message = f"without {len(gone)} of {case['H']} heads: got {got} numbers, but should be {want}"
        raise Violation(message, Evidence((found[1].show((0,)),), float(got), float(want)))


def a_pruned_layer_still_trains(subject: Measured, case: ParameterCase) -> None:
    """What was trained before is trained after a pruning, and what was frozen stays frozen.

    Formula: trained numbers = those of the maps that asked for gradients, less their rows; each is a leaf that gets one
    Source: slices of a parameter are not leaves; a new layer asks for gradients though the old one did not
    Fault: pruned_maps_are_frozen
    """
    gone, E, d = gone_heads(case), case["H"] * case["d"], case["d"]
    found = subject.prune(case, [gone], frozen=["query"])
    left = (case["H"] - len(gone)) * d
    want = 2 * (E * left + left) + left * E + E
    for place, what in ((1, "that ask for a gradient"), (2, "that get one")):
        got = int(found[1].values[place])
        if got != want:
            message = f"pruned with a frozen query: got {got} numbers {what}, but should be {want}"
            raise Violation(message, Evidence((found[1].show((place,)),), float(got), float(want)))


def an_unknown_head_is_refused(subject: Measured, case: ParameterCase) -> None:
    """A head that the layer does not have is refused.

    Formula: prune(layer, [H]) raises
    Source: an index that is left out in silence prunes fewer heads than the table says
    Fault: unknown_heads_are_left_out
    """
    gone = [case["H"]]
    request = subject.request(
        "prune", subject.x(case), *subject.weights(case), dtype=case.dtype, heads=case["H"], gone=[gone]
    )
    try:
        subject.prune(case, [gone])
    except Refused:
        return
    raise Violation(
        f"head {gone[0]} of {case['H']}: got a result, but should be refused",
        Evidence((Shown(request),), kind="must_raise"),
    )


FLOATS = ("float64", "float32")
LOSSES = Sizes({"N": (3, 9), "L": (2, 4), "H": (2, 5), "B": (1, 1), "n": (1, 1), "d": (1, 1)}, dtypes=FLOATS)
LAYERS = Sizes({"B": (1, 2), "n": (2, 5), "H": (2, 4), "d": (1, 3), "N": (1, 1), "L": (1, 1)}, dtypes=FLOATS)
SEVERAL = Sizes({**LAYERS.ranges, "H": (3, 5)}, dtypes=FLOATS)
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "head_importance", "large": 6, "small": 0}
LAWS = (
    *(
        Law(check, **ROW, space=LOSSES)
        for check in (
            a_slope_counts_by_its_size, texts_of_a_batch_do_not_cancel, each_batch_has_its_own_slopes,
            every_text_weighs_the_same, a_head_is_taken_out_alone, a_head_that_hurts_has_a_negative_rise,
            heads_are_measured_without_dropout, measuring_changes_nothing, a_measure_remembers_nothing,
            ablation_keeps_no_graph, agreement_is_spearmans, ties_share_their_mean_rank, the_least_important_are_chosen,
        )
    ),
    *(
        Law(check, **ROW, space=LAYERS)
        for check in (
            a_gate_scales_its_head, open_gates_change_nothing, gates_are_gone_afterwards, a_pruned_head_adds_nothing,
            the_last_head_may_go, a_head_named_twice_is_pruned_once, a_pruned_head_is_gone, a_pruned_layer_still_trains,
            an_unknown_head_is_refused,
        )
    ),
    *(Law(check, **ROW, space=SEVERAL) for check in (several_heads_go_at_once, pruning_again_counts_as_declared)),
    law_of(CONTRACT, LOSSES),
)  # fmt: skip
COMPARISONS = (
    "texts_of_a_batch_do_not_cancel", "a_head_that_hurts_has_a_negative_rise", "agreement_is_spearmans",
    "the_least_important_are_chosen", "a_gate_scales_its_head", "a_pruned_head_adds_nothing",
)  # fmt: skip
