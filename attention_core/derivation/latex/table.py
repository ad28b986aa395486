"""A short way through the table that Lark makes of a grammar.

Lark looks every reduction up in two dictionaries, hashes the rule for it, and hands its parts through four functions:
that took three quarters of the time that parsing a formula took. Here a state is one dictionary, from what comes next
to the state that follows or to a rule, and a rule calls what makes its value.

Most reductions make nothing: a letter is an atom, a power, a factor, a product and a sum before a relation follows it.
Which state such a run of reductions ends in depends on the state, on the one below it, and on the next token alone.
So a state is kept with the one below it, as a `_Place`, and looks up once what a token means at the end of that run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lark import Lark, Token
from lark.lexer import Lexer
from lark.parsers.lalr_analysis import Shift

Make = Callable[..., Any]
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


class _Place(dict[str, Any]):
    """A state on top of another one: what to do at each token, found when it is first asked for.

    A value is (place, size, make, name): the place that runs of reductions that make nothing lead to, and the reduction
    there. Of size -1 it is none: the token is taken, and `name` is the place that follows. The values at the names of
    rules are places.
    """

    __slots__ = ("below", "places", "state")

    def __init__(self, places: dict[tuple[int, int], _Place], below: dict[str, Any], state: dict[str, Any]) -> None:
        self.places, self.below, self.state = places, below, state

    def on(self, state: dict[str, Any]) -> _Place:
        """The place of a state on top of this one."""
        return _place(self.places, self.state, state)

    def __missing__(self, kind: str) -> Any:
        move = self.state.get(kind)
        if move.__class__ is not tuple:  # only tokens are asked for that nothing goes on with
            found = None if move is None else self.on(move) if kind.islower() else (self, -1, None, self.on(move))
        elif move[:2] == (1, None):
            found = _place(self.places, self.below, self.below[move[2]])[kind]
        else:
            found = (self, *move)
        self[kind] = found
        return found


def _place(places: dict[tuple[int, int], _Place], below: dict[str, Any], state: dict[str, Any]) -> _Place:
    """The one place of a state on top of another one."""
    key = id(below), id(state)
    if key not in places:
        places[key] = _Place(places, below, state)
    return places[key]


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
        self.first, self.last = _place({}, {}, rows[conf.start_state]), rows[conf.end_state]

    def read(self, kinds: Sequence[str], values: Sequence[Any]) -> Any:
        """What the rules make of some tokens.

        Args:
            kinds: The names of the tokens in the grammar.
            values: What stands for each of them among the parts of a rule.

        Raises:
            Unexpected: No rule goes on at a token.
        """
        places: list[_Place] = []  # below the top
        parts: list[Any] = []
        top = self.first
        for at, kind in enumerate((*kinds, "$END")):
            while (move := top[kind]) is not None:
                here, size, make, name = move
                if size < 0:
                    places.append(here)
                    parts.append(values[at])
                    top = name
                    break
                if size == 1:
                    parts[-1] = make(parts[-1])
                elif size:
                    parts[-size:] = [make(*parts[-size:])]
                    del places[1 - size :]
                else:
                    parts.append(make())
                    places.append(here)
                top = places[-1][name]
            else:
                if kind == "$END" and top.state is self.last:
                    return parts[-1]
                raise Unexpected(at)
        raise AssertionError("Lark's table has no end")


def _reduction(rule: Any, method: Callable[[str], Callable[..., Any]]) -> Reduction:
    """A rule of Lark as a step of the table."""
    size, name = len(rule.expansion), str(rule.origin.name)
    inline = [k for k, part in enumerate(rule.expansion) if not part.is_term and part.name.startswith("_")][::-1]
    missing = rule.options.empty_indices  # where `[a]` stands for nothing: True, with a False for each part
    if name.startswith("_"):  # of `a*`: a list, put among the parts of the rule that it belongs to
        return size, _extend if inline == [0] else _list, name
    alone = rule.options.expand1 and not rule.alias
    if size == 1 and alone and not inline and not any(missing):
        return 1, None, name
    return size, _call(method(str(rule.alias or name)), alone, inline, missing if any(missing) else ()), name


def _list(*parts: Any) -> list[Any]:
    """The list that `a*` begins as."""
    return list(parts)


def _extend(found: list[Any], *more: Any) -> list[Any]:
    """The list that `a*` is by now, with one more."""
    found += more
    return found


def _call(method: Callable[..., Any], alone: bool, inline: list[int], missing: Sequence[bool]) -> Make:
    """What a rule makes of the values of its parts: `alone` says that a single part stays what it is."""
    if not (alone or inline or missing):
        return method

    def make(*values: Any) -> Any:
        parts = list(values)
        for k in inline:
            parts[k : k + 1] = parts[k]
        if missing:
            given = iter(parts)
            parts = [None if empty else next(given) for empty in missing]
        return parts[0] if alone and len(parts) == 1 else method(*parts)

    return make
