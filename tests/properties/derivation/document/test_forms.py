"""Formulas in the forms of other programs are read, or named: no document passes with a display that nobody looked at."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.forms import usual_forms

LET = "Let $x \\in \\mathbb{R}$.\n\n"
FORMS = [
    "```{math}\n:label: eq-one\nBODY\n```",
    "```{math} BODY\n```",
    ":::{math}\nBODY\n:::",
    "\\\\[ BODY \\\\]",
    "\\\\[\nBODY\n\\\\]",
    '<script type="math/tex; mode=display"> BODY </script>',
    '<script type="math/tex; mode=display">% <![CDATA[\nBODY %]]></script>',
    ".. math::\n   :label: one\n\n   BODY\n\nHence,",
    "```math\nBODY\n```",
    "\\begin{equation}\nBODY\n\\end{equation}",
]


@pytest.mark.parametrize("form", FORMS)
def test_displays_of_other_programs_are_read(form: str) -> None:
    (step,) = check_document(LET + form.replace("BODY", "x = x + 1") + "\n").steps
    assert step.verdict == "REFUTED"
    (step,) = check_document(LET + form.replace("BODY", "2 x = x + x") + "\n").steps
    assert step.verdict == "PROVED"


@pytest.mark.parametrize(
    "inline", ["\\(BODY\\)", "\\\\(BODY\\\\)", "$`BODY`$", '<script type="math/tex">BODY</script>']
)
def test_inline_formulas_of_other_programs_are_read(inline: str) -> None:
    text = f"Let {inline.replace('BODY', 'x > 0')}.\n\n$$ |x| = x $$\n"
    assert check_document(text).passed


@pytest.mark.parametrize(
    "form",
    ["<math display='block'><mi>x</mi></math>", "{% katex display %}\nx = y\n{% endkatex %}", "[latex]x = y[/latex]",
     "![eq](https://latex.codecogs.com/svg.latex?x=y)", "{{< katex >}}\nx = y\n{{< /katex >}}"],
)  # fmt: skip
def test_what_is_not_read_is_named_and_no_success(form: str) -> None:
    report = check_document(f"{LET}$$ 2 x = x + x $$\n\n{form}\n")
    assert report.status == 2
    assert any("is not read: write it as $$...$$" in step.evidence.text for step in report.steps)


def test_code_is_no_formula() -> None:
    assert check_document(
        LET + "$$ 2 x = x + x $$\n\nWrite `<math>` or `\\\\[`.\n\n```html\n<math>x</math>\n```\n"
    ).passed


def test_spacing_behind_a_row_is_no_display() -> None:
    text = LET + "$$\n\\begin{aligned}\n2 x &= x + x\n\\\\[2pt]\n&= 3 x - x\n\\end{aligned}\n$$\n"
    assert [step.verdict for step in check_document(text).steps] == ["PROVED", "PROVED"]


KRAMDOWN = """Let $$n \\in \\mathbb{N}$$ and $$x \\in \\mathbb{R}^n$$ with $$\\|x\\| = 1$$.

- $$n$$ is a size

$$ x^\\top x = 1 $$
"""


def test_formulas_of_kramdown_in_sentences_are_not_displays() -> None:
    (step,) = check_document(KRAMDOWN).steps
    assert step.line == 5 and step.verdict == "AGREES", step.evidence.text
    assert usual_forms(KRAMDOWN).count("$$") == 2


def test_a_document_that_writes_other_formulas_in_sentences_has_displays_there() -> None:
    for mixed in (KRAMDOWN + "\nHere $n > 0$.\n", "Since $$ 1 = 1 $$ we have $$ 2 = 2 $$ and\n\n$$ 3 = 3 $$\n"):
        assert usual_forms(mixed) == mixed
    assert usual_forms("```sh\necho $x $y\n```\n" + KRAMDOWN).count("$$") == 2  # a dollar in code is none


def test_a_display_that_is_not_closed_ends_in_front_of_a_sentence_with_a_formula() -> None:
    text = "$$\n\nLet $x \\in \\mathbb{R}$.\n\n$$ x + 1 > x $$\n"
    lost, step = check_document(text).steps
    assert lost.verdict == "UNREADABLE" and "never closed" in lost.evidence.text
    assert step.line == 5 and step.verdict in ("PROVED", "EXACT", "AGREES")


def test_shortcodes_around_formulas_fall_away() -> None:
    text = "Let {{< math >}}$x \\in \\mathbb{R}${{< /math >}}.\n\n{{< math >}}\n$$ x^2 \\ge 0 $$\n{{< /math >}}\n"
    assert [step.verdict for step in check_document(text).steps] == ["PROVED"]


BOLD = (
    "Let $d \\in \\mathbf{N}$ and $x \\in \\mathbf R^d$ with $x_1 \\in \\mathbf{Z}$.\n\n$$ \\|x\\|^2 = x^\\top x $$\n"
)


def test_bold_letters_are_sets_of_numbers_where_a_space_is_written_so() -> None:
    assert r"$d \in \mathbb{N}$ and $x \in \mathbb{R}^d$ with $x_1 \in \mathbb{Z}$" in usual_forms(BOLD)
    text = BOLD.replace(" with $x_1 \\in \\mathbf{Z}$", "")
    (step,) = check_document(text).steps
    assert step.verdict == "PROVED", step.evidence.text


@pytest.mark.parametrize(
    "text",
    [
        r"$r \in \mathbf{R}$ and $j \in \mathbf{N}$",
        r"$A = \mathbf{R}^2$ and $x \in \mathbf{N}$",
        r"$x \in \mathbb{R}^n$ and $c \in \mathbf{C}$",
    ],
)
def test_bold_letters_are_their_own_where_no_space_is_written_so(text: str) -> None:
    assert usual_forms(text) == text
    near = rf"$x \in \mathbf{{R}}^n$, $j \in \mathbf{{N}}_i$, $j \in \mathbf{{N}}(i)$ and {text[:3]}\mathbf{{R}} x$"
    assert usual_forms(near) == near.replace(r"\mathbf{R}^n", r"\mathbb{R}^n")


def test_two_formulas_side_by_side_are_no_display_of_tex() -> None:
    assert usual_forms(r"the norm $\|x\|=$$\sqrt{x}$.", tex=True) == r"the norm $\|x\|=$ $\sqrt{x}$."
    for text in ("the norm $a$$b$.", "$$a$$", "$$a$$ and $$b$$", "$$a$$$b$", r"\$5 $$a$$"):
        assert usual_forms(text, tex=text != "the norm $a$$b$.") == text
