r"""Noun phrases that name what is talked about, and restrict nothing: "the gradient of the loss".

A title, and the object of a sentence about the text itself ("we compute the norm of the output"), names a topic. Its
words come from closed classes, and a word belongs to one if it neither is a property that a symbol may have
(orthogonal, shared, an inverse, a projection), nor changes how a display is to be read (leading order, average,
update, code, limit). All other words leave the phrase unread.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from attention_core.derivation.quick_patterns import compile_quick

DETERMINERS = (
    "the", "a", "an", "this", "that", "these", "those", "our", "its", "their", "both", "all", "some", "such", "each",
    "every", "other", "another", "any",
)  # fmt: skip
# What an adjective may say of a part of a text: where it stands, what sort it is, or what the author thinks of it.
ADJECTIVES = (
    "few", "many", "most", "following", "next", "previous", "preceding", "last", "final", "first", "second", "third",
    "fourth", "main", "above", "whole", "full", "complete", "entire", "general", "usual", "standard", "simple",
    "useful", "important",
    "well-known", "famous", "classical", "short", "long", "detailed", "direct", "explicit", "basic", "elementary",
    "upper", "lower", "left", "right", "left-hand", "right-hand", "corresponding", "remaining", "resulting",
    "desired", "required", "familiar", "fundamental", "key", "popular", "new", "modern", "original",
    "complicated", "convenient", "elegant", "necessary", "further", "more", "interesting", "technical", "theoretical",
    "practical", "mathematical", "individual", "certain", "old", "different",
)  # fmt: skip
# What it may say of an object. "Long queries", "the first token", "the same loss", "simple roots" and "linear parts"
# restrict, so these adjectives are not here.
OF_OBJECTS = (
    "following", "whole", "entire", "general", "usual", "important", "well-known", "famous", "classical", "above",
    "squared", "partial", "total", "forward", "backward", "scaled", "dot-product", "multi-head", "corresponding",
    "resulting", "familiar", "fundamental", "key", "popular", "modern", "original", "complicated", "interesting",
    "mathematical", "neural", "recurrent", "residual", "feed-forward", "fully-connected", "log-sum-exp",
    "self-attention", "cross-attention", "inner", "outer", "individual", "certain",
)  # fmt: skip
# Names that hold such an adjective and say nothing by it.
_DERIVED = (
    r"(?:first|second|third|higher|explicit|direct|simple|full|elementary) (?:partial )?(?:derivative|gradient|"
    r"jacobian|hessian|product rule|expansion|moment)"
)
# Parts of a text, and what an author does there.
TEXTS = (
    "note", "section", "subsection", "chapter", "lecture", "page", "paper", "article", "post", "document", "tutorial",
    "text", "book", "course", "report", "appendix", "proof", "lemma", "theorem", "proposition", "corollary", "claim",
    "result", "identity", "identitie", "equality", "equalitie", "inequality", "inequalitie", "equation", "formula",
    "formulae", "statement", "bound", "relation", "line", "step", "calculation", "computation", "derivation",
    "expression", "conclusion", "argument", "example", "exercise", "figure", "table", "diagram", "definition",
    "notation", "idea", "fact", "detail", "remark", "summary", "summarie", "introduction", "motivation", "overview",
    "background", "history", "question", "answer", "reference", "literature",
    "solution to the exercise", "recap", "review", "warm-up", "preliminary", "preliminarie", "abstract", "content",
    "outline", "sketch", "intuition", "discussion", "comment", "problem set", "homework", "quiz",
    "acknowledgement", "bibliography", "corollarie", "way", "method", "approach", "technique", "tool", "trick",
    "reason", "topic", "thing", "paragraph", "display", "acknowledgment", "further reading",
    "verdict", "problem", "check", "estimate", "look", "sentence",
)  # fmt: skip
# Parts of a formula: "the main term" and "the large factors" say which count.
PARTS = ("part", "term", "factor", "side", "point")
OF_PARTS = ("following", "next", "last", "other", "remaining", "left", "right", "left-hand", "right-hand")
# What is computed, and what models are made of.
OBJECTS = (
    "gradient", "derivative", "jacobian", "hessian", "norm", "loss", "losse", "softmax", "attention", "sigmoid",
    "logarithm", "exponential", "function", "vector", "matrix", "matrice", "product", "dot product", "inner product",
    "outer product", "sum", "difference", "quotient", "square", "square root", "trace", "determinant",
    "transpose", "power", "exponent", "denominator", "numerator", "score", "key", "query", "querie", "token", "layer",
    "network", "transformer", "model", "block", "head", "embedding", "entry", "entrie", "component", "row", "column",
    "dimension", "length", "width", "depth", "parameter", "input", "output", "error", "entropy", "entropie",
    "cross-entropy", "cross entropy", "cross entropie",
    "divergence", "distance", "temperature", "argument", "backpropagation", "differentiation", "integral",
    "algebra", "calculus", "logit", "logits", "word", "sequence", "sentence", "batch", "feature",
    "encoder", "decoder", "language model", "perceptron", "magnitude", "coefficient", "variable", "size",
    "regression", "least squares", "likelihood", "pass", "passe", "rule", "cost", "operation", "memory", "weight",
    "complexity", "size", "log-sum-exp", "complexitie", "loss function", "activation", "activation function",
    "update",
)  # fmt: skip
# Names that mean one thing in the field, though a word of theirs alone might be a property.
COMPOUNDS = (
    "layer normali[sz]ation", "batch normali[sz]ation", "low-rank adaptation", "temperature scaling", "chain rule",
    "product rule", "quotient rule", "update rule", "gradient descent", "backward pass", "forward pass",
    "kullback-leibler divergence", "scaled dot-product attention", "multi-head attention", "positional encodings?",
    "position encodings?", "rotary embeddings?", "attention weights", "attention scores", "residual connections?",
    "feed-forward (?:blocks?|layers?|networks?)", "ridge regression", "logistic regression", "triangle inequality",
    "ordinary least squares", "maximum likelihood", "word vectors?", "hidden (?:layers?|units?|sizes?)",
    "root(?!s)",
    "weight matri(?:x|ces)", "bias terms?", "bias vectors?", "learning rates?", "fine-tuning", "pre-?training",
    "numbers? of (?:parameters|tokens|heads|layers|operations|multiplications)", "linear layers?", "linear models?",
    "linear regression", "key-value cache", "kv cache", "log-likelihood", "attention", "self-attention",
    "linear algebra", "language models?", "large language models?", "deep learning", "machine learning",
    "neural networks?", "negative log-likelihoods?", "mutual information",
    "(?:mean )?squared errors?",
)  # fmt: skip
# Topics that say what a symbol is ("the attention weights": positive, of sum one), and the operations that make it so:
# a step that computes with one of them needs no word for it.
RESTRICTING: tuple[tuple[str, frozenset[str]], ...] = (
    (r"softmax|attention (?:weights?|probabilit(?:y|ies)|matri(?:x|ces)|maps?)", frozenset({"softmax", "exp", "lse"})),
    (r"sigmoids?|logistic function", frozenset({"sigmoid", "exp"})),
    (r"jacobians?|hessians?", frozenset({"deriv"})),
    (r"(?:layer|batch|rms|group|weight)[ -]?norm(?:ali[sz]ation)?|qk-?norm", frozenset({"norm", "sqrt"})),
    (r"rope|rotary (?:position(?:al)? )?embeddings?", frozenset({"cos", "sin"})),
    (r"temperatures?|learning rates?", frozenset()),
    (r"least squares|pseudo-?inverse", frozenset({"inv"})),
    (r"svd|pca|dft|fft|qr|gqa|mqa", frozenset()),
    (
        r"(?:gram|markov|toeplitz|hankel|circulant|householder|givens|hadamard|fourier|vandermonde|haar|stiefel|"
        r"laplac\w+|"
        r"gauss\w*|bernoulli|rademacher|poisson|dirichlet) (?:matri(?:x|ces)|vectors?|kernels?|distributions?|noise)",
        frozenset(),
    ),
)
# Subjects of a title that say which operation, rule or sum it is about; what a symbol could be by them, such as an
# inverse, or distributions in "Jensen", is tried where a step is false: see `usual`.
SUBJECTS = (
    "set-?up", "inverses?", "(?:hyperbolic )?(?:co)?sines?", "(?:hyperbolic )?tangents?", "tanh", "jensen", "cauchy",
    "minkowski", "binomials?", "(?:binomial|quotient|product|sum|power) rules?", "binomial formulas?",
    "polari[sz]ation", "parallelogram law", "fractions?", "geometric (?:series|sums?)", "telescoping sums?",
    "variances?", "averages?", "means",
    "quadratic forms?", "quadratics", "shift invariance", "homogeneity", "linearity", "bilinearity", "cyclicity",
    "associativity", "distributivity", "momentum", "weight decay", "least squares", "backprop", "temperatures?",
    "(?:other|further|more) distributions", "reciprocals?", "moments?", "cumulants?", "counting", "parameter counts?",
    "flops?", "geometry", "arithmetic", "trigonometry", "completing the square",
)  # fmt: skip
JOINTS = r"(?:,? (?:of|for|through|via|to|from|in|over|between|and|or|with respect to|about|on|into|across|behind) |, )"

_PLURAL = r"(?:e?s)?"
_SUFFIX = r"(?:-by-step|-wise)?"


def _any(words: tuple[str, ...]) -> str:
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)) + ")"


_OF_TEXTS = rf"(?:(?:{_any(ADJECTIVES)})[ -])*"
_OF_OBJECTS = rf"(?:(?:{_any(OF_OBJECTS)})[ -])*"
# "loss function gradient": nouns before a noun; a formula after a preposition is what is operated on.
_BEFORE = rf"(?:{_any(OBJECTS + TEXTS + PARTS)} )?"
# One of what there are many of, as in "the softmax of a score": a size may be one.
_ONE_OF_MANY = (
    r"an? (?:\w+ )??(?:scalar|token|key|query|score|logit|entry|component|row|column|head|word|coefficient|variable|"
    r"parameter|weight|feature|layer)(?! ?(?:vector|matri|function|model|head|embedding|norm|layer|number|update|rule))"
    r"(?![\w-])"
)
_ONE = rf"(?!{_ONE_OF_MANY})"
A_SINGLE = re.compile(rf"\b{_ONE_OF_MANY}", re.IGNORECASE)
"""One of what there are many of, in a title."""
_HEAD = (
    rf"(?:{_OF_TEXTS}{_BEFORE}{_any(TEXTS)}{_PLURAL}|"
    rf"(?:(?:{_any(OF_PARTS)}) )*{_BEFORE}{_any(PARTS)}{_PLURAL}|"
    rf"{_OF_OBJECTS}{_BEFORE}(?:{_any(COMPOUNDS)}|{_DERIVED}{_PLURAL}|{_any(OBJECTS)}{_PLURAL}))"
)
_FORMULA = r"\$\$"
NOUN_PHRASE = rf"{_ONE}(?:(?:{_any(DETERMINERS)}) )*{_HEAD}(?:'s? {_HEAD})?"
TOPIC = rf"{NOUN_PHRASE}(?:{JOINTS}(?:{NOUN_PHRASE}|{_FORMULA})){{0,6}}"
_TITLE_LABEL = (
    r"(?:(?:lecture|chapter|section|part|step|exercise|example|lemma|theorem|proposition|corollary|claim|appendix|"
    r"week|day|note|problem|question|figure|table|remark|definition|homework|assignment|sheet|problem set|session)s?"
    r"[ ~]+(?:\d+(?:\.\d+)*[a-z]?|[ivx]+|[a-z])|[a-z](?:\.\d+)+|\d+(?:\.\d+)*|[ivx]+|[a-z])"
)
_GERUND = (
    r"(?:comput|deriv|calculat|prov|show|check|verify|differentiat|expand|rewrit|simplify|count|understand|explain|"
    r"estimat|bound|multiply|implement|visuali[sz])ing"
)
_ASIDE = r"(?:,? (?:by hand|step by step|in detail|in brief|in short|in a nutshell|explained|revisited|and all that))?"
_SUBJECT = rf"(?:the )?(?:{'|'.join(SUBJECTS)})(?: (?:gradient|derivative|jacobian|loss|function|formula)s?)?"
_ONLY_SUBJECT = re.compile(rf"^{_SUBJECT}$", re.IGNORECASE)
# How many parts of a text there are; "two keys" says how many keys there are.
_MANY = (
    r"(?:a (?:few|couple of|handful of|list of|collection of|set of|selection of|number of)|several|some|two|"
    r"three|four|"
    r"five|six|seven|eight|nine|ten)(?: more)? "
)
_OPERATIONS = r"sum|product|norm|derivative|gradient|integral|limit|average|moment|fraction|trace|determinant|word"
_COUNTED = (
    rf"{_MANY}{_OF_TEXTS}(?:(?:{_any(OBJECTS + TEXTS + PARTS)}) )?(?:{_any(TEXTS)}|{_OPERATIONS}){_PLURAL}"
    rf"(?:{JOINTS}(?:{NOUN_PHRASE}|{_FORMULA}|{_SUBJECT})){{0,3}}"
)
_TITLE_PHRASE = (
    rf"(?:{_COUNTED}|{_SUBJECT}(?:(?: and |, | of ){_SUBJECT})?|(?:{_GERUND} |an? (?:first|closer|quick) look at "
    rf")?(?:{_SUBJECT} (?:of|and) )?{TOPIC}"
    rf"(?: and {_SUBJECT})?){_ASIDE}"
)
_HEADED = (
    rf"^(?:{_TITLE_LABEL}(?!\w)[.:),]*(?: ?[-\u2013\u2014])? ?)?(?:{_TITLE_PHRASE}(?:[:,.]? (?:\u2013|\u2014|-) "
    rf"{_TITLE_PHRASE})?"
    rf"(?:: {_TITLE_PHRASE})?)?$"
)
_MACRO = compile_quick(r"\\(?:part|chapter|(?:sub)*section|paragraph|emph|textbf|textit)\*?\s*\{([^{}]*)\}")
_MARK = re.compile(r"\\label\{[^{}]*\}|\{#[^{}]*\}")
_LABELLED = rf"^(?:{_TITLE_LABEL}(?!\w)[.:)]*(?: ?[-\u2013\u2014])? ?)"
_WHOLE = rf"^{TOPIC}$"
KEPT_TITLES = 1024
"""How many titles are kept with their answer: each is asked for three times in a reading."""


@cache
def _compile(expression: str) -> re.Pattern[str]:
    """Compile a pattern when it is first needed: each takes a tenth of a second."""
    return re.compile(expression, re.IGNORECASE)


def is_topic(words: str) -> bool:
    """Whether words are one noun phrase of the closed classes.

    Example:
        >>> [is_topic(words) for words in ("the gradient of the loss", "the shared weights")]
        [True, False]
    """
    return bool(_compile(_WHOLE).match(words))


def restricting_topics(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """The words of a title or a sentence that say what a symbol is, each with the operations that make it so.

    Example:
        >>> [word for word, _ in restricting_topics("The gradient of the attention weights")]
        ['attention weights']
        >>> restricting_topics("The gradient of the loss")
        ()
    """
    if _ONLY_SUBJECT.match(" ".join(text.split()).strip(" .:")):
        return ()
    found = [(m.group(), ops) for words, ops in RESTRICTING for m in re.finditer(rf"\b(?:{words})\b", text, re.I)]
    return tuple(found)


def without_label(text: str) -> str:
    """A title without the label in front, marks and style.

    Example:
        >>> [without_label(text) for text in ("## 2.3 Entropy", "Step 4: *Attention*", "A note")]
        ['Entropy', 'Attention', 'note']
    """
    return _compile(_LABELLED).sub("", _COURSE.sub("", _bare(text)))


_COURSE = re.compile(
    r"^(?:[A-Z][\w-]*(?: (?:[A-Za-z][\w-]*))*)?,? ?\b(?:week|lecture|homework|assignment|sheet|session|problem set|"
    r"exercise sheet)[ ~]+\d+(?:\.\d+)*[a-z]?[,:.] ?",
    re.IGNORECASE,
)
"""A course and the number of its part: "Analysis I, week 9: ..."."""


def _bare(text: str) -> str:
    """A title without marks and style."""
    text = _MACRO.sub(r"\1", _MARK.sub("", text))
    return " ".join(text.replace("*", "").replace("_", " ").split()).strip(" .:;!#")


@lru_cache(maxsize=KEPT_TITLES)
def is_title(text: str, is_name: bool = False) -> bool:
    """Whether a heading consists of a label and topics, and so says nothing about symbols.

    A word with a capital letter inside, and one that alone is capital among other content words, is a name.

    Args:
        text: The heading.
        is_name: Whether a proper name was replaced already.

    Example:
        >>> [is_title(text) for text in ("Lecture 7: attention, by hand", "Tied weights", "Notes on Adam's loss")]
        [True, False, True]
    """
    if "$" in text:
        return False
    bare = _bare(text)
    return bool(_compile(_HEADED).match(bare)) or (not is_name and is_title(_without_names(bare), True))


# Things that a name may make special: "a Pauli matrix", "the Gram's vector"; not the losses and layers of a model.
_IS_ARRAY = re.compile(
    r"(?:matri(?:x|ces)|vectors?|scalars?|scores?|keys?|quer(?:y|ies)|tokens?|entr(?:y|ies)|components?|rows?|columns?|"
    r"dimensions?|lengths?|widths?|inputs?|outputs?|weights?|functions?|coefficients?|embeddings?|features?|sizes?|"
    r"numbers?|distances?|products?|sums?|norms?|logits?|temperatures?)\b",
    re.IGNORECASE,
)


_NO_LETTER, _NO_CORE, _CAPITAL = re.compile(r"\W"), re.compile(r"(?:['\u2019]s)?\W*$"), re.compile(r"[A-Z]")


def _without_names(text: str) -> str:
    """The title with each proper name replaced by a noun, but for names that say what an array is."""
    words = text.split()
    letters = (_NO_LETTER.sub("", word) for word in words)
    small = any(len(word) > 3 and word.islower() for word in letters)
    out = []
    for place, word in enumerate(words):
        if word.islower():  # no name
            out.append(word)
            continue
        core = _NO_CORE.sub("", word)
        named = bool(_CAPITAL.search(core[1:])) or (small and place > 0 and core[:1].isupper())
        named = named and not (place + 1 < len(words) and _IS_ARRAY.match(words[place + 1]))
        out.append(word.replace(core, "model") if core and named and not is_topic(core) else word)
    return " ".join(out)
