r"""Phrases that restrict nothing though a word of theirs might, and phrases that restrict though no word does."""

from __future__ import annotations

import re

# A claim in words about what was computed, with no symbol in it: the display below says it once more.
CLAIMED_SUM = re.compile(
    r"^\W*(?:(?:so|hence|thus|therefore|then|again|also|now),? )?(?:all |the )*(?:entries|components|rows|columns|"
    r"elements) of (?:the|this|each) (?:gradient|jacobian|hessian|derivative)s? (?:also |all |must )?(?:sums?|adds? "
    r"up) to (?:zero|0)\W*$",
    re.IGNORECASE,
)


# A relation that stands in prose without dollar signs: it is not a formula to us, and may be a hypothesis all the same.
# Links, tags, calls and attributes, whose signs relate nothing.
NO_RELATION = re.compile(r"\]\([^()\s]*\)|https?://\S+|</?\w+[^<>]*>|[\w.]+\([^()]*=[^()]*\)|\b\w+=\"[^\"]*\"")
BARE_RELATION = re.compile(
    r"[\w\\^{}()|']*[\w})|'] *(?:\\(?:geq?|leq?|neq?|ge|gt|lt|in|perp|sim|approx|equiv|propto)(?![a-zA-Z])|[<>!]=|"
    r"[\u2264\u2265\u2260\u2208\u22a5]|(?<=\s)[=<>](?=\s)|(?<=\w)=(?=[\w\\-])) *\\?[\w^{}()|-]*"
)


def _any(*alternatives: str) -> str:
    return "(?:" + "|".join(alternatives) + ")"


_NUMBER = r"(?:two|three|four|ten|\d+)"
PHRASES = re.compile(
    r"`[^`]*`|\]\([^()\s]*\)|https?://\S+|<[^<>]*>|\\[a-zA-Z]+\*?(?:\{[^{}]*\})?|\b"
    + _any(
        r"without (?:any )?loss of (?:any )?generality",
        r"w\.?l\.?o\.?g\.?",
        r"if and only if",
        r"even (?:if|though|when|more|so|for)",
        r"as well as",
        r"(?:as|so) long as",
        r"as opposed to",
        r"rather than",
        r"at least (?:as|in)",
        r"in (?:short|addition|common|particular|the same (?:way|manner|fashion|vein|spirit))",
        r"the same (?:holds|goes|way|argument|applies|reasoning|is true|steps?|computation|calculation|formula|result)",
        r"the same (?:symbol|notation|letters?|names?|factor|term|number|expression|quantity|on both sides)",
        r"by the same \w+",
        r"not (?:only|yet|necessarily|even|surprising(?:ly)?|hard|difficult|needed|of interest)",
        r"need not",
        r"whether or not",
        r"do(?:es)? not (?:matter|depend|change|need|assume|use|require)",
        r"no (?:longer|more|matter|doubt|wonder|surprise)",
        r"of no (?:interest|importance)",
        r"zero or more",
        r"without (?:further|more) \w+",
        r"triangle inequality",
        r"(?:expand|complet)\w* (?:out )?the squares?",
        r"(?:terms?|factors?|sums?) on the (?:right|left)",
        r"squared (?:norms?|errors?|lengths?|distances?|differences?|loss(?:es)?|magnitudes?|sums?|terms?|weights?)",
        r"short (?:calculation|computation|proof|argument|derivation|answer|sketch)s?",
        r"closed form",
        r"linear (?:algebra|layers?|maps?|models?|regression|projections?|transformations?)",
        r"natural language(?: processing)?",
        r"large language models?",
        rf"(?:divid|multipl)\w+ by {_NUMBER}",
        r"what is more",
        r"up to now",
        r"so far",
        r"one (?:by|after) (?:one|another|the other)",
        r"i\.\s?e\.",
        r"e\.\s?g\.",
        r"et al\.?",
        r"common (?:practice|choices?|notations?|knowledge)",
        r"(?:(?:in|for) )?(?:the )?(?:general|any|each|every|either|both|all|many|most|this|that|these|neither) cases?",
        r"with(?:out)? (?:any )?(?:question|mistakes?)",
        r"(?:open|next|main|key|following) questions?(?= (?:of|is whether|about))",
        r"(?:if|not|the) only (?:if|thing|difference|terms? (?:that|which))",
        r"means? that",
        r"with the (?:help|above|notation|definitions?|abbreviations?)",
        r"(?:naming|notation|notational) conventions?",
        r"vice versa",
        r"(?:of|on) (?:its|our|their) own",
        r"a priori",
        r"per se",
        r"ad hoc",
    )
    + r"(?![\w-])",
    re.IGNORECASE,
)
_ROLE = r"(?:quer(?:y|ies)|keys?|values|inputs?|outputs?|targets?|predictions?|labels?)"
_AIM = r"(?:show|prove|compute|see|find|know|derive|understand|verify|check|express|write|calculate|simplify|evaluate)"
TOGETHER = re.compile(
    r"\b"
    + _any(
        r"(?:attention|softmax) (?:weights?|probabilities|distributions?|matri(?:x|ces)|rows?|maps?)",
        r"(?:a|by the|from the) softmax(?= (?:returns?|gives?|outputs?|makes?|produces?)|[.,;]|$)",
        r"as (?:many|much|long|large|small|big) \w+",
        r"stands? out",
        r"(?:fixed|critical|extreme|end) points?",
        r"one[- ]dimensional",
        r"(?:scalar|simplest|base|limiting|degenerate|diagonal|univariate) case",
        r"unit \w+",
        r"in common",
        r"real part",
        r"identity matri(?:x|ces)",
        r"in (?:\w+ )?order(?! to\b| of (?:the )?appearance)",
        r"comes? (?:first|last|before|after)",
        r"by (?:the |our |this |its )?(?:choice|construction|assumption|hypothesis|design)",
        r"(?:in|for|with|under|of) (?:self|cross|causal)[- ]attention,",
        r"(?:max(?:imum)?|min|sum|infinity|sup|uniform|manhattan|taxicab|nuclear|spectral|operator|induced|weighted|dual|"
        r"matrix|energy)[ -]norms?",
        r"(?:norms?|log(?:arithm)?s?|products?|powers?|sums?|arithmetic|angles?|exponentials?|divisions?) (?:is|are) "
        r"(?:here |always |all )?(?:that|those|the (?:one|ones)|taken|to (?:the )?base|element-?wise|entry-?wise|"
        r"integer|modulo|mod|in|with)",
        r"integer divisions?",
        r"(?:to|in|with|has|have|as) (?:the )?base",
        r"(?:single|double|half|finite|machine|full|low|mixed|reduced) precision",
        r"floating[ -]points?",
        r"(?:first|last|single|only|same|current|leading) (?:tokens?|positions?|steps? of training)",
        r"(?:start|beginning|end|outset) of (?:the )?training",
        r"(?:rows?|columns?) of the identity",
        r"in place of",
        r"(?:stands?|standing) (?:here )?for",
        r"(?:two|three|other|different|both|several) names",
        r"evaluat\w+ (?:(?:this|it|them|both sides|everything|all) )?(?:at|in|for|on)",
        r"(?:insert|plug|substitut|us)\w* (?:in )?(?:the|these|those|its|their) values?",
        r"(?:insert|plug|substitut|replac|exchang|swap)\w* (?:for )?\x01\d+\x02",
        r"tak\w+ \x01\d+\x02 (?:for (?:both|all|each|every|the)|as both|both)",
        r"(?:writ\w+|put\w*|us\w+|tak\w+|call\w*) \x01\d+\x02 (?:also )?(?:for|as|instead of) \x01\d+\x02",
        r"leav(?:e|es|ing) (?:\S+ )?(?:out|away|aside)",
        r"split (?:evenly|equally|over|among|across|into (?:equal|heads))",
        r"in pairs",
        r"as many",
        r"the sets? of",
        r"^\W*find (?:all|the|an?|some|every|those|\x01)",
        r"(?:looking|look|search|searching) for",
        r"cut off",
        r"set aside",
        r"left out",
        r"taken out",
        r"switched? off",
        r"turned? off",
        r"left alone",
        r"on average",
        r"in (?:the )?(?:worst|best|average|typical|generic) cases?",
        r"in (?:the (?:long run|limit|mean|end)|practice|expectation|most cases)",
        r"at (?:best|worst|most times)",
        r"up to (?:a |an |some )?(?:constants?|signs?|scal\w+|factors?|permutation|rounding|noise)",
        r"^\W*(?:eventually|ultimately|mostly|usually|often|typically|sometimes|generally|commonly|ideally|rarely|"
        r"seldom|practically|normally|hopefully|maybe|perhaps|possibly)\W*$",
        r"(?:expected|average|mean) (?:\w+ )?(?:is|are|equals?|becomes?|reads)",
        r"(?:mean|average) of (?:the |this |that |each |every |its )?\w+ (?:over|across|of)",
        rf"(?:we|you|one|i) (?:only )?(?:want|wish|need|hope|desire|require|seek|aim)s?\b(?! to {_AIM})",
        rf"(?:goals?|aims?|objectives?|targets?|wish|hope) (?:of [^.;:]{{0,40}} )?(?:is|are)\b(?! to {_AIM})",
        r"what (?:is|we|one|you) (?:needed|needs?|wants?|wanted|required?|desired?|sought)",
        r"solutions? (?:of|to|is|are|for)",
        r"solv(?:e|es|ed|ing) (?:for|the|this|these|by)",
        rf"{_ROLE} (?:is|are|equals?) (?:also |just |simply )?(?:the |its |their )?{_ROLE}",
        r"(?:answer|respond|repl|predict|vot|output|return)\w* (?:with |for |on )?(?:the "
        r"\w+ )?\x01\d+\x02",
        r"(?:entry|entries|components?|coordinates?|elements?|rows?|columns?) (?:holds?|carr(?:y|ies)|stores?|"
        r"contains?|is|are|has|have|takes?|shows?) (?:a|an|one|only|either|no)\b",
        r"(?:is|are) an? (?:projections?|identity|norm|average|mean|product|limit|ratio|maximum|minimum)(?=\W*$|[.,;])",
    )
    + r"(?!\w)",
    re.IGNORECASE,
)
# Words that matter where a step is an assignment (`x = x - \eta g`), and those that matter where it has no symbols.
OF_UPDATES = re.compile(r"\b(?:updat\w*|assign\w*|iterations?|loops?)\b", re.IGNORECASE)
OF_DIGITS = re.compile(
    r"\b(?:(?:kilo|mega|giga|tera|kibi|mebi|gibi)?bytes?|places|shortened|displayed|memory|types?|u?int\d*|programs?|"
    r"computers?|calculators?|characters?|strings?|concatenat\w+|left to (?:the )?right|right to (?:the )?left|"
    r"equality|signs?|class(?:es)?|units?|digits?|decimals?|numerals?|clocks?)(?!\w)",
    re.IGNORECASE,
)
_PLACE = (
    r"(?:lines?|steps?|sections?|sec|equations?|eqs?|eqn|figures?|fig|tables?|theorems?|lemmas?|propositions?|"
    r"corollar(?:y|ies)|definitions?|chapters?|pages?|parts?|examples?|remarks?|algorithms?|appendix|items?|exercises?|"
    r"claims?|properties|property|volumes?|versions?|layers?|questions?|python|source|problem)"
)
_COUNT = r"\(?\d[\d.]*(?:\([a-z]\))?(?:[ivx]+\b)?\)?"
_AUTHOR = r"(?-i:[A-Z])[\w\u00c0-\u024f'\u2019-]+"
_KEY = (
    rf"(?:\d+[a-z]?|{_PLACE}\.?[ ~]*{_COUNT}|(?:pp?|ch|thm|prop|cor|def|vol|no)\.[ ~]*{_COUNT}|"
    r"(?-i:[A-Z][A-Za-z+]{0,4})\d\d[a-z]?|"
    rf"{_AUTHOR}(?:(?:,|,? and| &) {_AUTHOR})*(?: et al\.?)?,? \(?\d{{4}}\)?[a-z]?)"
)
# A citation holds keys and places alone: "[3, p. 12]", not "[3, for orthogonal vectors]".
CITATION = rf"\[{_KEY}(?:\s*[,;\u2013-]\s*{_KEY})*\]"
# Numbers that only say where something stands: "line 3", "(2.1)", "[12]", years, "GPT-2".
REFERENCE = re.compile(
    rf"\b{_PLACE}\.?[ ~]*{_COUNT}(?:(?:,| and| to| or|-)\s*{_COUNT})*|{CITATION}|\(\d{{1,3}}(?:\.\d+)?\)|"
    r"^\s*\(?[\divx]{1,4}[.)]|^\s*\d\d\d, \d[\d.]*(?:\(\w+\))?[ivx]*|\b\d+(?:\.\d+){2,}|\b(?:1[5-9]|20)\d\d\b|"
    r"\b[A-Za-z]+-?\d+\b",
    re.IGNORECASE,
)
