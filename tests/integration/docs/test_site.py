"""The site's sources: links are rewritten, every law, contract and command has a page, formulas become MathML.

The site itself is built by `tox run -e docs`, with Sphinx's warnings as errors.
"""

from __future__ import annotations

import importlib
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

import click
import pytest

from attention_core.conformance.contracts import contracts
from finetune.faults.catalogue import FAULTS

ROOT = Path(__file__).resolve().parents[3]
LAWS = {law.name: law for contract in contracts().values() for law in contract.laws}


@pytest.fixture(scope="module")
def builder() -> Iterator[Any]:
    """Give the module of a name under docs/_ext."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs" / "_ext"))
        yield importlib.import_module


@pytest.fixture(scope="module")
def staged(builder: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources as Sphinx gets them."""
    folder = tmp_path_factory.mktemp("docs")
    builder("stage").stage(folder)
    return folder


PLACES = {
    "docs/a.md": "a.md",
    "docs/deep/b.md": "deep/b.md",
    "NEWS.md": "news.md",
    "docs/p.svg": "p.svg",
    "tool.py": None,
}


@pytest.mark.parametrize(
    ("theme", "found"),
    [
        ("<pre>x</pre>", '<pre tabindex="0">x</pre>'),
        ('<div class="table-wrapper docutils"><table>', '<div class="table-wrapper docutils" tabindex="0"><table>'),
        ('<p><img src="a.svg"></p>', '<p tabindex="0"><img src="a.svg"></p>'),
        ('<aside class="toc-drawer no-toc">', '<aside class="toc-drawer no-toc" aria-label="On this page">'),
        ('<th class="head"><p></p></th>', '<td class="head"></td>'),
        (
            '<dl>\n<dd><em class="sig-param">a</em>,</dd>\n<dd><em class="sig-param">b</em>,</dd>\n</dl>',
            '<ul class="sig-params">\n<li><em class="sig-param">a</em>,</li>\n<li><em class="sig-param">b</em>,</li>\n</ul>',
        ),
        ("<dl>\n<dt>a</dt>\n<dd>b</dd>\n</dl>", "<dl>\n<dt>a</dt>\n<dd>b</dd>\n</dl>"),
        ("<p>x</p>", "<p>x</p>"),
    ],
)
def test_what_scrolls_on_a_page_takes_the_focus_and_its_parts_have_names(builder: Any, theme: str, found: str) -> None:
    complete = builder("reachable").complete
    assert complete(theme) == complete(found) == found


def test_constants_show_classes_by_name(builder: Any) -> None:
    constant = builder("api_pages").constant
    assert constant({"head": int, "size": 3}) == "{'head': int, 'size': 3}"
    assert constant((1, "a")) == "(1, 'a')" and constant("x" * 300) == "x" * 200 + " ..."


def test_the_name_of_a_law_within_a_link_is_not_a_second_link(builder: Any) -> None:
    """A link in a link is two for a browser, the first without a word."""
    pytest.importorskip("sphinx")
    nodes, addnodes = importlib.import_module("docutils.nodes"), importlib.import_module("sphinx.addnodes")
    name = next(iter(LAWS))
    free, linked = nodes.literal(text=name), nodes.literal(text=name)
    link = addnodes.pending_xref("", nodes.inline("", "", linked))
    page = nodes.section("", nodes.paragraph("", "", free), nodes.paragraph("", "", link))
    app = SimpleNamespace(env=SimpleNamespace(docname="page", found_docs={f"reference/laws/{name}"}))
    builder("law_links").link_names(app, page)
    assert isinstance(free.parent, addnodes.pending_xref) and linked.parent.parent is link


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        ("docs/a.md", "see [news](../NEWS.md#top).", "see [news](news.md#top)."),
        ("docs/deep/b.md", "[a](../a.md) ![p](../p.svg)", "[a](../a.md) ![p](../p.svg)"),
        ("NEWS.md", "[b](docs/deep/b.md)", "[b](deep/b.md)"),
        ("docs/a.md", "[the tool](../tool.py) runs", "the tool runs"),
        ("docs/a.md", "[web](https://example.org) [here](#top)", "[web](https://example.org) [here](#top)"),
        (
            "docs/a.md",
            "```\n[x](nowhere.md)\n```\n    [y](nowhere.md)",
            "```\n[x](nowhere.md)\n```\n    [y](nowhere.md)",
        ),
        ("docs/a.md", "[x] and (y)", "[x] and (y)"),
    ],
)
def test_links_lead_to_the_places_of_the_site(builder: Any, source: str, text: str, found: str) -> None:
    links = builder("links")

    def place(path: PurePosixPath) -> PurePosixPath | None:
        if str(path) not in PLACES:
            raise links.BrokenLink(f"there is no {path}")
        known = PLACES[str(path)]
        return None if known is None else PurePosixPath(known)

    assert links.restage(text, PurePosixPath(source), place) == found
    with pytest.raises(links.BrokenLink, match=r"docs/a\.md: there is no docs/nowhere\.md"):
        links.restage("[x](nowhere.md)", PurePosixPath("docs/a.md"), place)


def test_every_law_has_a_page(staged: Path) -> None:
    folder = staged / "reference" / "laws"
    assert {path.stem for path in folder.glob("*.md")} == {*LAWS, "index"}
    for name, law in LAWS.items():
        text = (folder / f"{name}.md").read_text(encoding="utf-8")
        assert law.sentence in text and f"--law {name}" in text
        assert "## A fault that breaks it" in text and "## When correct code is refuted" in text


def test_every_contract_and_command_has_a_page(staged: Path) -> None:
    reference = staged / "reference"
    assert {path.stem for path in (reference / "contracts").glob("*.md")} == {*contracts(), "index"}
    commands = {path.stem for path in (reference / "commands").glob("*.md")}
    assert {"attention-core-verify", "attention-core-derive", "attention-core-bench", "finetune-pretrain"} <= commands
    text = (reference / "commands" / "attention-core-verify.md").read_text(encoding="utf-8")
    assert "--dead-rows" in text and "Output of a row without any key." in text


def test_public_names_have_an_entry(staged: Path) -> None:
    for package, name in (("attention_core", "attention"), ("attention_core.conformance", "check_implementation")):
        text = (staged / "reference" / "api" / f"{package}.md").read_text(encoding="utf-8")
        assert f"{{py:function}} {name}(" in text


def test_pictures_of_the_rooms_show_every_folder(staged: Path) -> None:
    for package in ("attention_core", "finetune"):
        text = (staged / "made" / f"rooms_{package}.svg").read_text(encoding="utf-8")
        folders = {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
        assert folders and all(f">{folder}/<" in text for folder in folders)
        for folder in (path for path in (ROOT / package).iterdir() if len(list(path.glob("*/__init__.py"))) > 2):
            assert (staged / "made" / f"rooms_{package}_{folder.name}.svg").exists()


def test_every_page_is_in_the_navigation() -> None:
    """Sphinx says so, too, but only `tox run -e docs` runs it."""
    listed: set[Path] = set()
    for page in (ROOT / "docs").rglob("*.md"):
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            names = [line for line in tree.splitlines() if line and not line.startswith(":")]
            listed |= {(page.parent / f"{name}.md").resolve() for name in names}
    pages = {page.resolve() for page in (ROOT / "docs").rglob("*.md")} - listed
    assert {str(page.relative_to(ROOT)) for page in pages} == {"docs/index.md", "docs/laws.md"}, (
        "add it to docs/index.md"
    )


def test_weights_of_a_law_are_drawn_where_the_fault_shows(staged: Path) -> None:
    drawn = {path.stem for path in (staged / "made" / "laws").glob("*.svg")}
    assert "no_row_sees_a_later_one" in drawn and "inputs_stay_as_they_were" not in drawn


def test_kept_counterexamples_are_of_laws_and_faults_that_exist() -> None:
    kept = json.loads((ROOT / "docs" / "data" / "law_faults.json").read_text(encoding="utf-8"))
    faults = {row.name: row for row in FAULTS}
    out_of_date = sorted(
        name for name, entry in kept["laws"].items() if name not in LAWS or entry["fault"] not in faults
    )
    assert not out_of_date, f"to mend it: {kept['made_by']}"
    assert len(kept["laws"]) > 0.9 * len(LAWS), f"to mend it: {kept['made_by']}"


def test_two_laws_of_one_name_are_not_put_on_one_page(builder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    product, attention = builder("product"), contracts()["attention"]

    def agrees_with_truth(subject: Any, case: Any) -> None:
        """Another law."""

    other = replace(attention, name="other", laws=(replace(attention.laws[0], check=agrees_with_truth),))
    law = next(law for law in attention.laws if law.name == "agrees_with_truth")
    for laws in ((law,), other.laws):
        found = {"attention": attention, "other": replace(other, laws=laws)}
        monkeypatch.setattr(product, "contracts", lambda found=found: found)
        if laws == (law,):
            assert [contract.name for contract, _ in product.laws()["agrees_with_truth"]] == ["attention", "other"]
        else:
            with pytest.raises(ValueError, match="attention and other have two laws agrees_with_truth"):
                product.laws()


def test_what_right_code_declares_names_families_and_laws_that_exist() -> None:
    notes = tomllib.loads((ROOT / "docs" / "data" / "when_right.toml").read_text(encoding="utf-8"))
    assert set(notes["law"]) <= set(LAWS)
    assert set(notes["family"]) == {law.family.replace("-", "_") for law in LAWS.values()}


@pytest.mark.parametrize(
    ("latex", "parts"),
    [
        (r"\sum_{i=1}^n x_i", ["munderover", "∑"]),
        (r"\begin{aligned} a &= b \\ &= c \end{aligned}", ["<mtable", 'columnalign="right"']),
        ("u := 1", ["≔"]),
        (r"\mathbf{1}_n", ["𝟏"]),
        (r"|x| \le 1 % a comment", ['lspace="0"', "≤"]),
    ],
)
def test_formulas_become_mathml(builder: Any, latex: str, parts: list[str]) -> None:
    pytest.importorskip("sphinx")
    pytest.importorskip("latex2mathml")
    found = builder("mathml").to_mathml(latex, None, display="block")
    assert found.startswith("<math") and all(part in found for part in parts)
    assert "comment" not in found


COMMAND = re.compile(r"^(?:    |\$ )((?:attention-core|finetune) [a-z].*)$", re.MULTILINE)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_options_on_a_page_are_options_of_the_command(builder: Any, page: Path) -> None:
    groups = builder("product").commands()
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in COMMAND.findall(text):
        name, sub, *words = line.split()
        command = groups[name].commands.get(sub)
        assert command is not None, f"{line}: there is no {name} {sub}"
        if isinstance(command, click.Group) and words:
            command = command.commands[words[0]]
        known = {option for p in command.params for option in (*p.opts, *p.secondary_opts)} | {"--help"}
        used = {word.split("=")[0] for word in words if re.match(r"--[a-z]", word)}
        assert used <= known, f"{line}: {sorted(used - known)}"


def test_columns_of_sentences_and_of_phrases_are_marked(builder: Any) -> None:
    """A column has the class of its longest cell, also where that is another cell; code does not count."""
    nodes = pytest.importorskip("docutils.nodes")
    columns = builder("prose_columns")
    table, texts = nodes.table(), [("a", "x" * 18, "b"), ("y" * 40, "c", "")]
    for row in texts:
        cells = [nodes.entry("", nodes.paragraph("", text)) for text in row]
        cells[2] += nodes.literal("", "z" * 60)
        table += nodes.row("", *cells)
    columns.mark(None, nodes.container("", table))
    found = [[cell["classes"] for cell in row.children] for row in table.findall(nodes.row)]
    assert found == [[["prose"], ["phrase"], []]] * 2


def test_heads_and_figures_make_no_column_wide(builder: Any) -> None:
    """A head may stand on several lines, and a mean with its interval breaks between any two of its numbers."""
    nodes = pytest.importorskip("docutils.nodes")
    columns = builder("prose_columns")

    def row(*texts: str) -> Any:
        return nodes.row("", *(nodes.entry("", nodes.paragraph("", text)) for text in texts))

    table = nodes.table(
        "", nodes.thead("", row("a" * 20, "b" * 40)), nodes.tbody("", row("7", "6.53 (6.43 to 6.67) 95 %"))
    )
    columns.mark(None, nodes.container("", table))
    assert [cell["classes"] for cell in table.findall(nodes.entry)] == [[], [], [], []]
