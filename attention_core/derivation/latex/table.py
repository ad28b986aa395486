"""A short way through the table that Lark makes of a grammar.

Lark looks every reduction up in two dictionaries, hashes the rule for it, and hands its parts through four functions:
that took three quarters of the time that parsing a formula took. Here a state is one dictionary, from what comes next
to the state that follows or to a rule, and a rule calls what makes its value. A rule whose value is that of its only
part makes nothing: it costs two look-ups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lark import Lark, Token
from lark.lexer import Lexer
from lark.parsers.lalr_analysis import Shift

Make = Callable[[list[Any]], Any]
Reduction = tuple[int, Make | None, str]
"""How many parts a rule has, what it makes of them (None: the part itself), and the name of what it makes."""


class GivenTokens(Lexer):
    """Hands Lark tokens that exist already."""

    def __init__(self, lexer_conf: Any) -> None:
        pass

    def lex(self, data: Any) -> Iterator[Token]:  # type: ignore[override]
        yield from data


class Unexpected(Exception):
    """A token at which no rule goes on; `place` counts the tokens before it."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


class Table:
    """The states of a grammar, each with what follows in it: another state, or a reduction.

    Args:
        lark: The grammar, read by Lark for its LALR parser.
        method: What makes the value of the rules of a name, or of an alias, from the values of their parts.
    """

    def __init__(self, lark: Lark, method: Callable[[str], Callable[..., Any]]) -> None:
        conf = lark.parse_interactive([]).parser_state.parse_conf
        rows: dict[Any, dict[str, Any]] = {state: {} for state in conf.states}
        for state, row in rows.items():
            for kind, (action, target) in conf.states[state].items():
                row[str(kind)] = rows[target] if action is Shift else _reduction(target, method)
        self.first, self.last = rows[conf.start_state], rows[conf.end_state]

    def read(self, kinds: Sequence[str], values: Sequence[Any]) -> Any:
        """What the rules make of some tokens.

        Args:
            kinds: The names of the tokens in the grammar.
            values: What stands for each of them among the parts of a rule.

        Raises:
            Unexpected: No rule goes on at a token.
        """
        rows, last = [self.first], self.last
        parts: list[Any] = []
        for place, kind in enumerate((*kinds, "$END")):
            while (move := rows[-1].get(kind)).__class__ is tuple:
                size, make, name = move
                if size == 1:
                    if make is not None:
                        parts[-1] = make(parts[-1:])
                    rows[-1] = rows[-2][name]
                else:
                    assert make is not None
                    made = make(parts[-size:] if size else [])
                    if size:
                        del rows[-size:], parts[-size:]
                    parts.append(made)
                    rows.append(rows[-1][name])
                if rows[-1] is last and kind == "$END":
                    return parts[-1]
            if move is None:
                raise Unexpected(place)
            rows.append(move)
            parts.append(values[place])
        raise AssertionError("Lark's table has no end")


def _reduction(rule: Any, method: Callable[[str], Callable[..., Any]]) -> Reduction:
    """A rule of Lark as a step of the table."""
    size, name = len(rule.expansion), str(rule.origin.name)
    inline = [k for k, part in enumerate(rule.expansion) if not part.is_term and part.name.startswith("_")][::-1]
    missing = rule.options.empty_indices  # where `[a]` stands for nothing: True, with a False for each part
    if name.startswith("_"):  # of `a*`: a list, put among the parts of the rule that it belongs to
        return size, _extend if inline == [0] else list, name
    alone = rule.options.expand1 and not rule.alias
    if size == 1 and alone and not inline and not any(missing):
        return 1, None, name
    return size, _call(method(str(rule.alias or name)), alone, inline, missing if any(missing) else ()), name


def _extend(parts: list[Any]) -> list[Any]:
    """The list that `a*` is by now, with one more."""
    parts[0] += parts[1:]
    found: list[Any] = parts[0]
    return found


def _call(method: Callable[..., Any], alone: bool, inline: list[int], missing: Sequence[bool]) -> Make:
    """What a rule makes of the values of its parts: `alone` says that a single part stays what it is."""

    def make(parts: list[Any]) -> Any:
        for k in inline:
            parts[k : k + 1] = parts[k]
        if missing:
            given = iter(parts)
            parts = [None if empty else next(given) for empty in missing]
        return parts[0] if alone and len(parts) == 1 else method(*parts)

    return make if alone or inline or missing else lambda parts: method(*parts)
