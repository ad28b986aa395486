"""attention-core derive --html.

The page of `attention-core derive --html`: every step in its place with its verdict, nothing unescaped, tags that nest.
Documents are small; what verdicts say is tested elsewhere.
"""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from attention_core.cli import main
from attention_core.derivation import check_document
from attention_core.derivation.report import page, prose

TEXT = r"""# Squares <b>

Let $x, y \in \mathbb{R}$. All hypotheses are declared as formulas. See `a < b` & **bold $x$**.

$$
\begin{aligned}
(x + y)^2 &= (x + y)(x + y) \\
  &= x^2 + y^2 \tag{dream}
\end{aligned}
$$

% expect: refuted

$$ x + x = 3 x \tag{three} $$

$$ x + \oops = x \tag{unread} $$

<script>alert(1)</script> $x <script>$

$$ z = z $$
"""
VOID = {"meta", "br"}


class Nesting(HTMLParser):
    """Checks that tags nest; gathers tags and text."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag, (tag, self.getpos())

    def handle_data(self, data: str) -> None:
        self.text += data


def read(text: str) -> Nesting:
    found = Nesting()
    found.feed(text)
    found.close()
    assert not found.stack
    return found


def test_every_step_stands_in_its_place_with_its_verdict() -> None:
    found = read(page([(check_document(TEXT), TEXT)]))
    places = [found.text.index(words) for words in ("Squares <b>", "dream[1]", "dream[2]", "three", "unread")]
    assert places == sorted(places)
    assert "REFUTED, as expected" in found.text and "UNREADABLE" in found.text
    assert "2 of 5 steps are as the document says" in found.text
    assert "4 is not 2" in found.text and "left side: 4; right side: 2" in found.text
    assert found.tags.count("math") >= 8 and found.tags.count("code") >= 2


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("$$ 1 + 1 = 2 $$", "PROVED"),
        ("$$ 1 + 1 = 3 $$", "failed"),
        ("$$ x + 1 = y - x $$", "UNDECIDED"),
        ("Nothing.\n", "UNDECIDED"),
    ],
)
def test_the_verdict_on_the_document_has_its_colour(text: str, state: str) -> None:
    shown = page([(check_document(text), text)])
    assert f"<p class='verdict {state}'>" in shown and "<code>$" not in shown


def test_nothing_of_a_document_is_a_tag_or_is_loaded() -> None:
    text = page([(check_document(TEXT), TEXT)])
    found = read(text)
    assert not {"script", "link", "img", "iframe"} & set(found.tags)
    assert found.tags.count("b") == 1
    assert "<script>alert(1)</script>" in found.text
    assert "http" not in text.replace("http-equiv", "") and "src=" not in text


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    document, out = tmp_path / "a.md", tmp_path / "a.html"
    document.write_text(TEXT, encoding="utf-8")
    run = CliRunner().invoke(main, ["derive", str(document), "--html", str(out)])
    assert run.exit_code == 1
    read(out.read_text(encoding="utf-8"))
    refused = CliRunner().invoke(main, ["derive", str(document), "--html", str(tmp_path / "none" / "a.html")])
    assert refused.exit_code != 0 and "cannot be written" in refused.output


def test_a_tex_document_and_one_that_is_not_utf_8_have_pages(tmp_path: Path) -> None:
    tex = "\\section{Sums}\n\nLet $x \\in \\mathbb{R}$.\n\n\\begin{align}\nx + x = 2 x\n\\end{align}\n"
    assert "<h2>Sums</h2>" in page([(check_document(tex), tex)])
    path = tmp_path / "b.md"
    path.write_bytes(b"\xff$$ 1 = 1 $$\n")
    out = tmp_path / "b.html"
    assert CliRunner().invoke(main, ["derive", str(path), "--html", str(out)]).exit_code == 2
    assert "not UTF-8" in read(out.read_text(encoding="utf-8")).text


# -- what a reader needs beside the verdict ---------------------------------------------------------------------------

MATRICES = r"""Let $n \in \mathbb{N}$ with $n \ge 2$, $A \in \mathbb{R}^{n \times n}$ and $x \in \mathbb{R}^n$.

$$ A x = A^\top x \tag{symmetric} $$
"""


def steps(text: str, **options: Any) -> dict[str, str]:
    """Each step's row, and the row of what was found, by the step's name."""
    made = page([(check_document(text, **options), text)])
    read(made)
    rows = re.split(r"<tr class='step ", made)[1:]
    return {re.search(r"<td class='about'>(\S+) ", row)[1]: row.split("</table>")[0] for row in rows}  # type: ignore[index]


def words(html: str) -> str:
    """Its text alone."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def test_matrices_and_vectors_of_a_counterexample_are_formulas() -> None:
    report = check_document(MATRICES)
    example = report.steps[0].counterexample
    assert example is not None and example.values["A"] == [["0", "0"], ["1", "0"]] and example.values["x"][0] == ["0"]
    row = steps(MATRICES)["symmetric"]
    cells = [["<mtd><mn>0</mn></mtd>"] * 2, ["<mtd><mn>1</mn></mtd>", "<mtd><mn>0</mn></mtd>"]]
    assert "<mtable>" + "".join(f"<mtr>{''.join(line)}</mtr>" for line in cells) + "</mtable>" in row
    assert "<mtable><mtr><mtd><mn>0</mn></mtd></mtr><mtr><mtd><mn>1</mn></mtd></mtr></mtable>" in row
    assert "[[" not in row and "&#x27;" not in row


def test_the_hypothesis_that_is_guessed_is_a_formula() -> None:
    row = steps(MATRICES)["symmetric"]
    said = row[row.index("further hypothesis") :]
    assert said.startswith("further hypothesis <math>") and "$" not in said
    assert "left side in entry 1, 1: 0; right side: 1" in row


PREMISES = r"""Let $m \in \mathbb{N}$, $x \in \mathbb{R}^m$ and $r, s \in \mathbb{R}$.

$$ x_i = 0 \ \forall i \ne 1 \implies \sum_{i=1}^{m} x_i = 0 \tag{premise} $$

$$ \forall i \ne 1, \quad x_i^2 = x_i = 1 \tag{front} $$

$$ x_i^2 = x_i \text{ for } i = 1, \dots, m \tag{behind} $$

$$ r > 0 \text{ and } s > 0 \implies r > s \tag{two} $$

$$ x_i = 0 \ \forall i \ne 1 \iff \sum_{i=1}^{m} x_i = x_1 \tag{both} $$
"""


def test_conditions_stand_where_the_document_has_them() -> None:
    formulas = {name: re.split("<td class='about'>", row)[0].split(">", 1)[1] for name, row in steps(PREMISES).items()}
    assert {name: words(row).replace(" ", "") for name, row in formulas.items()} == {
        "premise": "xi=0∀i≠1⟹∑i=1mxi=0",
        "front[1]": "∀i≠1:xi2=xi",
        "front[2]": "=1",
        "behind": "xi2=xifori=1,…,m",
        "two": "r>0ands>0⟹r>s",
        "both[1]": "xi=0∀i≠1⟹∑i=1mxi=x1",
        "both[2]": "∑i=1mxi=x1⟹xi=0∀i≠1",
    }


OPTIONS = r"""Let $r, s \in \mathbb{R}$.

% within: 0.01
% margin: 10

$$ r + \frac{1}{10} \approx r \tag{bound} $$

% margin: 10
% within: 0.01

$$ r \gg s \implies r > s + 1 \tag{factor} $$

% as: r \to \infty

$$ \frac{r}{r + 1} \to 2 \tag{limit} $$

% assume: r = s

$$ r = 2 s \tag{assumed} $$
"""


def test_options_stand_beside_the_verdict_they_matter_for() -> None:
    shown = {name: re.findall(r"<span class='option'>(.*?)</span>", row) for name, row in steps(OPTIONS).items()}
    assert {name: [words(one) for one in found] for name, found in shown.items()} == {
        "bound": ["within 0.01"], "factor": ["margin 10"], "limit": ["as r → ∞"], "assumed": ["assume r = s"],
    }  # fmt: skip
    rows = {name: words(row) for name, row in steps(OPTIONS).items()}
    assert "distance of the two sides: 1/10; bound: 1/100" in rows["bound"]
    assert "limit of the left side: 1; right side: 2" in rows["limit"]


def test_a_step_is_not_shown_as_good_where_more_is_asked_for() -> None:
    text = "Let $x \\in \\mathbb{R}$ with $x > 0$.\n\n$$ e^x > 1 + x \\tag{exp} $$\n\n"
    text += "% expect: refuted\n\n$$ x + x = 2 x \\tag{twice} $$\n"
    rows = steps(text, require="proved")
    assert rows["exp"].startswith("less'>") and "PROVED is required" in rows["exp"]
    assert rows["twice"].startswith("failed'>") and "expects this step to be refuted" in rows["twice"]
    report = check_document("Let $x \\in \\mathbb{R}$ with $x > 0$.\n\n$$ x + 1 > 1 \\tag{one} $$\n", necessity=True)
    assert "(line 1): needed: without it the step fails at" in words(page([(report, "")]))


def test_a_mend_shows_the_sign_of_the_term_it_replaces(tmp_path: Path) -> None:
    text = "Let $a, b \\in \\mathbb{R}$.\n\n$$ (a - b)^2 = a^2 + 2 a b + b^2 $$\n"
    (tmp_path / "a.md").write_text(text, encoding="utf-8")
    run = CliRunner().invoke(main, ["derive", str(tmp_path / "a.md"), "--html", str(tmp_path / "a.html")])
    assert "$- 2 a b$ in place of $+ 2 a b$" in run.output
    assert "in place of <math><mrow><mo>+</mo>" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_definitions_and_readings_are_formulas() -> None:
    text = "$$ t = x^\\top x $$\n\n$$ D = 3 $$\n\n$$ \\sum_{i=1}^n x^{(i)} = n x^{(2)} $$\n\n$$ A x = x A $$\n"
    shown = page([(check_document(text, infer=True), text)], infer=True)
    read(shown)
    formulas = " ".join(re.sub(r"<[^>]+>", "", one) for one in re.findall(r"<math.*?</math>", shown, re.DOTALL))
    for formula in ("t=x\u22a4", "D=3", "n\u2208\u2115", "x(1),\u2026,x(n)\u2208\u211d"):
        assert formula in formulas, formula
    outside = re.sub(r"<math.*?</math>|<details>.*?</details>", "", shown, flags=re.DOTALL)
    assert "read as: " in outside and "\\mathbb" not in outside and "<pre>" not in outside
    assert "a value, which states nothing<" in outside and "defined by the display<" in outside


def test_a_reading_stands_once_and_later_steps_link_to_it() -> None:
    text = "$$ y^2 = 2 y $$\n\n$$ y^2 + z^2 = 3 $$\n\n$$ y^2 + z^2 = z^2 + y^2 $$\n\n$$ x^\\top A x = 3 $$\n\n$$ A B x = x $$\n"
    report = check_document(text, infer=True)
    shown = page([(report, text), (report, text)], infer=True)
    marks = re.findall(r"<span id='(reading-\d+-\d+)'>", shown)
    links = re.findall(r"<a href='#(reading-\d+-\d+)'>", shown)
    assert len(marks) == len(set(marks)) and set(links) <= set(marks)
    first = words(shown.split("<article>")[1])
    for symbol in ("y", "z", "A", "B"):
        assert first.count(f"{symbol} \u2208") == 1
    rows = re.findall(r"<tr class='step .*?(?=<tr class='step |</table>)", shown.split("<article>")[1], re.DOTALL)
    assert ["read as above" in row for row in rows] == [False, True, True, False, True]
    assert "<details><summary class='verdict'>PROVED" in rows[2] and "read as above" in rows[2].split("</details>")[0]
    assert "read as: <span" in rows[0] and "read as" not in rows[0].split("</details>")[0]


def test_the_page_shows_the_steps_of_the_report() -> None:
    """Where a display is read by itself, there are other steps than where nothing says that it cannot be read."""
    text = "$$ t = x^\\top x + \\|q\\|^2 $$\n\n$$ \\begin{aligned} u &= t + 1 \\\\ u &= x^\\top x + \\|q\\|^2 + 1 \\\\ 2 b &= b + b \\end{aligned} $$\n\n$$ A x = x A $$\n"
    report = check_document(text, infer=True)
    shown = page([(report, text)], infer=True)
    assert "<pre tabindex" not in re.sub(r"<details>.*?</details>", "", shown, flags=re.DOTALL)
    assert shown.count("class='about'") == len(report.steps)


POST = r"""---
title: "A post"
---

# Bayes

[Bayes' theorem](https://example.org/a_(b) "its page") &amp; ![a picture](b.png) are *really* 2 * 3 * 4 things:
- one
- two

> a quotation
> of two lines

$$ p(x_{t-1} | x_t) = \frac{p(x_t | x_{t-1}) p(x_t)}{p(x_{t-1})} $$

$$ \int q(x) \, dx = \mathbb{E}_{x \sim q}[x] \tag{average} $$

$$ a x = b $$
"""


def test_a_post_is_shown_as_markdown_shows_it() -> None:
    shown = page([(check_document(POST, infer=True), POST)], infer=True)
    found = read(shown)
    assert (
        "A post" not in found.text
        and "---" not in found.text
        and "example.org" not in shown
        and "&amp;amp;" not in shown
    )
    assert "Bayes' theorem & a picture are really 2 * 3 * 4 things:" in found.text
    assert "<i>really</i>" in shown and "<br>\n- one<br>\n- two" in shown and "&gt; a quotation<br>\n&gt; of" in shown
    rule = "Let $x > 0$.\n\n---\n\nand\n\n---\n\n$$ x = x $$\n"
    assert read(page([(check_document(rule), rule)])).text.count("---") == 2


def test_formulas_that_are_read_as_symbols_are_shown_as_they_are_written() -> None:
    shown = page([(check_document(POST, infer=True), POST)], infer=True)
    first, second, third = re.findall(r"<tr class='step .*?</tr><tr class='found.*?</tr>", shown, re.DOTALL)
    formulas = [re.sub("[\u2061\u2062]|<[^>]*>", "", one.split("<td class='about'>")[0]) for one in (first, second)]
    assert formulas == ["p(xt−1∣xt)=p(xt∣xt−1)p(xt)p(xt−1)", "∫q(x)dx=𝔼x∼q[x]"]
    assert "<mfrac>" in first and r"\mid" not in words(first.split("found UNDECIDED")[1])
    said = words(third)
    assert said.count("line") == 1 and "at a = 0, x = 0, b = 1" in said.replace(" ,", ",")
    assert "average line 16 UNDECIDED" in words(second)


def test_a_tex_document_is_shown_without_its_commands() -> None:
    tex = (
        "\\global\\long\\def\\reals{\\mathbb{R}}\n\\section{One}\\label{sec:one}\n\nLet $x \\in \\reals$, \\textbf{bold}, \\emph{leaning} and "
        "\\texttt{typed}. \\noindent``Quoted'' {[}hint{]} of 5\\% in Sec.~2.\n\nIt is $a=$$x$.\n\n\\begin{itemize}\n\\item first\n\\item second\n\\end{itemize}\n\n"
        "\\begin{align}\nx + x = 2 x\n\\end{align}\n"
    )
    report = check_document(tex, infer=True)
    assert [str(step.verdict) for step in report.steps] == ["PROVED"]
    shown = page([(report, tex)], infer=True)
    text = read(shown).text
    assert "<strong>bold</strong>" in shown and "<em>leaning</em>" in shown and "<code>typed</code>" in shown
    assert "\u201cQuoted\u201d [hint] of 5% in Sec.\u00a02." in text and "It is a= x." in text
    assert "<h2>One</h2>" in shown and "<p>- first" in shown and "<br>\n- second" in shown
    assert not any(word in text for word in ("\\global", "\\long", "\\label", "\\noindent", "\\item", "textbf"))


def test_words_of_messages_stay_as_they_are() -> None:
    assert prose("the sign '.' is not expected after ''") == "the sign &#x27;.&#x27; is not expected after &#x27;&#x27;"
    assert prose(r"a \partial ~ b \in \mathbb{R}") == r"a \partial ~ b \in \mathbb{R}"


NOTED = (
    "The mean is $m = \\frac{a + b}{2}$.\n\n$$ f(x) = x^2 + 1 = 1 + x^2 $$\n\n$$ g = s^2, \\qquad h = s^3 $$\n\n"
    "- a list with $q = a^2$:\n\n  $$ q + 1 = 1 + a^2 $$\n\n> Then $$ t = a + 1 $$\n"
)


def test_every_definition_of_the_report_stands_on_the_page_once() -> None:
    report = check_document(NOTED, infer=True)
    defined = [line for line, text in report.unchecked_relations if text.startswith("defined by the display")]
    shown = page([(report, NOTED)], infer=True)
    assert defined == [1, 3, 5, 5, 7, 11]
    assert shown.count("defined by the display") == 5  # both of line 5 in one
    after = shown.partition("<mi>g</mi>")[2]  # the display of line 5 shows both, and the note repeats none
    assert "<mi>g</mi>" not in after and "nothing else determines" not in shown
