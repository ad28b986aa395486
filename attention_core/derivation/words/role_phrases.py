r"""Noun phrases that say what a symbol stands for in a model or in nature, and nothing of its values.

"The learnable parameters", "the input token at position $t$", "the velocity": their words come from closed lists. A
noun is on the list of those that restrict nothing (`FREE`) if a thing of this name may have any value of its shape. A
noun that compares its symbol with another one is on none of them (the mean, the gradient, an entry, the inverse, a
solution). Sizes, rates and labels have values of a kind: see `is_kind_of_value`.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from attention_core.derivation.words.inert import NOUNS


def _alternatives(text: str) -> str:
    words = {word.replace("_", r"[\s-]") for word in text.split()}
    return "|".join(sorted(words, key=len, reverse=True))


_ADJECTIVES = frozenset(
    """
    learnable trainable learned learnt trained tunable adjustable free neural input output hidden internal current
    previous next new old initial final original given unknown known observed true actual additional
    optional corresponding respective overall global local external query key positional explanatory underlying raw
    generated incoming outgoing unnormalized candidate pretraining pre-training finetuning fine-tuning weighting mixing
    blending interpolation regularization regularisation penalty diffusion learning noise time spatial temporal physical
    visual textual semantic contextual linguistic economic numerical tuning smoothing damping coupling clipping
    individual total so-called usual associated particular certain single scalar-valued
    vector-valued real real-valued continuous-valued first second third last left right upper lower
    """.split()  # noqa: SIM905
)
_NO_MODIFIER = frozenset(
    """
    one two zero half mask copy identity unit whole difference inverse opposite equality equation inequality
    orthogonality symmetry solution optimum projection mean average median maximum minimum norm limit
    """.split()  # noqa: SIM905
)
"""Nouns of `inert` that say something of a value in front of another noun: "the unit input"."""
_FREE = _alternatives(
    "inputs? quer(?:y|ies) keys? values? tokens? embeddings? parameters? hyper-?parameters? coefficients? "
    "features? states? actions? observations? data data_?points? examples? instances? variables? constants? angles? "
    "positions? locations? coordinates? points? nodes? words? documents? images? pixels? users? items? signals? "
    "logits? activations? units? neurons? prompts? responses? completions? messages? intercepts? offsets? "
    "shifts? terms? covariates? predictors? regressors? bias(?:es)? gains? "
    "weights_and_biases bias_terms? bias_parameters? feature_maps? hidden_states? cell_states? hidden_units? hidden_"
    "representations? representations? memory contexts? contents? inputs_and_outputs (?:model|network|learnable|"
    "trainable|learned|layer|regression|linear)_weights weights_of_the_(?:model|network|layer)"
)
_FREE_ARRAYS = _alternatives(
    "(?:weight|bias|parameter|feature|input|query|key|value|embedding|data|hidden_state|state|design|coefficient|"
    "observation|control|context|token|word|positional_encoding|position|memory|response|target)[\\s-](?:vector|"
    "matri|matric)(?:s|x|es)? (?:(?:learned|learnable|linear|query|key|value|output|input|up|down)[\\s,-]+(?:and\\s+)?)"
    "+projection(?:_(?:weight_)?matri(?:x|ces)|s|_weights)?"
)
_INDEXED = _alternatives(
    "class sample example layer head token position time(?:_?step)? step iteration index neuron unit node user item "
    "document word expert chunk block group component cluster data_?point epoch round location channel state action "
    "feature dimension category task agent instance observation input query key image pixel row_block"
)
_THINGS = _alternatives(
    "(?:neural_)?networks? models? layers? encoder decoder polic(?:y|ies) environment system data_?sets? training_set "
    "(?:mini-?)?batch sequence vocabulary document image user language_model algorithm optimi[sz]er agent sentence "
    "word token input corpus attention_(?:head|layer|mechanism) classifier regression linear_(?:model|layer|map) "
    "(?:fully_connected|hidden|output|input|first|second|last|linear|convolutional)_layer mlp transformer rnn lstm cnn "
    "gan vae problem task experiment population problem"
)
_COUNTED = _alternatives(
    "samples examples observations data_?points points tokens heads attention_heads layers keys queries classes "
    "parameters features words steps experts documents users items nodes neurons units dimensions components clusters "
    "groups topics categories states actions particles trials iterations epochs time_?steps rows columns variables "
    "predictors covariates inputs outputs channels blocks chunks pixels patches batches tasks agents players students "
    "people individuals subjects patients sequences sentences images filters kernels gaussians functions instances "
    "hidden_units basis_functions training_examples training_samples input_features output_features models terms"
)
_RATED = _alternatives(
    "learning_rates? step_?sizes? discount_factors? temperatures? regulari[sz]ation_(?:strength|parameter|coefficient|"
    "constant|factor)s? momentum momentum_(?:parameter|coefficient|term) decay_(?:rate|factor)s? dropout_(?:rate|"
    "probability) thresholds? tolerance margin bandwidth standard_deviations? variances? noise_levels? smoothing_"
    "(?:factor|parameter) scal(?:e|ing)_(?:factor|parameter)s? mixing_(?:coefficient|proportion|weight)s? "
    "loss_(?:weight|coefficient)s? weight_decay(?:_(?:coefficient|parameter))? clipping_(?:threshold|parameter) "
    "penalty_(?:weight|coefficient|parameter) signal_variance length_?scales? lengthscales? prices? mass(?:es)?"
)
_LABELLED = _alternatives(
    "labels? targets? class(?:es)? class_(?:label|index|indices|target)s? categor(?:y|ies) "
    "ground[-_]truths?(?:_labels?)? "
    "target_(?:value|output|token|class|word)s? (?:correct|true|predicted|desired)_(?:class|label|token|output|word|"
    "value)s? indicators? index indices"
)
_SIZES = (
    r"(?:(?:total\s+)?numbers?\s+of\s+(?:(?:training|test|input|output|hidden|attention|model|possible|different|data)\s+)?"
    rf"(?:{_COUNTED})"
    r"|(?:(?:hidden|embedding|model|feature|key|query|value|head|input|output|latent|vocabulary|batch|mini-?batch|"
    r"sequence|context|window|sample|data\s?set|training\s+set|kernel|filter|patch|block|chunk|group|state|hidden\s+"
    r"state|hidden\s+layer|total)[\s-]+)*(?:dimension(?:ality)?s?|sizes?|lengths?|widths?|depths?|heights?))"
)
_DETERMINER = r"(?:(?:the|an?|our|its|their|some|this|both|two|these|one|simply|just|set\s+of|vector\s+of)\s+)*"
_F = r"\x00\d+\x00"
_TH = rf"(?:(?:{_F}\s*-?\s*(?:th|st|nd|rd)|{_F}(?=\s)|[ijklmnt]\s*-?\s*th)\s+)?"
_MODIFIERS = r"(?P<modifiers>(?:[a-z]+[\s-]+)*?)"
_PLACE = (
    r"(?:\s+(?:of|for|in|at|from|to|on|per|by|within|inside)\s+(?:(?:the|an?|our|its|each|every|any|all|this|that)\s+)*"
    rf"(?:(?:input|output|hidden|training|current|previous|next|first|second|last|neural)[\s-]+)*(?:{_TH}(?:{_INDEXED})s?"
    rf"(?:\s+(?:{_F}|(?-i:[b-zA-Z](?:_[a-z])?)(?![\w-]))(?:\s+and\s+(?:(?:{_INDEXED})\s+)?{_F})?)?|(?:{_THINGS})|(?:{_COUNTED})))"
)
_THAT = (
    r"(?:\s+(?:to\s+be\s+(?:learn(?:ed|t)|optimi[sz]ed|estimated|trained|determined|fitted)|(?:that|which)\s+(?:is|are|"
    r"will\s+be|can\s+be)\s+(?:learn(?:ed|t)|learnable|trained|updated|optimi[sz]ed)|(?:that\s+)?we\s+(?:want|wish|try|"
    r"aim)\s+to\s+(?:learn|optimi[sz]e|estimate|find|fit)|learn(?:ed|t)\s+(?:during|in)\s+training))?"
)
_JOINTS = re.compile(rf"\s*,\s*(?:and\s+)?|\s+and\s+(?!(?:(?:{_INDEXED})\s+)?{_F})", re.IGNORECASE)
_RESPECTIVELY = re.compile(r"\s*,?\s*respectively$", re.IGNORECASE)


@cache
def _compile(nouns: str) -> re.Pattern[str]:
    """Compile the pattern of a noun phrase when it is first needed."""
    return re.compile(rf"{_DETERMINER}{_TH}{_MODIFIERS}(?P<head>{nouns})(?:{_PLACE})*{_THAT}", re.IGNORECASE)


def _is_modifier(word: str) -> bool:
    """Whether a word says nothing of values in front of a noun."""
    word = word.lower()
    return word in _ADJECTIVES or (word in NOUNS and word not in _NO_MODIFIER)


def _modify(text: str) -> bool:
    """Whether all words of a text do, or the parts of these."""
    return all(_is_modifier(word) or all(map(_is_modifier, word.split("-"))) for word in text.strip(" -").split())


def _is_phrase(phrase: str, nouns: str) -> bool:
    """Whether a phrase is one noun phrase, or several that are joined, with nouns of a kind."""
    *others, last = _JOINTS.split(_RESPECTIVELY.sub("", phrase.strip()))
    found = _compile(nouns).fullmatch(last)
    if found is None or not _modify(found["modifiers"]):
        return False
    for one in others:
        found = _compile(nouns).fullmatch(one)
        bare = re.sub(rf"^{_DETERMINER}", "", one, flags=re.IGNORECASE)
        if not (_modify(bare) if found is None else _modify(found["modifiers"])):
            return False
    return True


KEPT_PHRASES = 2048
"""How many phrases are kept with their answers."""


_KINDS = (
    ("free", _FREE),
    ("array", rf"{_FREE}|{_FREE_ARRAYS}"),
    ("rate", rf"{_RATED}|{_FREE}"),
    ("size", rf"{_SIZES}|{_FREE}"),
    ("label", rf"{_LABELLED}|{_FREE}"),
    ("mixed", rf"{_SIZES}|{_RATED}|{_LABELLED}|{_FREE}"),
)


@lru_cache(maxsize=KEPT_PHRASES)
def kind_of_role(phrase: str) -> str:
    r"""Say of which kind the values of a thing are that a phrase names.

    Args:
        phrase: The noun phrase, with its formulas masked.

    Returns:
        "free" if it may have any value of its shape, "array" if so and it is an array, "size", "rate" or "label" where
        its values are of such a kind, "mixed" of several things, and "" where it may say more.

    Example:
        >>> [kind_of_role(one) for one in ("the learnable parameters", "the weight matrix", "the number of tokens")]
        ['free', 'array', 'size']
        >>> [kind_of_role(one) for one in ("the input at time \x000\x00", "the true class", "the mean")]
        ['free', 'label', '']
    """
    if phrase.strip().lower() == "constant":
        return ""  # "$x$ is constant"
    return next((kind for kind, nouns in _KINDS if _is_phrase(phrase, nouns)), "")
