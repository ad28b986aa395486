"""Parts of the sentences that authors write around steps: texts, acts, reasons, references.

They stand in the patterns of `phrase_patterns` and `leads`, which argue that sentences made of them restrict nothing.
"""

from __future__ import annotations

from attention_core.derivation.words.asides import CONNECTIVES
from attention_core.derivation.words.inert import CITATION


def any_of(*alternatives: str) -> str:
    """Join alternatives of a pattern."""
    return "(?:" + "|".join(alternatives) + ")"


LABEL = r"\(?(?:\d+(?:\.\d+)*[a-z]?|[ivx]+|[A-Z]|\[\d+\]|\\(?:eq|c)?ref\{[^{}]*\})\)?"
PLACE = (
    r"(?:lemmas?|theorems?|propositions?|corollar(?:y|ies)|equations?|eqs?\.?|eqn\.?|lines?|steps?|sections?|sec\.?|"
    r"figures?|fig\.?|tables?|chapters?|pages?|appendix|examples?|exercises?|remarks?|formulas?|parts?|items?)"
)
REFERENCE = (
    rf"(?:(?:the )?{PLACE}[ ~]*{LABEL}|\(\d+(?:\.\d+)*\)|{CITATION}|\\(?:eq|c)?ref\{{[^{{}}]*\}}|"
    r"\\?@?\\?cite[pt]?\{[^{}]*\})"
)
REFERENCES = rf"{REFERENCE}(?:(?:,| and|, and) {REFERENCE})*"
LIKE_REFERENCE = rf"(?:(?:the )?{PLACE}|[(\[\\@]).*"
NAME = r"(?-i:[A-Z][\w\u00c0-\u024f'\u2019.-]+)"
NAMES = rf"(?:{NAME}(?: {NAME})*(?:(?:,|,? and) {NAME}(?: {NAME})*)*(?: et al\.?)?)"
CITED = rf"(?:{NAMES}(?:,? \(?(?:19|20)\d\d[a-z]?\)?)?(?: {REFERENCES})?|{REFERENCES})"
CONNECTIVE = any_of(*CONNECTIVES)
LEAD = rf"(?:{CONNECTIVE},? )*"
THING = (
    r"(?:(?:the |this |that |our |an? |one )?(?:(?:following|first|second|third|last|next|desired|main|above|final|"
    r"previous|same|other|simple|useful|important|well-known|short|direct|straightforward|new|two|key|central|crucial|"
    r"classical|standard|famous|simplest|easiest|upper|lower) )*(?:claim|"
    r"result|identity|equality|inequality|equation|"
    r"formula|statement|bound|relation|assertion|proof|lemma|theorem|proposition|corollary|line|step|calculation|"
    r"derivation|expression|conclusion|argument|computation|reasoning|section|note)s?"
    rf"(?: {LABEL})?|the following|this|that|it|these)"
)
SUBJECT = r"(?:we|one|you|i)"
MAY = (
    r"(?:(?:can|may|now|then|thus|hence|therefore|so|also|finally|first|next|again|easily|immediately|at once|"
    r"will|have|clearly|directly|still|just) )*"
)
REACH = (
    r"(?:gets?|obtains?|finds?|has|have|concludes?|sees?|deduces?|arrives? at|reads? off|notes?|observes?|infers?|"
    r"found|obtained|concluded|seen|shown|proved|proven|shows?|proves?|claims?|checks?|verif(?:y|ies)|derives?)"
)
RULE = (
    r"(?:the )?(?:(?:chain|product|quotient|sum|power) rule|triangle inequality|binomial theorem|"
    r"(?:cauchy[-\u2013]schwarz|minkowski(?:'s)?)(?: inequality)?|polari[sz]ation identity|"
    r"parallelogram (?:law|identity)|(?:first |second |third )?binomial formula|linearity|"
    r"bilinearity|distributivity|distributive law|associativity|submultiplicativity|induction|arithmetic|algebra|"
    r"calculus|same argument|same reasoning|same calculation|cyclic property of the trace|cyclicity of the trace|"
    r"linearity of (?:the )?(?:trace|sum|derivative|expectation)|integration by parts|"
    r"(?:rules?|laws?|properties) of (?:the )?(?:logarithms?|exponents?|exponentials?|transposes?)|"
    r"(?:log|logarithm|exponent) (?:rules?|laws?))"
)
# "Dividing by the norm gives", "Subtracting the sum", "Inserting $y$": what is left has norm 1, sum 0, or is another.
CHANGES = (
    r"(?!(?:divid\w*(?: \S+)*? by|multiply(?:ing)? by|"
    r"(?<!adding and )(?<!add and )subtract\w*) (?:\w+ )*?(?:(?:norms?|sums?|traces?|entries|"
    r"components|expressions?|products?)\b|\$\$)|(?:insert|substitut|plugg|putt)\w*(?: in)? \$\$)"
)
ACT = (
    rf"{CHANGES}(?:(?:expand|collect|rearrang|simplify|cancell?|combin|factor|multiply|differentiat|comput|regroup|"
    r"reorder|transpos|substitut|insert|plugg|add|subtract|summ|squar|divid|count|writ|compar|apply|us|exchang|"
    r"interchang|putt|insert|evaluat|group|split|pull|mov)ing|taking(?= (?:the )?(?:derivatives?|gradients?|"
    r"transposes?|"
    r"traces?|norms?|squares?|logarithms?) (?:of|on) (?:both )?(?:sides|(?:the )?terms)))"
)
SIDES = (
    r"(?:squares?|terms?|factors?|brackets?|parenthes[ei]s|sides|products?|sums?|expressions?|equations?|like terms|"
    r"right-hand side|left-hand side|right side|left side|result|derivatives?|gradients?|norms?|jacobians?|"
    r"traces?|transposes?|logarithms?|"
    r"entries|factors|components|definitions?|inner products?|displays?|lines|order of (?:summation|the sums|"
    r"integration)|"
    r"everything|it all|two|three|\$\$)"
)
OBJECT = (
    rf"(?:(?: out| up| in| by)*(?: over)?(?: (?:the |all |both |this |these |the two |the same )?(?:{SIDES}|"
    rf"entries of (?:both|all) factors|"
    rf"{REFERENCES}|{THING}|{RULE}))?(?: (?:and|into|in|to|from|of|with) (?:{REFERENCES}|{THING}|{RULE}|"
    rf"(?:the |both |the two )*{SIDES}))?(?: on the (?:left|right|left-hand side|right-hand side))?"
    r"(?: once more| again| by hand| term by term| on both sides| together)*)"
)
WITH_RESPECT = r"(?: (?:with respect to|in) \$\$)?"
ACTS = rf"{ACT}(?: and {ACT})?{OBJECT}{WITH_RESPECT}(?: and {ACT}{OBJECT}{WITH_RESPECT})*"
GIVES = (
    rf"(?:{MAY}(?:gives?|yields?|implies|imply|shows?|proves?|means|leads to|results in|reads?|says|becomes|"
    r"simplifies to|follows|holds|is true|tells us))"
)
REACHED = rf"{LEAD}{SUBJECT} {MAY}{REACH}(?: that)?(?: {THING})?"
FOUND = (
    r"(?:the |a )(?:usual |well-known |following |desired )?(?:update rule|formula|rule|gradient|derivative|"
    r"bound|identity|result)"
)
AUTHORS = (
    r"(?:comput|deriv|calculat|prov|show|check|verify|differentiat|discuss|explain|review|recall|present|describ|"
    r"summari[sz]|illustrat|repeat|collect|introduc|rewrit|simplify|expand|record|estimat|motivat|stud|sketch)"
)
VERB = (
    rf"(?:{AUTHORS}(?:e|es|s|y|ies|ied|ed)?|(?:turn|turns|proceed|move|moves) (?:on )?to|(?:start|begin|continue|end|"
    r"conclude)s? with|go(?:es)? through|went through|proven|shown|wrote|written|rewrite|give|gives|work out)"
)
TIME = (
    r"(?:in (?:the|this|our) (?:next |previous |last |following |first |second )?(?:section|note|chapter|lecture|part|"
    r"appendix|paper|post|subsection)(?: \d+)?|below|above|later|here|now|next|first|finally|at the end|in turn|"
    r"step by step|by hand|in detail|again|once more|at length)"
)
AUTHOR = (
    rf"(?:{SUBJECT}|let us|(?:this|the|these) (?:next |previous |last |following )?(?:notes?|sections?|chapters?|"
    r"lectures?|papers?|posts?|documents?|pages?|articles?|parts?|subsections?|appendix|exercises?|proof|summary))"
)
AIM = r"(?:(?:want|wish|would like|aim|have|try|hope|are going|set out) to |us to )?"
COMPUTED = r"(?:(?:partial |total |first |second )?(?:gradient|derivative|jacobian|hessian))s?"
