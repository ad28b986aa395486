"""SymPy relations as steps: the verdict of the document that they are written as."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_relation
from attention_core.derivation.records import GOOD, Verdict
from attention_core.derivation.sympy_relations import Unwritable, write_document, written_name


def test_true_relations_are_accepted() -> None:
    from properties.derivation.sympy_rows import TRUE

    for relation in TRUE:
        report = check_relation(relation)
        assert report.verdict in GOOD, (relation, report.text, report.evidence.text)


def test_false_relations_are_refuted_with_a_case() -> None:
    from properties.derivation.sympy_rows import FALSE

    for relation in FALSE:
        report = check_relation(relation)
        assert report.verdict is Verdict.REFUTED and report.counterexample is not None, relation


def test_what_is_assumed_counts() -> None:
    from properties.derivation.sympy_rows import A, Eq, Sum, beta, i, n

    one = Eq(Sum(beta[i], (i, 1, n)), 1)
    assert check_relation(Eq(A, A.T), assuming=[Eq(A, A.T)]).verdict in GOOD
    assert check_relation(Eq(Sum(2 * beta[i], (i, 1, n)), 2), assuming=[one]).verdict in GOOD
    assert check_relation(Eq(Sum(beta[i] ** 2, (i, 1, n)), 1), assuming=[one]).verdict is Verdict.REFUTED


def test_what_has_no_form_is_one_line() -> None:
    from properties.derivation.sympy_rows import UNWRITABLE

    for relation, words in UNWRITABLE:
        with pytest.raises(Unwritable, match=words) as caught:
            write_document(relation)
        assert "\n" not in str(caught.value)


def test_names_are_letters_with_subscripts() -> None:
    assert [written_name(one) for one in ("d_k", "x_12", "sigma_q", "q_{k}")] == [
        "d_{k}", "x_{12}", r"\sigma_{q}", "q_{k}",
    ]  # fmt: skip
