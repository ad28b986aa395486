"""Laws of order: batch elements, heads, queries and keys have no order but the one that the results show.

Their family is "heads_and_batch"; they stand apart because they share the moves of results.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.derived import (
    NO_GRADIENTS,
    another_order,
    has_gradients,
    reorder,
    require_live,
    take_batch,
    take_heads,
    take_keys,
    take_queries,
)
from attention_core.conformance.laws.pairs import same_gradients, same_output
from attention_core.conformance.laws.visibility import judged_rows
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.subject import Subject


def permuting_the_batch_permutes_the_output(subject: Subject, case: Case) -> None:
    """Batch elements in another order give outputs in that order.

    Formula: f(x[pi]) = f(x)[pi]
    Source: derivations/laws.md (reversed)
    Fault: values_of_the_first_batch_element
    """
    order = another_order(case, case.query.shape[0], "batch order")
    other = take_batch(case, order)
    what = "output for a permuted batch"
    same_output(subject, case, other, what, move=reorder(0, order), where=judged_rows(subject, other))


def permuting_heads_permutes_the_output(subject: Subject, case: Case) -> None:
    """Heads in another order, query heads together with their key heads, give outputs in that order.

    Formula: f(q[:, pi], k[:, pi], v[:, pi]) = f(q, k, v)[:, pi]
    Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.2.2
    Fault: merged_without_permute
    """
    kv_heads, group = case.key.shape[1], case.group
    kv_order = another_order(case, kv_heads, "head order") if kv_heads > 1 else np.arange(1)
    inner = case.rng("order in the group").permutation(group)
    if kv_heads == 1:  # the members of the one group change places
        inner = another_order(case, group, "order in the group")
    order = (kv_order[:, None] * group + inner).reshape(-1)
    other = take_heads(case, order, kv_order)
    what = "output for permuted heads"
    same_output(subject, case, other, what, move=reorder(1, order), where=judged_rows(subject, other))


def permuting_queries_permutes_the_output(subject: Subject, case: Case) -> None:
    """Query rows in another order, with their mask rows, give output rows in that order.

    Formula: f(q[pi], k, v, b[pi]) = f(q, k, v, b)[pi]
    Source: Lee et al., "Set Transformer" (2019), property 1
    Fault: scores_grow_with_the_row
    """
    order = another_order(case, case.query.shape[-2], "query order")
    other = take_queries(case, order)
    what = "output for permuted queries"
    same_output(subject, case, other, what, move=reorder(-2, order), where=judged_rows(subject, other))


def permuting_keys_changes_nothing(subject: Subject, case: Case) -> None:
    """Keys in another order, with their values and mask columns, give the same output.

    Formula: f(q, k[pi], v[pi], b[:, pi]) = f(q, k, v, b)
    Source: Lee et al., "Set Transformer" (2019), section 3
    Fault: scores_fall_with_the_key
    """
    other = take_keys(case, another_order(case, case.key.shape[-2], "key order"))
    same_output(subject, case, other, "output for permuted keys", where=judged_rows(subject, other))


def permuting_keys_permutes_their_gradients(subject: Subject, case: Case) -> None:
    """Keys in another order have their gradients in that order, and the query's gradient stays.

    Formula: dQ(x') = dQ(x), dK(x') = dK(x)[pi], dV(x') = dV(x)[pi] for x' = (q, k[pi], v[pi], b[:, pi])
    Source: derivations/laws.md (reversed)
    Fault: gradient_of_the_first_key_block
    """
    require_live(subject, case)
    order = another_order(case, case.key.shape[-2], "key order")
    moves = {"key": reorder(-2, order), "value": reorder(-2, order)}
    same_gradients(subject, case, take_keys(case, order), "permuted keys", moves=moves)


SEVERAL = Space(min_batch=2, min_heads=2, max_n=129)
QUERIES = Space(causal=(False,), min_q=2, max_n=129)
KEYS = Space(causal=(False,), min_kv=2, max_n=129)

LAWS = (
    Law(permuting_the_batch_permutes_the_output, "heads_and_batch", space=SEVERAL, large=3, small=8),
    Law(permuting_heads_permutes_the_output, "heads_and_batch", space=SEVERAL, large=3, small=8),
    Law(permuting_queries_permutes_the_output, "heads_and_batch", space=QUERIES, large=3, small=8),
    Law(permuting_keys_changes_nothing, "heads_and_batch", space=KEYS, large=3, small=8),
    Law(
        permuting_keys_permutes_their_gradients, "heads_and_batch", declares=has_gradients,
        because=NO_GRADIENTS, space=KEYS.with_(max_n=65), large=3, small=6,
    ),
)  # fmt: skip
