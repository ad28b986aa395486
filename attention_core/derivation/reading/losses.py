r"""Losses that a document does not write out: "Let $L$ be a scalar function of $O$ and $dO = \partial L / \partial O$."

Such a loss is tried as $L(O) = \langle C, O \rangle + \frac{1}{2} \langle D, O \rangle^2$ with arrays C and D that are
drawn like any others. Derivatives of first order are linear in $\partial L / \partial O = C + \langle D, O \rangle D$,
which takes every value, so what is false of one of these is false, and what holds of all of them AGREES and is never
more. Gradients that are named by a d, as `dO` is beside a size d, are names of one symbol.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from attention_core.derivation.document.blocks import Block, Display, Heading, Paragraph
from attention_core.derivation.elaborate.functions import substitute
from attention_core.derivation.latex.parse import parse_expression
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.latex.syntax import Expr, Name, Unreadable
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.terms import Relation, Term

_NAME = r"(?:\\(?:mathcal|mathbf|boldsymbol|bm|hat|tilde)\s*\{\s*\\?[A-Za-z]+\s*\}|\\?[A-Za-z]+)"
_KIND = (
    r"(?:an?|any|some|the|our|given) (?:(?:scalar|scalar-valued|real-valued|real|differentiable|continuously|smooth|"
    r"arbitrary|generic|general|fixed|given|final|downstream|training|total|overall)[ -])*"
    r"(?:loss|objective|cost|function|functional)(?: function)?"
)
_OF = r"(?:of|that (?:only )?depends (?:only )?on|which (?:only )?depends (?:only )?on|depending (?:only )?on)"
_ROLE = r"(?:the (?:[a-z]+ ){1,3})?"
_BEHIND = re.compile(
    rf"\$\s*(?P<loss>{_NAME})\s*\$ (?:be|is|denotes?) {_KIND} {_OF} {_ROLE}"
    rf"\$\s*(?P<of>{_NAME})\s*\$(?: (?:only|alone))?"
)
_CALLED = re.compile(
    rf"\$\s*(?P<loss>{_NAME})\s*\(\s*(?P<of>{_NAME})\s*\)\s*\$ (?:be|is|denotes?) {_KIND}(?! {_OF})(?![\w-])"
)
_BEFORE = re.compile(
    rf"(?:(?:Consider|Given|Take|Fix|We are given|Suppose (?:that )?(?:we have|there is)|For) )?{_KIND} "
    rf"\$\s*(?P<loss>{_NAME})\s*\$ {_OF} {_ROLE}\$\s*(?P<of>{_NAME})\s*\$(?: (?:only|alone))?",
    re.IGNORECASE,
)
_FORM = re.compile(rf"\s*({_NAME})\s*\\colon\s*({_NAME})\s*\\to\s*\\mathbb\{{R\}}\s*")
_SLASHED = re.compile(rf"\\partial\s*({_NAME})\s*/\s*\\partial\s*({_NAME})")
_GRADIENT = re.compile(
    r"(?<![A-Za-z\\{])d(?P<of>[A-Z])\s*(?:&\s*)?:?=\s*(?:&\s*)?\\(?:[dt]?frac\s*\{\s*\\partial[^{}]*\}\s*"
    r"\{\s*\\partial\s*(?P=of)\s*\}|nabla\s*_\s*\{?\s*(?P=of)(?![A-Za-z]))"
)
_NAMED = re.compile(r"(?<![A-Za-z\\])(?<!frac\{)(?<!\}\{)d([A-Z])(?![A-Za-z])")
_NAMED_OR_TAG = re.compile(
    rf"\\(?:tag|label)\*?\s*\{{[^{{}}]*\}}|{_NAMED.pattern}"
)  # the name of a step stays as it is
_FORMULA = re.compile(r"(?<![\\$])\$((?:[^$\\]|\\.)+)\$(?!\$)")


def spell_losses(blocks: Sequence[Block]) -> list[Block]:
    r"""Write losses of a quantity as functions, and gradients named by a d as names.

    Args:
        blocks: The blocks of a document.

    Example:
        >>> spell_losses([Paragraph(1, "Let $L$ be a loss of $O$, and $G = \\partial L/\\partial O$.")])[0].text
        'Let $L \\colon O \\to \\mathbb{R}$, and $G = \\frac{\\partial L}{\\partial O}$.'
    """
    text = "\n".join(block.text for block in blocks if isinstance(block, Paragraph | Display))
    spelled = [_spell(block, text) if isinstance(block, Paragraph | Display) else block for block in blocks]
    if any(_GRADIENT.search(block.text) for block in spelled if isinstance(block, Paragraph | Display)):
        spelled = [block if isinstance(block, Heading) else _with_names(block) for block in spelled]
    return spelled


def _spell(block: Block, document: str) -> Block:
    text = block.text
    if r"\partial" in text:
        text = _SLASHED.sub(r"\\frac{\\partial \1}{\\partial \2}", text)
    if isinstance(block, Paragraph) and "$" in text:
        plain = re.sub(r"(?<=\S)\n(?=\S)", " ", text)
        if any(one.search(plain) for one in (_BEHIND, _CALLED, _BEFORE)):
            text = _with_functions(text, document)
    return block if text == block.text else replace(block, text=text)


def _with_functions(text: str, document: str) -> str:
    """A paragraph with `L \\colon O \\to \\mathbb{R}` in the place of words, in as many lines."""
    spaced = before = text.replace("\n", " ")

    def write(opening: str, found: re.Match[str]) -> str:
        return found[0] if _is_written_out(found["loss"], document) else opening + _function(found)

    for pattern in (_BEHIND, _CALLED):
        spaced = pattern.sub(partial(write, ""), spaced)
    spaced = _BEFORE.sub(partial(write, "Let "), spaced)
    return text if spaced == before else spaced + "\n" * text.count("\n")


def _is_written_out(loss: str, document: str) -> bool:
    """Whether a formula of the document says what a loss is: then it is not any function."""
    name = re.escape(loss)
    return bool(
        re.search(rf"(?<![A-Za-z\\{{]){name}\s*(?:\([^()]*\)\s*)?(?:&\s*)?(?::=|=|\\(?:{_SAYS})(?![a-z]))", document)
    )


_SAYS = "equiv|triangleq|coloneqq|propto|approx"


def _function(found: re.Match[str]) -> str:
    return rf"${found['loss']} \colon {found['of']} \to \mathbb{{R}}$"


def _with_names(block: Block) -> Block:
    if isinstance(block, Display):
        return replace(block, text=_NAMED_OR_TAG.sub(_name_gradient, block.text))
    if isinstance(block, Paragraph):
        return replace(block, text=_FORMULA.sub(lambda f: _NAMED.sub(r"\\mathrm{d\1}", f[0]), block.text))
    return block


def _name_gradient(found: re.Match[str]) -> str:
    return found[0] if found[1] is None else rf"\mathrm{{d{found[1]}}}"


_FORMS = ("%s O", r"\operatorname{tr}(%s^\top O)", r"%s^\top O", r"%s O^\top")
"""Inner products of an array with a number, a matrix, a column and a row."""


def loss_in(formula: str) -> tuple[str, str] | None:
    r"""The names of `L \colon O \to \mathbb{R}`: of the loss, and of what it is a function of; None of anything else.

    Args:
        formula: An inline formula.

    Example:
        >>> loss_in(r"L \colon O \to \mathbb{R}"), loss_in("L = O")
        (('L', 'O'), None)
    """
    found = _FORM.fullmatch(formula)
    return (found[1], found[2]) if found else None


def loss_of(context: Context, names: tuple[str, str], line: int) -> tuple[Name, Expr]:
    """Declare the arrays that a loss is made of, and return its name and what it stands for.

    Args:
        context: What is declared; it is changed.
        names: The loss, and what it is a function of.
        line: The line.

    Raises:
        Unreadable: That is not declared.
    """
    loss, of = (parse_expression(name, line) for name in names)
    known = context.symbols.get(of.text) if isinstance(of, Name) else None
    kind = None if known is None else known.type if known.term is None else known.term.type
    if not isinstance(loss, Name) or kind is None:
        raise Unreadable(f"'{names[1]}', of which {names[0]} is a function, is not declared", line)
    letters = [f"{loss.text}_{{[{k}]}}" for k in (1, 2)]
    for one in letters:
        context.declare(Symbol(one, "array", line, context.level, kind))
    pair = (
        r"C O^\top + \frac{1}{2} (D O^\top)^2"
        if kind.vector and not kind.column
        else r"C^\top O + \frac{1}{2} (D^\top O)^2"
    )
    if kind.scalar:
        pair = r"C O + \frac{1}{2} (D O)^2"
    elif not kind.vector:
        pair = r"\operatorname{tr}(C^\top O) + \frac{1}{2} (\operatorname{tr}(D^\top O))^2"
    new: dict[object, Expr] = {Name("C"): Name(letters[0]), Name("D"): Name(letters[1]), Name("O"): of}
    pair = next(
        form for form, holds in zip(_FORMS, (kind.scalar, not kind.vector, kind.column, True), strict=True) if holds
    )
    written = parse_expression(rf"{pair % 'C'} + \frac{{1}}{{2}} ({pair % 'D'})^2", line)
    body = substitute(written, lambda node: new.get(node) if isinstance(node, Name) else None)
    context.understood.append((line, f"{names[0]} is any function of {names[1]}, tried as {to_latex(body)}"))
    return loss, body  # type: ignore[return-value]


def describe_losses(context: Context, names: Iterable[str]) -> str:
    """What some of the names stand for where they are such losses, '' if none is.

    Args:
        context: What is declared.
        names: Names that occur in a step.
    """
    known = context.symbols
    found = sorted({name.split("_{[")[0] for name in names if "_{[" in name})
    losses = [one for one in found if one in known and known[one].kind == "definition"]
    return ", ".join(f"{one} as a quadratic function of what it depends on" for one in losses)


TRIED_ORDER = 2  # of derivatives: those of higher order of what is tried are 0


def order_of_derivatives(claim: Relation) -> int:
    """How often something is differentiated at most.

    Args: claim, a relation.
    """
    return max(_order(claim.left, {}), _order(claim.right, {}))


def _order(term: Term, known: dict[int, int]) -> int:
    if id(term) not in known:
        own = max((_order(one, known) for one in term.args), default=0)
        known[id(term)] = own + (term.op == "deriv")
    return known[id(term)]
