r"""Words beside a false step by which its author does not claim it, or not of all numbers.

A display may be an equation to solve ("Find all n with"), something that the document itself denies ("A common mistake
is"), the limit of a formula ("for large n"), or a formula of another quantity than the one above ("for the sum instead
we get"). Constants may absorb what changes ("may change from line to line"), and polynomials over a finite field have
coefficients of their own. A slip is not told from these by its formula, so it stays open beside such words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction

from attention_core.derivation.decision.words_below import list_words
from attention_core.derivation.inference.usage import walk, whole_names
from attention_core.derivation.latex.syntax import Big, Call, Expr, Frac, Name, Num, Plus, Sub, Sup, Times, children
from attention_core.derivation.quick_patterns import QuickPattern, compile_quick
from attention_core.derivation.reading.scope_words import is_promise
from attention_core.derivation.reading.step import FarWords, Step

LEADS = 2  # lines from a step to the sentence that leads to it, at most
NEAR = 3  # lines around a step whose words may be about it
_ASKS = compile_quick(
    r"\b(?:solve(?! (?:the|this|an?|our) (?:dual|primal)\b)|"
    r"solutions? (?:of|to|are|is)|no (?:real |finite )?solutions?|"
    r"find (?:all|every|each|those|the (?:values?|numbers?|roots?|solutions?|"
    r"points?))|(?:for )?(?:which|what) (?:values?|numbers?|[a-z]+ (?:satisf\w+|fulfil\w*|solve|obey|make|is|are|"
    r"have|has))|satisf\w+|fulfil\w*|unknowns?|(?<!square )(?<!cube )roots? (?:of|are|is)|to (?:be )?solved?|"
    r"(?:holds?|true|equal) (?:only|iff?|when|where|exactly))\b",
    re.IGNORECASE,
)
_TITLES = compile_quick(
    r"\b(?:find|determine|finding|determining) (?:the |an? )?(?:\w+ ){0,2}"
    r"(?:equations?|boundar(?:y|ies)|boundr(?:y|ies)|intersections?|roots?|zeros?|points?|unknowns?)\b",
    re.IGNORECASE,
)
"""What a title says of a section that solves an equation."""
_DENIES = compile_quick(
    r"\b(?:mistake\w*|mistaken|(?<![\x22\u201c]how )wrong(?:ly)?|incorrect(?:ly)?|fallac\w+|false(?:ly)?|"
    r"erroneous(?:ly)?|naive(?:ly)?|bugs?|buggy|beware|pitfalls?|misconceptions?|tempt\w+|freshman\W?s|sophomore\W?s|counter-?examples?|fails?|"
    r"contrar\w+|contradict\w+|absurd\w*|myth|trap|confus\w+|typos?|errat\w+|corrected)\b",
    re.IGNORECASE,
)
_FINDS = compile_quick(
    r"\b(?:find|spot|locate)\b(?: \w+){0,3} (?:errors?|mistakes?|slips?|fallacy)\b|"
    r"\b(?:where|which|what)\b(?: \w+){0,5} (?:mistakes?|fallacy|wrong|incorrect)\b|"
    r"\b(?:formulas?|equations?|displays?|chains?|lines?|terms?|steps?|identit(?:y|ies)|proofs?|comput\w+|calculations?|"
    r"derivations?|solutions?)\b[^.;]{0,40}\b(?:is|are|was|were) (?:\w+ )?(?:wrong|false|incorrect|flawed|mistaken)\b|"
    r"\b(?:answers?|solutions?|attempts?)\b[^.;]{0,20}\b(?:students?|pupils?)\b",
    re.IGNORECASE,
)
"""What a sentence says that has an error found, or denies a formula, wherever it stands."""
_RATES = re.compile(r"\bfalse[ -](?:positive|negative|alarm|discover|accept|reject)\w*", re.IGNORECASE)
_NOT = compile_quick(
    r"\b(?:is|are|does|do|was|would|need|must|can|did) ?(?:not|n't)"
    r"(?! (?:really |actually )?(?:(?:need|have) to|restricted|limited|only|hard|difficult|surprising|easy|tractable|"
    r"feasible|practical|"
    r"also (?:represented|contained|included|covered|present))\b)|"
    r"\b(?:cannot|never|nor)\b",
    re.IGNORECASE,
)
_USELESS = re.compile(
    r"\bdirectly is not possible\b|\bis not possible,? (?:because|since|as) (?:of|we need|it (?:needs|requires))\b"
)
"""Of what is true and helps no further: "... directly is not possible because of"."""
_CANNOT = re.compile(r"\bcan ?not (?:apply|use|compute|calculate|evaluate)\W*$", re.IGNORECASE)
_DIRECTLY = re.compile(r"\W*directly\b", re.IGNORECASE)
"""The two ends of "we cannot apply ... directly"."""
_TOO_MUCH = re.compile(
    r"\b(?:comput|calculat|evaluat|inferenc|sampl|optimi[sz]|integrat|train|enumerat|estimat)\w*\b[^.;]{0,60}?"
    r"\b(?:is|are|was|were) not possible\b",
    re.IGNORECASE,
)
"""Of what takes too long: "Exact inference is not possible because of the sum."."""
_LIMIT = compile_quick(
    r"\b(?:(?:for|when|as|if|with|sufficiently|very|arbitrarily|infinitely)(?: \w+){0,2} "
    r"(?:large|small|big|huge|tiny)|"
    r"(?:large|small)[- ]\w+ limit|in the limit|limiting|asymptot\w+|infinitely|infinitesimal\w*|"
    r"vanish(?!ing gradients?\b)\w*|negligib\w*|(?:minus|negative|plus|positive) infinit\w+|"
    r"tends?|goes to|approach(?:es|ing)|(?:leading|dominant|lowest|highest)[- ](?:order|terms?)|"
    r"(?:first|linear)[- ]order|"
    r"(?:only|just) the (?:first|linear) terms?|linear terms?|first terms? (?:only|alone|of (?:the|its|a) (?:\w+ )?"
    r"(?:expansion|series|taylor)))\b",
    re.IGNORECASE,
)
_OTHER = compile_quick(
    r"\b(?:instead|without (?:the|this|that|an?|any"
    r"(?! (?:major (?:change|loss)|loss(?! (?:terms?|functions?))|problems?|trouble|doubt)\b))|variants?|"
    r"redefin\w+|by convention|swallow\w*|immaterial|irrelevant|(?:does|do) not matter|re-?scal\w+|"
    r"by (?:abuse|a slight abuse)|for convenience|customary|"
    r"(?:old|new) (?:values?|versions?|definitions?|conventions?|units?|variables?)|"
    r"(?:other|another|different) (?:conventions?|definitions?|normali[sz]ations?|units?))\b",
    re.IGNORECASE,
)
_CONSTANTS = compile_quick(
    r"\b(?:line to line|occurrences?|place to place|generic constants?|(?:arbitrary|some|any|another|different|"
    r"universal) constants?|constants? of integration|constants? (?:may|can|might|is|are|that))\b",
    re.IGNORECASE,
)
_NEXT = re.compile(
    r"\W*(?:to \w+ (?:the|this|that|it|our|a) [^.;]*,|this implies that for|it follows that for)",
    re.IGNORECASE,
)
"""How a sentence begins that turns to another formula, further down."""
_HOLDS = re.compile(r"\W*(?:is|are|holds?|must|should|has to|may|needs?)\b", re.IGNORECASE)
"""How a sentence goes on behind a condition."""
_ANSWERS = re.compile(r"\b(?:we|using|the answer is|it follows)\b", re.IGNORECASE)
_OF_OTHERS = re.compile(
    r"\b(?:let us|let.s|he|she|they|you|students?|exam|wrong\w*|tick|think|try|guess|check|suppose|assume|if)\b",
    re.IGNORECASE,
)
"""Words behind a question that do not answer it."""
_SUPPOSES = compile_quick(
    r"^\W*(?:(?:now|next|first|then|so|but|and|here|for now)\W+)?(?:let us |we |i )?"
    r"(?:assume|suppose|require|want|need|demand|impose|ask|wish|postulate|conjecture)\b",
    re.IGNORECASE,
)
_CONDITION = compile_quick(
    r"\b(?:conditions?|constraints?|requirements?|equat(?:e|es|ed|ing)|"
    r"set(?:ting)? (?:both|these|them|it|this|each|the two)|intersect\w*|"
    r"cross(?:es|ing|ings)?(?!\W?(?:entrop|valid|product|term|attent|correl|covar))|obeys?|fixed points?|"
    r"at (?:the|a|an|its|this) (?:\w+ )?(?:minimum|maximum|optimum|minimi[sz]er|maximi[sz]er)|"
    r"stationar\w+|equilibri\w+|balance[sd]?|break-?even|hypothes\w+|conjectur\w+|claimed|retracted|might think|"
    r"believe|were the case|do we have|is it|whether)\b|\b(?:if|when|whenever|where|such that|so that|unless|once|"
    r"provided(?: that)?|for|at)\W*$|"
    r"\b(?:costs?|slopes?|lines?|curves?|parabolas?|rates?|tangents?|graphs?|exactness)\b[^.;]*"
    r"\b(?:equals?|agrees?|touch(?:es)?|meets?|coincides?|amounts? to)\b",
    re.IGNORECASE,
)
"""What a sentence says that leads to a condition, and not to a result."""
_SETS = (
    r"(?:curves?|lines?|(?:hyper-?)?planes?|(?:hyper-?)?surfaces?|circles?|ellips(?:es?|oids?)|parabolas?|hyperbolas?|"
    r"(?:hyper-?)?spheres?|cones?|balls?|boundar(?:y|ies)|contours?|level sets?|orbits?|manifolds?|regions?|"
    r"loc(?:us|i))"
)
_NOUNS = (
    r"(?:vectors?|matri(?:x|ces)|functions?|numbers?|sequences?|events?|(?:random )?variables?|operators?|maps?|sets?|"
    r"points?|kernels?|distributions?|processes|process|tensors?)"
)
_TO_RESULT = (  # the rest of a sentence that does not go on to a result
    r"(?:(?!\b(?:we|gives?|gets?|obtains?|yields?|becomes?|follows|hence|thus|therefore|then|so|satisf\w+|implies)\b)[^;])*$"
)
_POSES = compile_quick(
    r"\b(?:(?:consider|study|examine|look at|take|given) (?:now |again |also |next )?(?:the|an?|this|our|some|any)"
    rf"(?: \w+){{0,3}}? (?:equations?|inequalit(?:y|ies)|systems?|constraints?|{_SETS})|"
    rf"{_SETS} [^.;]{{0,50}}?\b(?:is|are|be) (?:\w+ )?(?:given|described|defined|determined|specified) by|"
    rf"(?:the|an?|its|this|with|has|here) (?:\w+ ){{0,2}}equations? (?:of|for|describing) (?:\w+ ){{0,3}}{_SETS}|"
    r"(?:with|having|(?:that|which) ha(?:ve|s)) (?:the |this |these )?(?:following )?propert(?:y|ies)|"
    rf"{_NOUNS}\b[^.;]{{0,60}}\b(?:is|are) (?:called|said to be|termed|named))\b{_TO_RESULT}",
    re.IGNORECASE,
)
"""What a sentence says that poses an equation, describes a set by it, or defines a word."""
_FIELDS = compile_quick(
    r"\bGF ?\(|\bgalois\b|\bwithout (?:a )?carr\w+|\bmod(?:ulo)? (?:\d|two|three|a prime)|\bmodular\b|"
    r"\bcharacteristic (?:\d|two|three|a prime)|"
    r"\bresidue (?:class\w*|rings?|fields?)|(?<!wall[ -])\bclocks?\b(?! (?:speeds?|rates?|cycles?))|"
    r"\bcongruen(?:t|ces?) mod\b",
    re.IGNORECASE,
)
_EXTREMES = compile_quick(
    r"\b(?:tropical (?:\w+ )?(?:semi-?rings?|algebras?|geometr\w+|arithmetics?|limits?|math\w*|polynomials?|numbers?|"
    r"sums?|products?|addition|multiplication|conventions?|sense|matri\w+|analysis|operations?|calculus|settings?)|"
    r"tropicali\w+|tropically|max-plus|min-plus)\b",
    re.IGNORECASE,
)
"""Words of a calculation whose sums are extremes; a tropical forest has none."""
_BITS = compile_quick(
    r"\bxor\b(?! (?:networks?|problems?|tasks?|data\w*|classif\w+))|\bcrcs?\b|"
    r"\bbinary (?:codes?|codewords?|fields?|polynomials?|arithmetic)\b|"
    r"\bcode-?words?\b|\b(?:linear|cyclic|hamming|error-correcting) codes?\b|\bcoding theory\b|"
    r"\bparity[- ](?:bits?|checks?)\b|\bboolean (?:algebras?|rings?|semirings?|arithmetic|polynomials?)\b",
    re.IGNORECASE,
)
"""Words of a calculation with 0 and 1 alone: a step with another coefficient than 0, 1 and 2 is of other numbers."""
_FIELD = re.compile(
    r"\\math(?:bb|bf)\s*\{?\s*(?:F|GF|Z)\s*\}?\s*(?:_|/)|\\operatorname\{GF\}|\\mathrm\{GF\}|\\equiv.*\\b?mod\b|\\pmod"
)
_MEASURES = compile_quick(
    r"\b(?:normali[sz]ed|haar|probability|counting|invariant|other|another|different|weighted|wiener|gaussian|"
    r"spectral) (?:measures?|volumes?)\b|\bmeasures? (?:is|are|here|such|with)\b|\bprincipal values?\b|"
    r"\bfinite parts?\b|"
    r"\bzeta\b|\bregulari[sz]\w+ (?:integrals?|values?)|\b(?:dimensional|analytic) (?:regulari[sz]\w+|continuation)|"
    r"\bscaleless\b|\bberezin\b|\bgrassmann\w*|\banticommut\w*|\bjackson\b|\bhadamard\b|\bces[aà]ro\b|"
    r"\babel sum\w*|\bborel sum\w*|\bd dimensions\b|\brenormali[sz]\w+|"
    r"\bintegral signs?\b[^.;]*\b(?:averages?|means?|denotes?|stands?|abbreviat\w*|sums?)\b|"
    r"\b(?:all |the |an? |our )integrals? (?:here )?(?:is|are|denotes?|stands? for|means?) (?:an? |the |to be )?"
    r"(?:averages?|means?|sums?|normali[sz]ed|divided)\b|"
    r"\b(?:averages?|means?|denotes?|stands?|abbreviat\w*) [^.;]*\bintegral sign",
    re.IGNORECASE,
)
"""What a sentence says of integrals that are taken in another way."""
_DEFINES_INTEGRAL = re.compile(
    r"\$[^$]*(?:\\int|\bd(?:[a-z]|\\theta)\b)[^$]*\$[^.;$]{0,30}"
    r"\b(?:be|for the|denotes?|stands?|abbreviat\w*|means?|as the|is the)\b|"
    r"\b(?:abbreviat\w*|denote|write) [^.;$]*\$[^$]*\\int[^$]*\$"
)
"""What a sentence says that an integral sign, or a differential, stands for."""
_REAL = frozenset(["exp", "softmax", "lse", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sigmoid", "erf"])
_REMAINDER = re.compile(r"\\b?mod(?![a-zA-Z])")
_MOD = re.compile(r"\\(?:text|mathrm)\s*\{\s*mod\b")
_INFINITE = re.compile(r"([^=<>,;]+?)\s*(?::=|=|\\coloneqq|\\equiv|\\leftarrow)\s*[-+]?\s*\\infty")
_ITEM = re.compile(r"\s*[-*+•]\s")
"""An item of a list: below a formula it says how it behaves, as at $\\tau \\to 0$."""
_TENDS = re.compile(r"\\(?:to|rightarrow)\s*(?:[-+]?\s*\\infty|0|1)|\\gg|\\ll(?![a-zA-Z])")


def is_meant_otherwise(step: Step) -> bool:
    """Whether words may say that a false step is asked, denied, a limit, of another quantity, or of other numbers.

    Args:
        step: A step that is false as it was read.
    """
    words = step.far_words
    near = [one for one in words if abs(one.line - step.line) <= NEAR]
    if (
        is_denied(step)
        or _any(near, _ASKS, _CONSTANTS)
        or _any((one for one in near if not _turns_away(step, one)), _LIMIT, _OTHER)
        or any(_REMAINDER.search(one.quote) for one in near)
        or any(_TENDS.search(one.quote) for one in near if one.line <= step.line or not _ITEM.match(one.quote))
    ):
        return True
    beside = [*_find_lead(step), *(one for one in words if 0 < one.line - step.line <= LEADS)]
    leads = () if step.assumed else _find_lead(step)  # the condition of an implication stands in it
    if (
        any(_NOT.search(_without_useless(one.words, beside)) for one in beside)
        or any(_asks(one, beside) for one in beside)
        or _any((one for one in leads if not _explains(step, one)), _SUPPOSES, _CONDITION)
    ):
        return True
    if is_posed(step) or has_infinite_value(step) or (not step.chained and _is_solved_below_title(step)):
        return True
    return is_of_other_numbers(step) or any(
        re.search(r"line to line|each occurrence|occurrence to", one.words, re.IGNORECASE) for one in words
    )


def has_infinite_value(step: Step) -> bool:
    r"""Whether a sentence gives a symbol of a step, or an entry of it, an infinite value, as $s_n = -\infty$ of a mask.

    Args:
        step: A step that is false as it was read: of finite values.
    """
    names = {name for side in (step.left, step.right) for name in whole_names(side)}
    formulas = [one.formula for one in step.far_relations]
    formulas += [part for one in step.far_words for part in re.split(r"(?<!\\)\$", one.quote)[1::2]]
    infinite = [found.group(1) for one in formulas for found in _INFINITE.finditer(one)]
    return any(re.search(rf"(?<![a-zA-Z\\]){re.escape(name)}(?![a-zA-Z])", one) for one in infinite for name in names)


def is_of_other_numbers(step: Step) -> bool:
    """Whether words anywhere may say that numbers are of a finite field, or bits.

    Args:
        step: A step that is false as it was read.
    """
    fields = () if has_real_functions(step) or integrates(step) else (_FIELDS, _BITS) if has_bits(step) else (_FIELDS,)
    words = [one for one in list_words(step) if one.line <= step.line or not one.quote.rstrip().endswith("?")]
    if any(_MOD.search(one.quote) for one in step.context.caveats if is_beside(step, one.line)):
        return True
    return _any(words, _EXTREMES, *fields) or any(_FIELD.search(one.quote) for one in words)


def is_led_to_otherwise(step: Step) -> bool:
    """Whether the sentence right above a display may make it a question, a denial, a condition or a limit.

    A whole sentence that supposes something may be a hypothesis, which says nothing of what is claimed; "Suppose that"
    in front of the display does.

    Args:
        step: A step that is false as it was read.
    """
    leads = [] if step.chained or step.assumed else _find_lead(step)
    if _any(leads, _ASKS, _DENIES, _LIMIT, _OTHER, _NOT, _CONDITION) or any("?" in one.quote for one in leads):
        return True
    return is_posed(step) or _any((one for one in leads if not one.quote.rstrip().endswith(".")), _SUPPOSES)


def is_posed(step: Step) -> bool:
    """Whether words that lead to a display pose it as an equation, or define a curve or a word by it.

    Args:
        step: A step that is false as it was read.
    """
    leads = [] if step.chained or step.assumed else _find_lead(step)
    return _any((one for one in leads if not one.quote.rstrip().endswith(".")), _POSES)


def _is_solved_below_title(step: Step) -> bool:
    """Whether the section of a step is there to find an equation or a point."""
    titles = (one for one in step.far_words if one.title and one.line <= step.line < one.until)
    return _any(titles, _TITLES)


def is_denied(step: Step) -> bool:
    """Whether words beside a false step or its chain, or a title above it, may say that it is false.

    Args:
        step: A step that is false as it was read.
    """
    words = step.far_words
    titles = [one for one in words if one.title and one.line <= step.line <= one.until]
    if any(_DENIES.search(_RATES.sub(" ", one.words)) for one in titles):
        return True
    return _any((one for one in words if is_beside(step, one.line)), _DENIES) or _any(words, _FINDS)


def is_beside(step: Step, line: int) -> bool:
    """Whether a line stands right above the display of a step, in its chain or right below it.

    Args:
        step: The step.
        line: The line.
    """
    lines = {step.line, *(step.of.lines if step.of is not None else ())}
    return min(lines | {step.opens or step.line}) - NEAR <= line <= max(lines) + NEAR


def has_real_functions(step: Step) -> bool:
    r"""Whether a step has a function of real numbers, such as $e^x$ or a sine: bits and remainders have none.

    A logarithm does not count, since remainders have discrete ones. Nor does a power of a symbol e, or $e^2$ and $e^n$,
    where e may be an element.

    Args:
        step: The step.
    """
    nodes = [node for side in (step.left, step.right) for node in walk(side)]
    return any((isinstance(node, Call) and node.function in _REAL) or _is_exponential(step, node) for node in nodes)


def integrates(step: Step) -> bool:
    """Whether an equation has an integral, as everybody takes it: its numbers are real ones, added in one way.

    Args:
        step: The step.
    """
    return step.op == "=" and _has_integral(step) and find_other_integrals(step) is None


def find_other_integrals(step: Step) -> FarWords | None:
    """The words by which the integrals of a step may be taken in another way, as by a measure; None for none.

    Args:
        step: The step.
    """
    if not _has_integral(step):
        return None
    words = step.far_words
    return next((one for one in words if _MEASURES.search(one.words) or _DEFINES_INTEGRAL.search(one.quote)), None)


def _has_integral(step: Step) -> bool:
    nodes = (node for side in (step.left, step.right) for node in walk(side))
    return any(isinstance(one, Big) and one.op == "int" for one in nodes)


def _is_exponential(step: Step, node: object) -> bool:
    if not isinstance(node, Sup) or node.base != Name("e") or "e" in step.context.symbols:
        return False
    kinds = {known.kind for name in whole_names(node.exponent) if (known := step.context.symbols.get(name)) is not None}
    return bool(kinds - {"size", "index"})


def has_bits(step: Step) -> bool:
    """Whether all numbers of a step, its exponents left out, are 0, 1 and 2, and it divides by none of them.

    Args:
        step: The step.
    """
    if any(_divides_by_number(side) for side in (step.left, step.right)):
        return False  # where 1 + 1 = 0, there is no half
    return all(value in (0, 1, 2) for side in (step.left, step.right) for value in _coefficients(side))


def _divides_by_number(side: Expr) -> bool:
    """Whether a side, a term or a factor of it is divided by a number, or by what is: not an index or an exponent."""
    if isinstance(side, Frac):
        return isinstance(side.bottom, Num) or _divides_by_number(side.top) or _divides_by_number(side.bottom)
    if isinstance(side, Plus | Times):
        return any(map(_divides_by_number, side.terms if isinstance(side, Plus) else side.factors))
    return False


def _coefficients(node: object) -> Iterator[Fraction]:
    """The numbers in a formula that stand in no exponent and no subscript."""
    if isinstance(node, Num):
        yield node.value
    elif isinstance(node, Sup | Sub):
        yield from _coefficients(node.base)
    else:
        for one in children(node):
            yield from _coefficients(one)


def _find_lead(step: Step) -> list[FarWords]:
    """The words of the sentences right above a step."""
    above = [one for one in step.far_words if 0 < step.line - one.line <= LEADS and not is_promise(one.words)]
    return [one for one in above if one.line == max(other.line for other in above)]


def _turns_away(step: Step, one: FarWords) -> bool:
    """Whether a sentence below a step turns to what comes next: "To put it in a nicer form, we can instead"."""
    below = one.line > max((step.line, *(step.of.lines if step.of is not None else ())))
    return below and bool(_NEXT.match(one.words))


def _explains(step: Step, lead: FarWords) -> bool:
    """Whether a "where" alone leads to a relation that gives no symbol and no function its value."""
    if lead.words.strip(" ,.:").lower() != "where" or isinstance(step.left, Name | Sub | Times):
        return False
    return not any(_HOLDS.match(one.words) for one in step.far_words if 0 < one.line - step.line <= LEADS)


def _asks(one: FarWords, beside: list[FarWords]) -> bool:
    """Whether words beside a step ask something, and their paragraph does not go on to an answer."""
    if "?" not in one.quote:
        return False
    question = one.quote[: one.quote.rindex("?") + 1]
    quotes = [other.quote for other in beside if other.line == one.line and question in other.quote]
    answers = [quote[quote.index(question) + len(question) :] for quote in quotes]
    return any("?" in answer for answer in answers) or not any(map(_answers, answers))


def _answers(words: str) -> bool:
    """Whether words behind a question go on to an answer: "Using the definitions above, we can express this"."""
    return bool(_ANSWERS.search(words)) and not _OF_OTHERS.search(words)


def _without_useless(words: str, beside: list[FarWords]) -> str:
    """Words without those that call a formula true and of no help."""
    if any(_DIRECTLY.match(one.words) for one in beside):
        words = _CANNOT.sub(" ", words)
    return _USELESS.sub(" ", _TOO_MUCH.sub(" ", words))


def _any(words: Iterable[FarWords], *patterns: QuickPattern) -> bool:
    return any(pattern.search(one.words) for one in words for pattern in patterns)


__all__ = [
    "has_infinite_value",
    "has_bits",
    "find_other_integrals",
    "has_real_functions",
    "integrates",
    "is_beside",
    "is_denied",
    "is_led_to_otherwise",
    "is_meant_otherwise",
    "is_of_other_numbers",
    "is_posed",
]
