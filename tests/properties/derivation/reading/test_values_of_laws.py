r"""attention_core.derivation.reading.values_of_laws: which values and entropies a formula has, and whose letters they are."""

from __future__ import annotations

import pytest

from attention_core.derivation.inference.usage import walk
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.latex.syntax import Big, Chain, Expr, Times
from attention_core.derivation.reading.values_of_laws import (
    Value,
    find_entropies,
    find_law_name,
    find_other_letters,
    find_values,
    is_one_function,
    order_letters,
    overlap,
    runs_over_all,
)


def side_of(formula: str) -> Expr:
    (chain,) = parse_statement(f"{formula} = 0", 1).chains
    return chain.exprs[0]


def values_of(formula: str) -> list[Value]:
    return [value for node in walk(side_of(formula)) for value in find_values(node)]


def arguments_of(value: Value) -> tuple[list[str], list[str]]:
    return [to_latex(one) for one in value.targets], [to_latex(one) for one in value.given]


@pytest.mark.parametrize(
    ("formula", "targets", "given"),
    [
        (r"2 p(x, y \mid z)", ["x", "y"], ["z"]),
        (r"2 P(A \cap B)", ["A", "B"], []),
        (r"\Pr(A \mid B)", ["A"], ["B"]),
        (r"2 p_\theta(x_t | x_0)", ["x_{t}"], ["x_{0}"]),
    ],
)
def test_a_value_has_arguments_and_a_condition(formula: str, targets: list[str], given: list[str]) -> None:
    (value,) = values_of(formula)
    assert arguments_of(value) == (targets, given) and len(value.arguments) == len(targets) + len(given)


@pytest.mark.parametrize("formula", ["2 f(x)", "2 p(x + 1)", "2 p(x, x)", "2 p(x | y | z)", "2 p(2)"])
def test_what_is_not_a_value_of_a_law(formula: str) -> None:
    assert not values_of(formula)


def test_a_law_has_a_name_and_parameters() -> None:
    assert find_law_name(side_of(r"p_i")) == "p_{i}" and find_law_name(side_of("f")) is None
    (value,) = values_of("2 p_i(x)")
    assert value.parameters == {"i"}


@pytest.mark.parametrize(
    ("formula", "count"),
    [("2 H(X | Y)", 1), ("2 I(X; Y)", 1), ("2 H(x, y)", 0), ("2 I(X; Y | Z)", 0), ("2 H(P, Q)", 0), ("2 H(X; Y)", 0)],
)
def test_entropies_are_of_capitals_that_are_not_laws(formula: str, count: int) -> None:
    found = [one for node in walk(side_of(formula)) if isinstance(node, Times) for one in find_entropies(node)]
    assert len(found) == count and all(len(one.arguments) == 2 for one in found)


@pytest.mark.parametrize(
    ("formula", "same"),
    [
        ("P(i, j) + P(j, i)", True),
        ("p(x' | x) + p(x')", True),
        ("p(x' | x) + p(x)", False),
        ("p(x | z) + p(z | x) + p(x, z)", False),
        ("p(x' | x) + p(x | x')", False),
    ],
)
def test_values_that_may_be_one_function_at_several_places(formula: str, same: bool) -> None:
    assert is_one_function(values_of(formula)) is same


@pytest.mark.parametrize(("one", "other", "found"), [("x_1", "x", True), ("x_1", "x_2", False), ("x", "x", False)])
def test_an_argument_may_be_a_part_of_another(one: str, other: str, found: bool) -> None:
    assert overlap(side_of(one), side_of(other)) is found


@pytest.mark.parametrize(
    ("below", "all_of_them"),
    [
        ("x", True),
        (r"x \in \mathcal{X}", True),
        (r"x \in X", True),
        (r"x' \in X", True),
        (r"x \in A", False),
        (r"x \in \mathcal{D}", False),
    ],
)
def test_a_sum_over_a_set_may_be_over_some_values(below: str, all_of_them: bool) -> None:
    total = side_of(rf"\sum_{{{below}}} x")
    assert isinstance(total, Big) and isinstance(total.below[0], Chain)
    assert runs_over_all(total.below[0]) is all_of_them


@pytest.mark.parametrize(
    ("arguments", "letters", "shown"),
    [
        (["x_i", "y_j"], ["i", "j"], [r"x_{\cdot}", r"y_{\cdot}"]),
        (["y_i", "x_j"], ["j", "i"], [r"x_{\cdot}", r"y_{\cdot}"]),
        (["x_j", "x_i"], ["i", "j"], [r"x_{\cdot}", r"x_{\cdot}"]),
        (["x_i", "y_i"], ["i"], [r"x_{\cdot}", r"y_{\cdot}"]),
    ],
)
def test_bound_letters_stand_in_the_order_of_the_arguments(
    arguments: list[str], letters: list[str], shown: list[str]
) -> None:
    assert order_letters([side_of(one) for one in arguments], frozenset("ij")) == (letters, shown)


@pytest.mark.parametrize(
    ("formula", "others"),
    [
        ("a f(x) + b", {"a", "b"}),
        ("X^2 x", {"X"}),
        (r"g(x)^2 p(x | z)", set()),
        (r"D_{KL}(p(x) \| q(x))", {"q"}),
        ("c_k (x + y)", {"c", "y"}),
    ],
)
def test_letters_beside_arguments_laws_and_functions(formula: str, others: set[str]) -> None:
    assert find_other_letters(side_of(formula), {"x", "z", "p"}) - {"q"} == others - {"q"}
