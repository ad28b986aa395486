"""A page for every command, from its parser."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc

import click
from product import commands

MADE = "*This page is made from the parser when the site is built (`tox run -e docs`).*"


def pages() -> Iterator[tuple[str, str]]:
    """The index and the pages, by their places on the site."""
    lines, names = ["# Command line", ""], []
    for name, group in commands().items():
        lines += [f"## {name}", "", "| command | what it does |", "|---|---|"]
        for outer, sub, command in nested(name, group):
            file = f"{outer} {sub}".replace(" ", "-")
            names.append(file)
            lines.append(f"| [`{outer} {sub}`]({file}.md) | {cell(command.get_short_help_str(120))} |")
            yield f"reference/commands/{file}.md", page(outer, sub, group, command)
        lines.append("")
    lines += [
        "Exit status: 0 if all is as it should be, 1 if something is refuted, 2 if something cannot be judged.",
        "",
    ]
    toctree = ["```{toctree}", ":hidden:", "", *names, "```", ""]
    yield "reference/commands/index.md", "\n".join([*lines, *toctree])


def nested(name: str, group: click.Group) -> Iterator[tuple[str, str, click.Command]]:
    """The commands of a group, those of its groups included, each with the words before its name."""
    for sub, command in sorted(group.commands.items()):
        yield name, sub, command
        if isinstance(command, click.Group):
            yield from nested(f"{name} {sub}", command)


def page(name: str, sub: str, group: click.Group, command: click.Command) -> str:
    """The page of one command: its usage, its help, and its options in a list."""
    parent = click.Context(group, info_name=name, **group.context_settings)  # click keeps the help option it made first
    context = click.Context(command, info_name=sub, parent=parent, max_content_width=110)
    usage = " ".join(command.collect_usage_pieces(context))
    text = cleandoc(command.help or "").replace("\b\n", "").strip()
    lines = [f"# {name} {sub}", "", "```", f"{name} {sub} {usage}", "```", "", *paragraphs(text)]
    if isinstance(command, click.Group):
        file = f"{name} {sub}".replace(" ", "-")
        for inner, one in sorted(command.commands.items()):
            lines += [f"- [`{name} {sub} {inner}`]({file}-{inner}.md): {one.get_short_help_str(120)}"]
    options = [record for p in command.get_params(context) if (record := p.get_help_record(context))]
    if options:
        lines += ["", "## Options", ""]
        for words, help_text in options:
            lines += [f"`{words}`", f": {escaped(help_text)}", ""] if help_text else []
    lines += [*paragraphs(command.epilog or ""), MADE, ""]
    return "\n".join(lines)


def paragraphs(text: str) -> list[str]:
    """Help text as Markdown, its indented lines as code."""
    found = []
    for part in text.split("\n\n"):
        lines = part.splitlines()
        if lines and all(line.startswith("  ") for line in lines):
            found += ["```", *lines, "```", ""]
        elif lines:
            found += [escaped(" ".join(line.strip() for line in lines)), ""]
    return found


def escaped(text: str) -> str:
    """Text whose signs mean nothing to Markdown."""
    for sign in "\\<>*_$[]|":
        text = text.replace(sign, f"\\{sign}") if "`" not in text else text
    return text.replace("--", "\\-\\-") if "`" not in text else text


def cell(text: str) -> str:
    """Text of a table's cell."""
    return text.replace("|", "\\|")
