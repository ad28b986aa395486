r"""Sentences by which authors lead to a step, come back from it, or speak of their text, in their usual wordings.

They go on with the closed grammar of `phrase_patterns`: a lead says that what follows is a known fact, was checked,
computed or rewritten; a comment says of the line above that it was wanted, is easy or is used again; all else is talk
about the text. None has a word for a symbol but the letter that something is differentiated by. "Plugging this in"
rests on the line above, which is tried as a hypothesis: see `references`.
"""

from __future__ import annotations

from attention_core.derivation.words.phrase_parts import (
    COMPUTED,
    GIVES,
    LEAD,
    MAY,
    REACHED,
    RULE,
    SUBJECT,
    THING,
    TIME,
)

_SORT = (
    r"(?:(?:well-known|classical|standard|elementary|basic|easy|simple|known|familiar|famous|general|direct|"
    r"useful) )*"
)
_FACT = r"(?:fact|result|identity|inequality|formula|exercise|calculation|computation|observation|estimate)"
_EASILY = r"(?:(?:easily|readily|immediately|quickly|directly|now|also|then|again|at once|by hand) )*"
_CLAIM = r"(?:identity|inequality|formula|claim|statement|assertion|expansion|calculation|computation)"
_WORK = r"(?:computation|calculation|expansion|substitution|differentiation|algebra|arithmetic|induction)"
_EASE = r"(?:easy|clear|immediate|obvious|straightforward|routine|well known)"
_FUNCTION = (
    r"(?:softmax|sigmoid|hyperbolic (?:sine|cosine|tangent)|trace|determinant|transpose|(?:euclidean |frobenius "
    r")?norm|"
    r"inner product|variance|covariance|expectation|logarithm|exponential|derivative|gradient|log-sum-exp|entropy|"
    r"matrix "
    r"product|kullback[-\u2013]leibler divergence)"
)
_MANIPULATE = (
    r"(?:expand|multiply out|collect|rearrange|simplify|factor|differentiate|compute|rewrite|regroup|transpose)"
)
_PUT = (
    r"(?:written|rewritten|re-written|expressed|represented|computed|calculated|obtained|summari[sz]ed|stated|expanded|"
    r"simplified|evaluated|derived)"
)
_SIDE = (
    r"(?:both sides|the (?:square|product|sum|brackets?|parenthes[ei]s|left-hand side|right-hand side|left side|"
    r"right side|"
    r"terms|derivative|gradient|norm|trace|definition)s?|everything|all terms|it)"
)
_NUMBER_OF_LINES = r"(?:one|two|three|a single|a few|a couple of|\d+) lines?"
_OF_A_TEXT = r"(?:section|subsection|note|notes|lecture|chapter|part|appendix|post|page|document|file|exercise|handout)"

LEADS: dict[str, str] = {
    "known fact": (
        rf"{LEAD}(?:it is|here is|we use|recall|this is) (?:an? |the |one |another )?(?:following "
        rf")?{_SORT}{_FACT}(?: of \w+ "
        r"algebra| of calculus| of analysis)?(?: that)?"
    ),
    "checked": (
        rf"{LEAD}{SUBJECT} {MAY}{_EASILY}(?:checks?|verif(?:y|ies)|sees?|confirms?|computes?|calculates?) "
        rf"{_EASILY}that"
    ),
    "follows at once": (
        rf"{LEAD}(?:it|this|{THING}) {MAY}{_EASILY}follows? {_EASILY}(?:from (?:{RULE}|{THING}|here) )?(?:that)?"
    ),
    "plugging in": (
        rf"{LEAD}(?:plugging|substituting|inserting|putting) (?:this|that|it|these|them|everything|both)(?: "
        rf"back)?(?: in| into "
        rf"(?:{THING}|it)| together)?,? (?:{GIVES}|{REACHED})(?: that)?(?: {THING})?"
    ),
    "to see this": (
        rf"{LEAD}(?:to see (?:this|that|why|it),? )?(?:just |simply |first |now )*{_MANIPULATE}(?: out)?(?: "
        rf"{_SIDE})?(?: and "
        rf"{_MANIPULATE}(?: {_SIDE})?)?"
    ),
    "what was wanted": (
        rf"{LEAD}(?:this|that|which|it) is (?:exactly |just |precisely )?(?:{THING}|what) (?:that )?(?:we|i) "
        rf"(?:wanted|needed|were "
        r"looking for|claimed|set out to (?:prove|show)|had to (?:show|prove)|were after|promised)"
    ),
    "start with": rf"{LEAD}(?:let us|we|i)(?: will)? (?:now |first )?(?:start|begin|continue|finish|end) with {THING}",
    "by computation": (
        rf"{LEAD}{THING} (?:is|follows|goes|works) (?:by|an exercise in|a matter of) (?:(?:direct|straightforward|"
        rf"routine|simple|"
        rf"explicit|plain) )*(?:{_WORK}|{RULE})"
    ),
    "used again": (
        rf"{LEAD}{SUBJECT} {MAY}(?:use|apply|meet|see|prove|return to|come back to) {THING}(?:,? (?:repeatedly|"
        rf"again|often|"
        rf"later|below|many times|several times|more than once|{TIME}))+"
    ),
    "the heart": (
        rf"{LEAD}{THING} is (?:the|at the) (?:heart|core|crux|essence|key) (?:of|to) (?:the matter|it|it all|"
        rf"{THING}|everything)"
    ),
    "once more": (
        rf"{LEAD}(?:for (?:the record|completeness|convenience|later use|reference),? )?{SUBJECT} {MAY}(?:state|"
        rf"record|repeat|note|"
        r"write) (?:it|this|them)(?: down)?(?: once more| again| here)*"
    ),
    "to the reader": (
        rf"{LEAD}{SUBJECT} {MAY}leave (?:{THING}|the details|the rest) to (?:the reader|you)(?: as an exercise)?"
    ),
    "own work": (
        r"(?:my|our|your|a|one|another)(?: possible| full| short| model)? (?:solution|answer|attempt|proof|working|"
        r"derivation|calculation)(?: goes as follows| runs as follows| below)?"
    ),
    "as a check": (
        rf"{LEAD}as an? (?:sanity check|quick check|check|warm-?up|first step|next step|reminder|by-?product|"
        rf"consequence|"
        rf"corollary|result|test)(?:,? {REACHED}| of {THING})?(?:,? {SUBJECT} {MAY}(?:compute|calculate|consider|"
        rf"verify|check|"
        r"prove|show)(?: that)?)?"
    ),
    "by definition of": rf"{LEAD}(?:by|using|from|with) the definition of (?:the )?{_FUNCTION}(?:,? {REACHED})?",
    "taking derivatives": (
        rf"{LEAD}taking (?:the )?{COMPUTED}(?: of (?:this|it|both sides|{THING}))?(?: with respect to \$\$| in "
        rf"\$\$)?,? "
        rf"(?:{GIVES}|{REACHED})(?: that)?"
    ),
    "key observation": (
        rf"{LEAD}(?:the|our|my) (?:key|main|basic|crucial|first|next|only|central|important|simple) (?:observation|"
        rf"idea|point|fact|"
        r"insight|ingredient|tool|remark|trick)(?: here)? is(?: the following| that| this)?"
    ),
    "numbered fact": r"(?:fact|observation|question|problem|task|item|note|display|paragraph)(?: \(?[0-9]+[a-z]?\)?)?",
    "about": (
        rf"(?:this|the (?:next|last|previous|first)) {_OF_A_TEXT} (?:is about|deals with|is devoted to|treats) "
        rf"{THING}"
    ),
    "the claim is": (
        rf"{LEAD}the {_CLAIM}(?: (?:to (?:prove|show|check|verify)|in question|that we (?:want|need)))?(?: then)? "
        rf"(?:is|reads|says)"
    ),
    "in a notation": (
        rf"{LEAD}(?:(?:written|rewritten|expressed) )?(?:in (?:matrix|vector|index|component|compact|closed|"
        rf"coordinate|tensor) "
        r"(?:form|notation)|in (?:coordinates|components|indices|full|symbols)|(?:written|spelled|multiplied) "
        r"out(?: in full| in "
        r"(?:components|coordinates|indices))?)"
    ),
    "put differently": (
        r"(?:or|and)?,? ?(?:what is the same(?: thing)?|put differently|said differently|put another way|to put it "
        r"differently|"
        r"which is the same as|in short|more briefly)"
    ),
    "as follows": (
        rf"{LEAD}{SUBJECT} {MAY}(?:write|rewrite|express|prove|show|see|verify|compute|expand|bound|estimate) "
        rf"{THING} as follows"
    ),
    "is easy": rf"{LEAD}{THING} (?:is|are) (?:also |now |equally |just as )?{_EASE}",
    "in code": rf"{LEAD}in (?:code|pytorch|numpy|jax|practice),? {THING} (?:is|takes) {_NUMBER_OF_LINES}(?: of code)?",
    "numerically": (
        rf"{LEAD}{THING} (?:is|are) (?:numerically (?:stable|safe|sound)|(?:cheap|fast|efficient|easy) to "
        rf"(?:compute|evaluate|"
        rf"implement|parallelize|vectorize))|{LEAD}{THING} (?:avoids?|prevents?) (?:overflow|underflow|cancellation)"
        r"(?: (?:and|or) (?:overflow|underflow|cancellation))?"
    ),
    "closing": (
        r"(?:and )?(?:hence|thus|whence) the name|that(?:'s|\u2019s| is) (?:it|all)|(?:i )?hope (?:that )?this "
        r"(?:helps|is clear)|"
        r"(?:we|i) am done|(?:we|i) are done|end of (?:the )?(?:proof|story|solution|derivation)"
    ),
    "exercises": (
        rf"(?:(?:easy|hard|short|optional|warm-?up|bonus|good|nice|simple|further) )*(?:exercise|problem|question|"
        rf"quiz)s?(?::|,)?"
        rf"(?: {_EASILY}(?:show|prove|verify|check|derive) (?:that|{THING}))?|bonus|(?:show|prove|verify|check|"
        rf"derive) {THING}|"
        rf"hint: (?:use|apply|try|recall) {RULE}"
    ),
    "the lecture": (
        rf"\(?(?:see|cf\.?|compare)(?: also)? (?:the|our|my) (?:previous|next|last|first|same) (?:{_OF_A_TEXT}|"
        rf"paper|book)\)?|"
        r"(?:further |suggested )?reading: (?:(?:chapters?|sections?|pages?) [\d.,\u2013-]+(?: and [\d.]+)? (?:of|"
        r"in) )?(?:the|"
        r"our) (?:book|notes|paper|lecture notes|textbook)"
    ),
    "can be written": (
        rf"{LEAD}(?:\$\$|{THING}|which) (?:can|could|may|might) (?:(?:also|now|then|thus|therefore|equivalently|"
        rf"simply) )*be {_PUT}(?: (?:more )?(?:compactly|concisely|explicitly|equivalently))?(?: (?:in|using) "
        rf"(?:matrix|vector|index|closed) (?:form|notation))?(?: (?:as|by|via)(?: follows)?)?"
    ),
    "we write": (
        rf"{LEAD}{SUBJECT} {MAY}(?:write|rewrite|re-write|express|compute|calculate|evaluate)(?: (?:\$\$|{THING}))? "
        r"(?:as|by|via)(?: follows)?"
    ),
    "note that we": (
        rf"{LEAD}(?:note|notice|observe|recall|remember)(?: also| however)?(?: that)? {SUBJECT} {MAY}(?:have|get|"
        r"obtain|write|see|know)(?: that)?"
    ),
    "compute": (
        rf"{LEAD}(?:compute|calculate|evaluate|differentiate) (?:\$\$|{THING})(?: (?:with respect to|w\.r\.t\.) \$\$)?"
    ),
    "gradient by": (
        rf"(?:the )?(?:{COMPUTED}) (?:of|with respect to|w\.r\.t\.) \$\$(?: (?:with respect to|w\.r\.t\.) \$\$)?"
    ),
    "with a rule": (
        rf"{LEAD}(?:apply|use|using|applying)(?: (?:again|once more))? {RULE}(?: (?:to|on) (?:\$\$|{THING}))?"
        rf"(?:,? {REACHED})?"
    ),
    "imprint": (
        r"(?:last )?(?:updated|modified|edited|revised|changed)(?: on| in)?:? (?-i:[A-Z0-9])[\w ,./-]{2,24}|"
        r"(?:copyright|\u00a9|\(c\))(?: \u00a9| \(c\))? [\w ,.\u2013-]{2,60}"
    ),
}
"""Each pattern has a sentence of its own in the test; a sentence must match from its first word to its last."""
