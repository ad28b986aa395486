r"""The closed grammar of sentences that say nothing about symbols.

Words that are harmless alone make hypotheses together ("The keys are also used as values"), so a sentence counts as
harmless only from its first word to its last. There are four kinds, and each is argued to restrict nothing:

* joints and reasons ("Hence", "By the chain rule, we get"): they point at lines, and name rules that hold for all
  values;
* sentences about the text ("In the next section we compute the norm of the output"): their subject is the author or a
  part of the text, their verb says what an author does, their object is a topic (see `topics`);
* what a computation gives ("The gradient of the loss is"): a leading word of the display, where no side is a constant;
* where things come from, and what others say of a method ("LoRA was proposed by Hu et al. and is popular").

A sentence that says what something is, has or does ("The entries are distances") is none of these, and is unread.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from attention_core.derivation.words.asides import ASIDES, without_item_label
from attention_core.derivation.words.leads import LEADS
from attention_core.derivation.words.phrase_parts import (
    ACTS,
    AIM,
    AUTHOR,
    CHANGES,
    CITED,
    COMPUTED,
    CONNECTIVE,
    FOUND,
    GIVES,
    LABEL,
    LEAD,
    LIKE_REFERENCE,
    MAY,
    NAME,
    NAMES,
    OBJECT,
    REACH,
    REACHED,
    REFERENCE,
    REFERENCES,
    RULE,
    SUBJECT,
    THING,
    TIME,
    VERB,
    WITH_RESPECT,
    any_of,
)
from attention_core.derivation.words.topics import NOUN_PHRASE, TOPIC, is_title

__all__ = ["PATTERNS", "TALK", "is_pattern", "is_read_declaration", "is_title", "leads_to_value", "opens_declaration"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_METHOD = (
    r"(?:method|technique|tool|architecture|way|approach|operation|layer|model|loss|function|idea|trick|component|"
    r"building block|choice|result|topic|subject)s?"
)
_OPINION = r"(?:popular|common|important|useful|famous|widely used|well-known|influential|successful|standard)"
_AUDIENCE = r"(?:students|readers|beginners|newcomers|engineers|everybody|practitioners|you)"

# Functions that the language itself defines, and natures that they have for all values: "the inner product is positive"
# says something of its arguments.
_GROUPS = (
    (
        r"softmax|trace|determinant|transpose|logarithm|exponential(?: function)?|sigmoid|log-sum-exp|"
        r"kullback[-\u2013]leibler divergence|entropy|hyperbolic tangent|sine|cosine|inner product|euclidean norm",
        r"cyclic|linear|bilinear|smooth|differentiable|continuous|homogeneous|not linear|not convex|"
        r"not symmetric in its arguments|invariant under (?:shifts|translations|transposition)(?: of its "
        r"arguments?)?",
    ),
    (
        r"logarithm|exponential(?: function)?|sigmoid|log-sum-exp|kullback[-\u2013]leibler divergence|entropy|"
        r"hyperbolic tangent|euclidean norm",
        r"convex|concave|monotone|monotonic|increasing",
    ),
    (r"softmax|exponential(?: function)?|sigmoid", r"positive|never negative"),
    (r"kullback[-\u2013]leibler divergence|entropy|euclidean norm", r"never negative"),
)
_OF_FUNCTIONS = any_of(
    *(
        rf"(?:the )?(?:{functions}) (?:is|are) (?:also )?(?:{natures})(?:(?:,? and|,) (?:{natures}))*"
        for functions, natures in _GROUPS
    )
)
_LETTERS = r"(?:matrices|vectors|scalars|numbers|sizes|random variables|families|tensors|sets|indices)"
_TYPE = (
    r"(?:bold|bold-face|capital|small|lower-case|upper-case|greek|latin|italic|calligraphic)(?: (?:letters|type|"
    r"face))?"
)
# Each pattern has a sentence of its own in the test; a sentence must match from its first word to its last.
PATTERNS: dict[str, str] = {
    **ASIDES,
    **LEADS,
    "connectives": rf"{LEAD}{CONNECTIVE}",
    "we get": rf"{REACHED}(?: that)?",
    "it follows": (
        rf"{LEAD}(?:(?:from|by) (?:{REFERENCES}|{RULE}),? )?(?:it|{THING}) {MAY}(?:follows?|holds)(?: "
        rf"(?:directly |"
        rf"at once |immediately )?(?:from|by) (?:{REFERENCES}|{RULE}))?(?: that)?"
    ),
    "which gives": (
        rf"{LEAD}(?:which|{THING}|{RULE}) {GIVES}(?: {THING})?(?: that)?"
        rf"(?: (?:from|by|for) (?:{REFERENCES}|{RULE}))?"
    ),
    "which yields a formula": rf"{LEAD}(?:which|{THING}) {GIVES} {FOUND}(?: used in {NOUN_PHRASE})?",
    "recall that": (
        rf"{LEAD}(?:please )?(?:recall|note|observe|notice|remember|see|verify|check)(?: that)?(?: "
        rf"(?:{THING}|{RULE}))?"
    ),
    "in a form": (
        rf"{LEAD}(?:(?:written |rewritten )?in (?:matrix|vector|index|component|compact|closed) "
        rf"(?:form|notation),? )?{THING} "
        r"(?:reads?|becomes?|(?:can|may) (?:also )?be (?:written|rewritten|expressed|simplified|expanded)(?: (?:more "
        r")?compactly)?(?: as(?: "
        r"follows)?)?|(?:is|are) (?:then |thus |now )?(?:written|rewritten|expanded)(?: as(?: follows)?)?)"
    ),
    "sides": rf"{LEAD}(?:the |both )(?:two )?sides are (?:then |thus )?(?:equal|related by|connected by|the same)",
    "an idea": (
        r"(?:the|our) (?:key |main |basic |first )?(?:idea|trick|step|point) (?:is|here is) to (?:rewrite|expand|"
        r"multiply|divide|split|"
        rf"add|differentiate|collect|reorder|transpose)(?: and (?:divide|subtract|add))?{OBJECT}(?: as (?:a |"
        rf"the )?(?:sum|product)s?)?"
    ),
    "quantified": (
        rf"{LEAD}(?:(?:the following|this|it) holds,? )?for (?:all|every|each|any|arbitrary) \$\$(?:(?:,|,? "
        rf"and) \$\$)*,?(?: {REACHED})?"
    ),
    "uses a rule": (
        rf"{LEAD}{THING} (?:uses|used|is|follows from) (?:{RULE}|{REFERENCES})(?: (?:again|once "
        rf"more|twice))?"
    ),
    "used next": (
        rf"{LEAD}the (?:next|following|last|second) (?:display|step|section|line|proof|part) (?:uses|"
        rf"needs|repeats) (?:{THING}|{RULE})"
    ),
    "follows below": rf"{LEAD}{TOPIC} (?:is the following|follows|comes next|are the following|follow)",
    "easy to see": (
        rf"{LEAD}it is (?:easy|easily|not (?:hard|difficult)|straightforward|clear|immediate)(?: to (?:see|check|"
        rf"verify|show|prove)(?: (?:{THING}|{RULE}))?)?(?: that)?"
    ),
    "names": (
        rf"(?:proof|solution|answer|remark|q\.?e\.?d\.?|claim|theorem|lemma|proposition|corollary|conclusion|"
        rf"summary|example|exercise|step|part|section|equation)(?: {LABEL})?(?: of {THING})?"
    ),
    "of others": (
        rf"{LEAD}{THING} is {THING}(?: (?:used|given|stated|found|proved|that we need))? (?:in|from|of) "
        rf"(?:(?:the )?(?:paper|"
        rf"book|article|notes|lecture) (?:of|by) )?{CITED}"
    ),
    "notation of a part": (
        rf"{SUBJECT} {MAY}(?:use|keep|reuse) the (?:same )?notation (?:from|of|in) (?:{REFERENCES}|(?:the |"
        rf"our )?(?:previous|last|"
        r"first) (?:section|chapter|lecture|note|part))"
    ),
    "general case": (
        rf"{LEAD}(?:for|in|(?:let us|we) {MAY}(?:look at|turn to|consider|go to)) the general "
        rf"case(?:,? {LEAD}(?:{REACHED}|note that))?"
    ),
    "second term": (
        rf"{LEAD}(?:{SUBJECT} )?(?:now |next )?(?:consider|look at|turn to) the (?:first|second|"
        rf"third|last|other) (?:term|factor|summand|sum|part)"
    ),
    "claim": (
        rf"{LEAD}(?:(?:our |the |my )?(?:claim|theorem|lemma|proposition|corollary|conjecture|result|"
        rf"conclusion)s?(?: is| {LABEL})?|"
        r"(?:to (?:show|prove|check)|show|prove|check|verify)|it (?:is to be shown|turns out|can be shown|is "
        r"known|is well known|"
        rf"holds|suffices to show)|{SUBJECT} {MAY}(?:will see|are going to (?:show|prove)|claim|conjecture)|"
        rf"one (?:has|sees)|so that|"
        r"whence|this (?:implies|means))(?: that)?"
    ),
    "obvious": (
        rf"{LEAD}(?:clearly|obviously|thus|therefore|hence|consequently|so|then|in fact|of course|indeed|"
        rf"it follows)"
    ),
    "by a result": (
        rf"{LEAD}(?:by|with|from|using|via|applying|due to|thanks to|because of) (?:{REFERENCES}|{RULE})"
        rf"(?: (?:and|once more|again|twice))?(?: (?:{REFERENCES}|{RULE}))*,?(?: {REACHED})?"
    ),
    "see": (
        rf"\(?(?:see|cf\.?|compare)(?: also)? (?:{CITED}|the (?:appendix|paper|book|literature|exercises))"
        rf"(?: (?:for|on) (?:an? |the )?(?:illustration|details?|proof|{TOPIC}))?\)?"
    ),
    "reference": rf"\(?{REFERENCES}\)?",
    "as claimed": (
        r"(?:exactly |just )?as (?:was )?(?:to be )?(?:claimed|desired|shown|stated|asserted|announced|promised|"
        r"proved)"
        rf"(?: (?:above|before|in {REFERENCES}))?"
    ),
    "manipulations": (
        rf"{LEAD}(?:by )?{ACTS},?(?: {GIVES}| {REACHED})?(?: that)?(?: {THING})?(?:,? which {GIVES}"
        rf" {NOUN_PHRASE}(?: used in {NOUN_PHRASE})?)?"
    ),
    "we manipulate": (
        rf"{LEAD}{SUBJECT} {MAY}{CHANGES}(?:expand|collect|rearrange|simplify|combine|factor|multiply|"
        rf"differentiate|"
        rf"transpose|substitute|add|subtract|square|use|apply){OBJECT}{WITH_RESPECT}(?:,? (?:and|which|to) "
        rf"(?:{GIVES}|"
        rf"{REACH})(?: {NOUN_PHRASE}(?: used in {NOUN_PHRASE})?)?)?"
    ),
    "aims": (
        rf"{LEAD}(?:{SUBJECT} {MAY}(?:want to |wish to |aim to |have to )?|it (?:remains|suffices) to |let us )"
        rf"(?:now |first |next )?(?:show|prove|check|verify|compute|derive|expand|simplify|rearrange)(?: "
        rf"that)?(?: {THING})?"
    ),
    "author": (
        rf"{LEAD}(?:{TIME},? )?(?:to \w+ (?:the )?(?:minimum|maximum|result|claim|bound),? )?{AUTHOR} {MAY}{AIM}"
        rf"(?:also |first |now )?{VERB} {TOPIC}(?:,? {TIME})*(?:,? (?:and|then) {VERB} {TOPIC}(?:,? {TIME})*)?"
    ),
    "backpropagating": rf"{LEAD}(?:backpropagating|differentiating|going|passing)(?: back)? through (?:{TOPIC}|\$\$)",
    "passive": (
        rf"{LEAD}{TOPIC} (?:is|are|was|were|has been|will be) (?:given|shown|computed|derived|proved|proven|"
        rf"discussed|"
        rf"explained|left to the reader|illustrated)(?: (?:{TIME}|in {REFERENCES}|as follows))*"
    ),
    "analogous": (
        rf"{LEAD}(?:the (?:proof|derivation|calculation|computation|argument)|{THING})(?: (?:of|for) {THING})? "
        r"(?:is|are|works|goes) (?:analogous|similar|analogously|similarly|the same|standard|well known|"
        r"elementary|easy|short)"
    ),
    "a standard fact": (
        rf"{LEAD}(?:this|that|it) is (?:a|an) (?:{_OPINION}|basic|elementary|classical|simple) (?:fact|result|"
        rf"identity|"
        rf"inequality|formula|exercise)(?:,? (?:see|from|in) {CITED})?"
    ),
    "notation of others": (
        rf"(?:{AUTHOR}|they) {MAY}(?:follow|follows|adopt|adopts) (?:{CITED}|(?:the (?:notation|presentation|"
        rf"exposition|"
        rf"treatment) (?:of|in) {CITED})|chapter \d+ of {NAMES})(?: and {VERB} {TOPIC}(?:,? {TIME})*)?"
    ),
    "audience": rf"(?:{AUTHOR}|they) (?:is|are) (?:meant|intended|written) for {_AUDIENCE}(?: of [\w ]{{1,30}} year)?",
    "prerequisites": (
        r"no (?:framework|library|background|prior knowledge|programming|computer)s? (?:is|are) (?:needed|required|"
        r"necessary|used)|(?:a |some )?(?:pencil|paper|pen|basic calculus|linear algebra|patience)"
        r"(?: and (?:a |some )?(?:paper|pencil|pen|patience))? (?:is|are) (?:enough|needed|all that is needed)"
    ),
    "origin": (
        rf"(?:{NAME}|{TOPIC}) (?:was|were) (?:first )?(?:proposed|introduced|popularised|popularized|published|"
        rf"described) "
        rf"(?:by|in) {CITED}(?: (?:and|but) (?:is|are) (?:now |today |still )?(?:one of )?(?:the most |a |very "
        rf")?{_OPINION}"
        rf"(?: {_METHOD})?(?: (?:for|in|of) (?:fine-tuning )?(?:{TOPIC}))*)?"
    ),
    "opinion": (
        rf"{TOPIC} (?:is|are) (?:now |today |still )?(?:one of )?(?:the most |a |an |very )*{_OPINION}(?: {_METHOD})?"
        rf"(?: (?:for|in|of) (?:{TOPIC}))*"
    ),
    "fixed functions": (
        rf"{LEAD}(?:(?:recall|remember|note|we know) that )?{_OF_FUNCTIONS}"
        rf"(?: \((?:{NAME} ?)+(?:inequality|theorem|lemma)\))?,?(?: {CONNECTIVE})?"
    ),
    "comment": (
        r"which is (?:a|an|the) (?:upper |lower |general |useful |well-known |first )?(?:bound|identity|"
        r"formula|claim|result)(?: in general)?"
    ),
    "frobenius": r"the squared (?:frobenius|euclidean) norm is the sum of the squares of (?:the|all|its) entries",
    "broadcast": r"sums are broadcast",
    "repeated indices": (
        rf"{LEAD}(?:{SUBJECT} (?:now |always )?(?:use|adopt|follow|employ) )?(?:the )?einstein(?:['\u2019]?s)?"
        r"(?: summation)? (?:convention|notation)(?: (?:throughout|below|here|is (?:used|adopted|implied)))*|"
        rf"{LEAD}(?:{SUBJECT} sum|(?:a )?sum(?:mation|s)? over (?:all )?repeated indices (?:is|are) "
        r"(?:implied|understood|meant))(?: over (?:all )?repeated indices)?|"
        rf"{LEAD}repeated indices are (?:summed|contracted)(?: over)?"
    ),
    "letters": (
        rf"{_LETTERS}(?: (?:are|is) (?:written|denoted|set|printed))? (?:in|by|with) {_TYPE}(?:,? (?:and )?{_LETTERS}"
        rf"(?: (?:are|is) (?:written|denoted))? (?:in|by|with) {_TYPE})*"
    ),
    "computed from": (rf"{LEAD}the {COMPUTED} is the {COMPUTED} of (?:the {COMPUTED}|{THING}|the loss|the function)"),
    "end of a proof": (
        rf"{LEAD}(?:{THING} (?:completes|finishes|ends|concludes|proves) {THING}(?: of {THING})?|"
        rf"{THING} is (?:{THING}|complete|done|finished|proved|proven|easy|clear|obvious)|we are done|done)"
    ),
    "on to": (
        rf"{LEAD}(?:(?:comes?|here (?:comes|is|are)) {THING}|"
        r"comes? the (?:interesting|fun|main|hard|hardest|easy|last) part)"
    ),
    "order of transposes": rf"{LEAD}transposing a product reverses the order of (?:the|its) factors",
    "as others compute": (
        rf"{LEAD}{THING} is (?:exactly |also |just )?what {NAMES} (?:computes?|uses?|does|do)"
        r"(?: in (?:its|the|their) (?:forward |backward )(?:pass|kernel|step))?"
    ),
}
_AREA = (
    r"(?:(?:modern |deep |most |many |all |almost all |large )*(?:transformers?|attention|"
    r"deep learning|machine learning|"
    r"neural networks?|language models?|(?:deep |neural )?networks?|practice|statistics|models?|libraries|frameworks|"
    r"computer vision|language processing|reinforcement learning|linear algebra|optimi[sz]ation|the literature))"
)
# Sentences that are talk where they end with a full stop, and might set a condition where a display follows.
TALK: dict[str, str] = {
    "note": rf"{LEAD}(?:note|notice|observe|mind|compare) (?:the (?:order|sign|role|place|position) of )?{TOPIC}",
    "to be studied": (
        rf"{LEAD}(?:{TIME},? )?{AUTHOR} {MAY}{AIM}(?:use|consider|consult|understand|need|look "
        rf"at|treat) {TOPIC}"
        rf"(?: (?:for|in) {TOPIC})?"
    ),
    "used here": (
        rf"{AUTHOR} {MAY}{VERB} (?:a few |some |several )?{TOPIC} that (?:is|are) used in (?:our|the|this) "
        r"(?:implementation|code|library|package|paper|proof|lecture|course)"
    ),
    "used somewhere": (
        rf"{TOPIC} (?:is|are) (?:widely |often |commonly |also |still )?used (?:in|by|for training) (?:{_AREA})"
        rf"(?:(?:,| and|, and) (?:{_AREA}))*"
    ),
    "seen how": (
        rf"(?:{TIME},? )?{SUBJECT} (?:have |will )?(?:now |also )?(?:seen?|learn(?:ed|t)?|"
        rf"explain(?:ed)?|show(?:n|ed)?|"
        rf"discuss(?:ed)?) how to {VERB} {TOPIC}"
    ),
    "closing words": (
        r"(?:many )?(?:thanks|thank you)(?: (?:so|very) much)? for (?:reading|your attention|"
        r"your time)|that(?:'s|\u2019s| is)"
        r" (?:all|it)(?: for (?:today|now))?|(?:i|we) hope (?:that )?(?:this|you) (?:was|is|were|"
        r"found it|find it|enjoyed it)"
        r"(?: (?:useful|helpful|clear))?|see you (?:soon|next time)|(?:any )?questions(?: (?:and|or) comments)?(?: "
        r"are "
        r"(?:always )?welcome)?|(?:write|send) (?:to )?(?:me|us)(?: an e-?mail)?|so far,? so good|"
        r"now comes the (?:interesting|fun|main|hard|hardest|last) part"
    ),
    "exercise": (
        rf"(?:repeat|do|redo|compute|derive|prove|show|verify|check|solve) {TOPIC}(?: for (?:yourself|two|three) "
        rf"?(?:keys|tokens)?)?"
    ),
    "picture": rf"!\[[^\]]*\]\([^)]*\)|{REFERENCE} (?:shows|illustrates|summari[sz]es|lists) {TOPIC}",
}
# Words after which a relation is claimed.
_CLAIMS = (
    "we get", "it follows", "which gives", "easy to see", "aims", "claim", "by a result", "manipulations", "obvious",
)  # fmt: skip
_HARMLESS = tuple(PATTERNS.values())
_CLAIMED = tuple(PATTERNS[name] for name in _CLAIMS)
_TALK = tuple(TALK.values())
# What a computation gives: the display says it. Where a side is a constant, it may be a condition instead.
_VALUE = (
    rf"{LEAD}(?:by {RULE},? )?(?:the|its|their|this|our) (?:{COMPUTED}(?: (?:of|for|with respect to|in) "
    rf"(?:{NOUN_PHRASE}|(?:the )?(?:inverse|elementary|hyperbolic|trigonometric) functions|\$\$))*"
    rf" (?:is|are|reads?|becomes?|is given by|are given by|equals?)|the (?:geometric|arithmetic|telescoping) (?:sum|"
    rf"series) (?:is|reads|becomes|equals)|{TOPIC} (?:can|may) (?:also )?be (?:written|"
    rf"rewritten|expressed|"
    rf"expanded|simplified|computed)(?: as(?: follows)?)?|{TOPIC} (?:computes?|calculates?) the following|"
    r"(?:forward|backward) pass (?:computes|is|reads|returns)|"
    r"(?:kernel|code|implementation|library|program) (?:computes|evaluates|returns|implements)(?: this| it)?(?: as)?|"
    r"is (?:implemented|computed)(?: in (?:(?:the|our) )?(?:kernel|code|library|pytorch))? as|"
    rf"{TOPIC} is (?:then |now |thus |therefore |simply |usually )?(?:defined|computed|calculated)(?: (?:by|as|via))?"
    rf"(?: follows)?|"
    rf"(?:implementation|kernel|code) (?:relies on|uses) {THING})"
)
_EDGE = " \t\n>*_`~.,;:!\u2013\u2014\u220e\u25a1#-"
MAX_SENTENCE = 400  # characters of a sentence of the grammar

# Words of a declaration that was read, beside its formulas and the properties that were read.
_DECLARATION = _words(
    "let be a an the and or if with for write all every each any where given assume assumes assuming suppose supposing "
    "put define draw that is are we in of its their as by both also again further let's have has us from here "
    "then denote now so such fix take pick set consider throughout i e always it they "
    "assumed taken required supposed chosen known to be lie lies form forms two three pair reals variable variables "
    "matrix matrices vector vectors number numbers scalar scalars size sizes real natural integer "
    "integers "
    "entries entry function functions index indices row rows column columns family dimension dimensions "
    "dimensional arbitrary fixed"
)
_HOW_LONG = (
    r"(?:throughout(?: this (?:section|note|post|page|proof))?|from (?:now|here) on|henceforth|hereafter|"
    r"in what follows|in the sequel|for (?:simplicity|convenience|concreteness|brevity))"
)
_REACH_OF_ALL = re.compile(rf"^\W*{_HOW_LONG}\b,?", re.IGNORECASE)
_OPENS_DECLARATION = re.compile(
    rf"^\W*(?:{_HOW_LONG}\b|"
    r"(?:(?:and|also|now|so|here|further|again|throughout|finally|next|first),? )*(?:we |let us )?(?:also |"
    r"further |can |may "
    r"|again )*(?:let|given|assume|assuming|suppose|supposing|where|draw|define|put|putting|fix|take|taking|"
    r"consider|pick|picking|set|setting|"
    r"denote|with|for|if|under|as|provided|choose|choosing|when|whenever|at|once|having|in the (?:special |"
    r"particular )?case|"
    r"without loss of generality|sums are broadcast)\b)",
    re.IGNORECASE,
)
_NUMERAL = re.compile(r"\s*(?:[-+]|\\pm\s*)?\d+(?:\.\d+)?\s*")
_NAMING = re.compile(r"\s*(?:as|for|by|(?:is|are)(?: the)?)\s*")
_RELATION = re.compile(r"[=<>~]|\\(?:in|[lg]eq?|neq?|sim|to|ll|gg|perp|approx|dots|ldots|forall)(?![a-zA-Z])")


@cache
def _compile(expression: str) -> re.Pattern[str]:
    """Compile a pattern when it is first needed."""
    return re.compile(expression, re.IGNORECASE)


@cache
def _roughly(expression: str) -> str:
    """A pattern with any words for its large parts, which fits wherever the pattern does and is compiled at once.

    Noun phrases are 20 to 40 kB each: compiled into all patterns, they take two seconds. References are 2 kB, and stand
    in 60 places.
    """
    for part in (TOPIC, NOUN_PHRASE):
        expression = expression.replace(part, ".+")
    for part in (REFERENCES, REFERENCE):
        expression = expression.replace(part, LIKE_REFERENCE)
    return expression


@cache
def _roughly_any(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """What fits wherever one of the patterns does, from the first word to the last."""
    return _compile(_roughly(rf"^{any_of(*patterns)}$"))


def _fits(text: str, patterns: tuple[str, ...]) -> bool:
    """Whether a text matches one of the patterns from its first word to its last."""
    return bool(_roughly_any(patterns).match(text)) and any(
        _compile(_roughly(pattern)).match(text) and _compile(pattern).match(text)
        for pattern in (rf"^(?:{one})$" for one in patterns)
    )


@lru_cache(maxsize=4096)
def is_pattern(prose: str, leads: bool = False) -> bool:
    """Whether a sentence matches one of the patterns from its first word to its last.

    Args:
        prose: Its words; a formula between them is `$$`.
        leads: Whether it leads into a display: then what only talks of topics might set a condition.

    Returns:
        Whether it says nothing about symbols. What a claim ("Hence $a = b$") relates is looked at elsewhere.

    Example:
        >>> [is_pattern(words) for words in ("Hence, we get", "The mean is called m.")]
        [True, False]
    """
    text = _plain(prose)
    if len(text) > MAX_SENTENCE:
        return False
    if not text or _fits(text, _HARMLESS) or (not leads and _fits(text, _TALK)):
        return True
    return text.endswith(" $$") and _fits(text[:-3].rstrip(" ,:;"), _CLAIMED)


def leads_to_value(prose: str) -> bool:
    """Whether a sentence says that a computation gives what the display below shows.

    Example:
        >>> [leads_to_value(words) for words in ("Its gradient is", "The norm is")]
        [True, False]
    """
    text = _plain(prose)
    return len(text) <= MAX_SENTENCE and _fits(text, (_VALUE,))


def _plain(prose: str) -> str:
    """The words without marks at their ends and without brackets around them all."""
    text = without_item_label(" ".join(prose.split()).strip(_EDGE).strip())
    text = text[1:-1] if text.startswith("(") and text.endswith(")") and text.count("(") == 1 else text
    return " ".join(text.replace("*", "").split()).rstrip(",:")


def is_read_declaration(parts: tuple[str, ...] | list[str]) -> bool:
    """Whether a sentence consists of formulas and words that declare, once the properties that were read are taken out.

    Example:
        >>> is_read_declaration(["Let ", "x, y", " be vectors in ", "V", ""])
        True
        >>> is_read_declaration(["Let ", "x", " be another name for ", "y", ""])
        False
    """
    if any(_NUMERAL.fullmatch(formula) for formula in parts[1::2]):
        return False  # "entries are $1$": a value that nothing read
    for place in range(2, len(parts) - 1, 2):
        named = _NAMING.fullmatch(parts[place])
        if named and not any(_RELATION.search(formula) for formula in (parts[place - 1], parts[place + 1])):
            return False
    prose = [_without_claim(_BEFORE_FIRST.sub(" ", _REACH_OF_ALL.sub(" ", parts[0])))]
    prose += [_without_claim(part) for part in parts[2:-1:2]]
    prose.append(_TAIL.sub("", parts[-1].rstrip(" .,:;")))
    words = re.findall(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*|\d+", " ".join(prose))
    return len(parts) > 1 and all(word.lower() in _DECLARATION or word.lower() in _CONNECTING for word in words)


_CONNECTING = _words(
    "but hence thus therefore too only whenever whose when assuming provided at setting special case under assumption "
    "assumptions condition hypothesis long without loss generality simplicity convenience choose satisfying having "
    "broadcast sums"
)
# Nouns that say what sort of thing the first symbols of a declaration are.
_BEFORE_FIRST = re.compile(
    r"\b(?:two|three|keys?|quer(?:y|ies)|values?|tokens?|inputs?|scores?|logits?|embeddings?|features?|samples?|"
    r"labels?|targets?|square|directions?|states?|points?|coefficients?|temperatures?|bias(?:es)?|masks?|outputs?|"
    r"parameters?)\b",
    re.IGNORECASE,
)
_CLAIM_TAIL = rf"(?:^|[\s,:;]+){any_of(*(PATTERNS[name] for name in _CLAIMS))}[\s,:;]*$"


@lru_cache(maxsize=256)
def _without_claim(text: str) -> str:
    """The words without those at their end that lead to a claim."""
    return _compile(_CLAIM_TAIL).sub("", text) if _compile(_roughly(_CLAIM_TAIL)).search(text) else text


# What goes on behind a condition that was read: "With $x > 0$ we get", "this simplifies".
_TAIL = re.compile(
    rf"(?:^|[\s,:;]+){LEAD}(?:{REACHED}|{GIVES}|{THING} (?:{GIVES}|simplifies|reduces)|{CONNECTIVE})(?: that)?$",
    re.IGNORECASE,
)


def opens_declaration(prose: str) -> bool:
    """Whether a sentence opens with a word that declares or assumes."""
    return bool(_OPENS_DECLARATION.match(prose))


def is_joint(prose: str) -> bool:
    """Whether words only join what stands around them, as "Hence" and "By (1), we get" do.

    Example:
        >>> [is_joint(words) for words in ("Hence", "Now we turn to sums.")]
        [True, False]
    """
    text = _plain(prose)
    return len(text) <= MAX_SENTENCE and _fits(text, (PATTERNS["connectives"], *_CLAIMED))
