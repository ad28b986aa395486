r"""Write mathematics, get every step checked.

Derivations: a document with formulas goes in, one verdict for every relation of every display comes out.
Importing this package is light; `check_document` brings Lark and python-flint in when it is first used.

The way of a document through the modules::

    source       text -> `blocks`: headings, paragraphs, displays with their options and lines
    lexer        LaTeX -> `tokens` (style falls away, bars are paired, transposes recognised), with `bars`,
                 `digit_groups` and `latex_commands`; its tables are in `latex`
    parse        tokens -> `syntax` tree, by a Lark `grammar`; `tree` builds it
    display      a display -> statements with conditions, reasons, tags and options: `rows` cuts it into `segments` and
                 gathers their tokens into `pieces`, as the `connectives` between them say
    declare      "Let ..." paragraphs -> `declared.Context`: `paragraphs` finds them, `prose` reads their words,
                 `memberships` (`domains`: what stands right of \in and \sim), `definitions` and `hypotheses` their
                 formulas
    premises     prose that assumes (`sentences`, `vocabulary`, `properties`); `caveats`: what of it was not read;
                 `scope_words`: words around a step that are neither read nor inert (`leftovers`, `inert_words`,
                 `inert_phrases`); `doubts` makes UNDECIDED of REFUTED where any of these is left
    functions    functions that a document defines, put in where they are applied
    elaborate    syntax tree + context -> typed `terms` with symbolic `shapes`; a module for each kind of expression:
                 `elaborate_names`, `elaborate_subscripts`, `elaborate_powers`, `elaborate_products`, `elaborate_norms`,
                 `elaborate_functions`, `elaborate_random`, `elaborate_sums` (with `index_ranges`), `elaborate_arrays`
                 (with `dotted`), `elaborate_derivatives`; `indicators`
    check        statements -> `steps` -> typed `claims` (`approximate` makes exact ones of \approx and \gg) -> reports
    relevance    which symbols and hypotheses a step depends on; `spaces`: which sizes and indices are tried
    lower        terms at sizes -> the scalar `graph`: `lower_arithmetic` (`gradient`: derivatives, `moments`:
                 expectations), `lower_arrays`
    generate     cases that satisfy the hypotheses, as `plans` say (`choices` to draw and shrink, `frames`, `gram`), of
                 `admissible` values
    numbers      exact rationals, else balls of python-flint; `compare` judges both sides at a case
    decide       search for a counterexample by `trials` at `sites`, with a given `effort` and a `tally` of what was
                 seen, then where the claim could fail (`pinpoint` by `point_search`, `probe`; of claims about
                 sizes `size_sweep` by `columns_of_terms`, `integer_points`, and `huge` with `taylor`); it ends with
                 `counterexamples` or `agreement`; `contradiction` certifies VACUOUS, `guess` and `necessity` advise
    prove        raises agreement: `normal` forms of `atoms` and `ratios`, modulo an `ideal` (EXACT); `allsizes`
                 and `size_signs` (PROVED) by `indexed_entries`: polynomials (`indexed`), sums over indices
                 (`indexed_sums`), derivatives (`indexed_slopes`); `modular`
    limits       asymptotic expansions (`scales`, `transseries`, `roots`, `regions`; an `expander` makes them of nodes)
                 decide limits; `limit_claims` and `lower_limits` make them, `reach` sees whether they can be taken,
                 `dominated` takes them under averages
    moments      expectations in closed form (`closed_forms`, `normal_moments`, `lone_functions`) under the `laws` that
                 `drawing` reads
    statistics   random samples (`estimators`, `sampling`, `evalues`) with proved `bounds` of how they `spread`
    records      `Verdict`, `Evidence`, `Counterexample`, `Finding`, `StepReport`, `DocumentReport`
    mathml       the syntax tree as MathML; `page`: reports as HTML, with `page_prose`, `page_steps`, `page_conditions`
    command      `attention-core derive`; `collection` makes pytest items of steps

Specification of the text that is read: docs/derivations.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attention_core.derivation.records import Counterexample, DocumentReport, Evidence, StepReport, Verdict

if TYPE_CHECKING:
    from pathlib import Path


def check_document(path_or_text: str | Path, **options: Any) -> DocumentReport:
    """Check every step of a document; see `attention_core.derivation.check.check_document`."""
    from attention_core.derivation.check import check_document as check

    return check(path_or_text, **options)


__all__ = ["Counterexample", "DocumentReport", "Evidence", "StepReport", "Verdict", "check_document"]
