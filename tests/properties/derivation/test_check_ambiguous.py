"""Numbers with spaces, bold letters, options, premises, and what messages say.

What could be read in two ways is not guessed at: spaced digits, bold and plain, options that reach no display.
Each of these once let a false step pass, or refuted a true one.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

HEAD = "Let $d, h, n \\in \\mathbb{N}$ and $x \\in \\mathbb{R}$.\n\n"


def outcomes(text: str) -> list[tuple[int, str, str]]:
    """Line, verdict and evidence of every step."""
    return [(step.line, str(step.verdict), step.evidence.text) for step in check_document(text).steps]


def outcome(display: str) -> tuple[str, str]:
    ((_, verdict, words),) = outcomes(f"{HEAD}$$ {display} $$\n")
    return verdict, words


@pytest.mark.parametrize("display", [r"1\,000 = 10^3", r"1\,000\,000 = 10^6", r"12~000.5 = 12000.5", r"\frac12 3 = 1.5",
    r"\frac{1}{2}\, 3 = 1.5", r"10^3\,2 = 2000", r"1{,}000 = 1000"])  # fmt: skip
def test_thousands_are_one_number(display: str) -> None:
    assert outcome(display)[0] == "PROVED"
    assert outcome(display + " + 1")[0] == "REFUTED"


@pytest.mark.parametrize(
    "display", [r"12\,34 = 0", r"1\,0 = 0", "1 000 = 0", r"1\ 000 = 0", r"2\;5 = 10", "1,000 = 1", "[1 0] = 0"]
)
def test_digits_apart_are_refused(display: str) -> None:
    verdict, words = outcome(display)
    assert verdict == "UNREADABLE" and "one number or two" in words


@pytest.mark.parametrize(
    "head",
    [
        r"Let $d \in \mathbb{N}$, $\mathbf{x} \in \mathbb{R}^d$ and $x \in \mathbb{R}$.",
        r"Let $d \in \mathbb{N}$, $x \in \mathbb{R}, \boldsymbol{x} \in \mathbb{R}^d$.",
        "Let $d \\in \\mathbb{N}$, $\\bm{x} \\in \\mathbb{R}^d$.\n\nPut $x := 3$.",
    ],
)
def test_bold_and_plain_are_not_both_declared(head: str) -> None:
    found = outcomes(head + "\n\n$$ \\mathbf{x}^\\top \\mathbf{x} = x^2 $$\n")
    assert [verdict for _, verdict, _ in found] == ["UNREADABLE", "UNREADABLE"]
    assert "bold" in found[0][2] and "another letter" in found[0][2]


def test_one_of_bold_and_plain_is_enough() -> None:
    head = "Let $d \\in \\mathbb{N}$ and $\\mathbf{x} \\in \\mathbb{R}^d$.\n\nLet $\\mathbf{x} \\in \\mathbb{R}^d$ with $x^\\top x = 1$.\n\n"
    assert [verdict for _, verdict, _ in outcomes(head + "$$ \\mathbf{x}^\\top x = 1 $$\n")] == ["PROVED"]


@pytest.mark.parametrize("margin", ["-10", "0", "0.5", "\\frac{1}{2}", "1 - 2", "2^{-1}", "(0.9)", "3 / 4"])
def test_a_margin_is_not_below_one(margin: str) -> None:
    ((_, verdict, words),) = outcomes(f"% margin: {margin}\n\n$$ 1 \\gg 5 $$\n")
    assert verdict == "UNREADABLE" and "below 1" in words
    assert [found for _, found, _ in outcomes("% margin: 1\n\n$$ 5 \\gg 5 $$\n")] == ["EXACT"]


@pytest.mark.parametrize(
    "between", ["# Next\n\nLet $x \\in \\mathbb{R}$.", "We have", "\\section{Notes}\n\nLet $x \\in \\mathbb{R}$."]
)
def test_an_option_reaches_no_further_than_the_display_below_it(between: str) -> None:
    found = outcomes(f"Let $x \\in \\mathbb{{R}}$.\n\n% assume: x = 2\n\n{between}\n\n$$ x + 1 = 3 $$\n")
    assert [(line, verdict) for line, verdict, _ in found[:1]] == [(3, "UNREADABLE")] and found[1][1] == "REFUTED"
    assert "belongs to no display" in found[0][2]


def test_options_that_lead_nowhere_are_said() -> None:
    for text, words in (
        ("$$ 1 = 1 $$\n\n% assume: 2 > 1\n", "belongs to no display"),
        ("% assume:\n\n$$ 1 = 1 $$\n", "is empty"),
        ("% check:\n\n$$ 1 = 1 $$\n", "is empty"),
        ("% asume: 2 > 1\n\n$$ 1 = 1 $$\n", "did you mean '% assume:'"),
        ("$$\n% asume: 2 > 1\n1 = 1 $$\n", "did you mean '% assume:'"),
        ("$$\n% assume:\n1 = 1 $$\n", "is empty"),
        ("% Expect: refuted\n\n$$ 1 = 1 $$\n", "did you mean '% expect:'"),
    ):
        assert [one for _, verdict, one in outcomes(text) if verdict == "UNREADABLE" and words in one], text
    assert check_document("% assume: 2 > 1\n\nWords.\n\n$$ 1 = 1 $$\n").steps[0].text == "% assume: 2 > 1"
    code = "Written so:\n\n    % assume: 2 > 1\n\n    $$ 1 = 2 $$\n\n$$ 1 = 1 $$\n"
    assert [verdict for _, verdict, _ in outcomes(code)] == ["PROVED"]
    assert [verdict for _, verdict, _ in outcomes("% note: seen in a paper\n% was: 2\n\n$$ 1 = 1 $$\n")] == ["PROVED"]


@pytest.mark.parametrize("gap", [", ", r",\; ", r" \quad ", r", \quad ", r" \text{ and } "])
def test_all_that_stands_before_an_implication_is_its_premise(gap: str) -> None:
    verdict, words = outcome(f"d = 512{gap}h = 8 \\implies d / h = 64")
    assert verdict == "EXACT", words
    verdict, words = outcome(f"d = 512{gap}h = 8{gap}x = 2 \\implies d / h = 32 x")
    assert verdict in ("EXACT", "PROVED"), words
    verdict, words = outcome(f"d = 512{gap}h = 7 \\implies d / h = 64")
    assert verdict == "REFUTED" and "d = 512, h = 7" in words


def test_what_stands_behind_an_implication_is_claimed() -> None:
    found = outcomes(f"{HEAD}$$ d = 2 \\implies d + 1 = 3, \\quad x = x + 1 $$\n")
    assert [verdict for _, verdict, _ in found] == ["EXACT", "REFUTED"]


@pytest.mark.parametrize(
    ("display", "said"),
    [
        ("10^-3 = 0.001", "in braces"), (r"x\% = 0.5", "only after a number"), ("x => x", r"\implies or \ge"),
        ("x != 3", r"\ne"), (r"\implies x = 1", r"begins with '\implies'"), ("x^{-} = 1", "after 'x ^ { -'"),
        (r"x = \iff x = 1", r"'\iff' is not expected after 'x ='"),
    ],
)  # fmt: skip
def test_messages_speak_of_what_is_written(display: str, said: str) -> None:
    verdict, words = outcome(display)
    assert verdict == "UNREADABLE" and said in words, words


def test_primes_and_defined_letters() -> None:
    head = "Let $x, x', x'' \\in \\mathbb{R}$. Put $w := x$.\n\n"
    display = "$$ x^\\prime + x^{\\prime\\prime} = x' + x'' $$\n\n$$ \\frac{\\partial w^2}{\\partial w} = 2 w $$\n"
    (first, second) = outcomes(head + display)
    assert first[1] == second[1] == "PROVED"


@pytest.mark.parametrize(
    ("step", "verdict", "mend"),
    [
        ("(a - b)^2 = a^2 + 2 a b + b^2", "REFUTED", "$- 2 a b$"),
        (r"(A B)^\top = A^\top B^\top", "UNDECIDED", r"$B^\top A^\top$"),  # another order: they may commute
        (r"x^2 - y^2 = w", "UNDECIDED", ""),  # an equation of free symbols: no small change makes it an identity
    ],
)
def test_a_slip_in_an_identity_of_undeclared_symbols_is_named(step: str, verdict: str, mend: str) -> None:
    found = check_document(f"We have\n\n$$ {step} $$\n\n$$ {step} $$\n", infer=True).steps[-1]
    assert found.verdict == verdict
    words = found.evidence.text if verdict == "REFUTED" else found.evidence.advice
    assert mend in words if mend else not words
