"""A page for every contract: what is called, an example, its options, and its laws."""

from __future__ import annotations

import re
from collections.abc import Iterator

from product import Contract, contracts, interface, one_lines, sections

OPTION = re.compile(r"--[a-z][a-z-]*(?: NAME=VALUE)?")
MADE = "*This page is made from the contract when the site is built (`tox run -e docs`).*"


def pages() -> Iterator[tuple[str, str]]:
    """The index and the pages, by their places on the site."""
    lines = one_lines()
    rows = [f"| [{name}]({name}.md) | {line.replace('|', chr(92) + '|')} |" for name, line in lines.items()]
    toctree = ["```{toctree}", ":hidden:", "", *lines, "```"]
    intro = "A contract says how a target is called, and which laws apply to it. `--contract NAME` chooses it."
    head = ["# Contracts", "", intro, "", "| contract | what is called |", "|---|---|"]
    yield "reference/contracts/index.md", "\n".join([*head, *rows, "", *toctree, ""])
    for name, contract in contracts().items():
        yield f"reference/contracts/{name}.md", page(contract)


def page(contract: Contract) -> str:
    """The page of one contract."""
    own = sections().get(contract.name)
    body = built_in(contract, own) if own else ["```text", *interface(contract.name).splitlines()[2:], "```", ""]
    laws = [f"- [`{law.name}`](../laws/{law.name}.md): {law.sentence}" for law in contract.laws]
    return "\n".join([f"# {contract.name}", "", *body, f"## Its {len(contract.laws)} laws", "", *laws, "", MADE, ""])


def built_in(contract: Contract, text: str) -> list[str]:
    """The section of interfaces.md, with the options that `attention-core contracts NAME` lists behind it."""
    options = re.findall(r"^Declared with --parameter.*?(?=\n\n)", interface(contract.name), re.DOTALL | re.MULTILINE)
    listed = [line for option in options for line in (OPTION.sub(r"`\g<0>`", " ".join(option.split())), "")]
    return [text, "", *listed]
