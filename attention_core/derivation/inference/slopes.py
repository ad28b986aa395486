r"""Derivatives of functions that the document defines, where no letter says by what: `\nabla f(x)`, `f'(x)`, `f''(x)`.

The function has one argument, and that is a symbol here: `\nabla f(x)` is `\nabla_x f(x)`. Otherwise the gradient of a
function that is known would be a new symbol, and a display could define it as it likes.
"""

from __future__ import annotations

from fractions import Fraction

from attention_core.derivation.elaborate.functions import substitute
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Chain, Derivative, Expr, Group, Name, Num, Sup, Times
from attention_core.derivation.terms.context import Context


def name_slopes(context: Context, chain: Chain) -> Chain:
    r"""Write by what functions of the document are differentiated.

    Args:
        context: What is declared; only functions of one argument with a formula count.
        chain: The relations of a statement.

    Returns:
        The chain, with `\nabla_x f(x)` in the place of `\nabla f(x)` and of `f'(x)`.
    """
    if not any(symbol.body is not None for symbol in context.symbols.values()):
        return chain

    def rule(node: object) -> object | None:
        return _slope(context, node) if isinstance(node, Times) else None

    return substitute(chain, rule)  # type: ignore[return-value]


def is_slope_of_known(context: Context, name: str) -> bool:
    """Whether a name is that of a derivative, f' or f'', of a function that the document defines."""
    return name.endswith("'") and _is_known(context, name.rstrip("'"))


def _is_known(context: Context, name: str | None) -> bool:
    symbol = context.symbols.get(name or "")
    return symbol is not None and symbol.body is not None and len(symbol.params) == 1


def _slope(context: Context, node: Times) -> Expr | None:
    factors, ops = list(node.factors), list(node.ops)
    for place in range(len(factors) - 1):
        hessian = factors[place] == Sup(Name(r"\nabla"), Num(Fraction(2)))
        nabla = hessian or factors[place] == Name(r"\nabla")
        head = factors[place + nabla]
        inside = factors[place + nabla + 1] if place + nabla + 1 < len(factors) else None
        written = symbol_name(head) or ""
        order = 1 + hessian if nabla else len(written) - len(written.rstrip("'"))
        name, argument = written if nabla else written.rstrip("'"), _argument(inside)
        if argument is None or not order or any(ops[place : place + nabla + 1]) or not _is_known(context, name):
            continue
        found: Expr = Times((Name(name), inside), ("",))  # type: ignore[arg-type]
        for _ in range(order):
            found = Derivative(found, (argument,), nabla=True)
        factors[place : place + nabla + 2] = [found]
        del ops[place : place + nabla + 1]
        return Times(tuple(factors), tuple(ops)) if ops else found
    return None


def _argument(inside: object) -> Expr | None:
    """The symbol that stands alone in brackets, None of anything else."""
    match inside:
        case Group("(", (Chain((Name() as one,), ()),)):
            return one
    return None
