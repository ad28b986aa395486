"""Sentences without formulas that conclude: "The Hessian is a covariance matrix, hence positive semidefinite."."""

from __future__ import annotations

import re
from functools import lru_cache

from attention_core.derivation.words.vocabulary import CONDITION

_CONCLUDES = r"(?:hence|thus|therefore|consequently|so)"
_ARGUED = re.compile(
    r"^\W*(?:the|its|this|our)\s+(?:second\s+)?(?P<what>hessian|jacobian|gradient|derivative)s?\s+"
    r"(?:of\s+the\s+(?:loss|function|softmax|objective|cross-entropy)\s+)?(?:is|are|has|have|equals?)\s+[^$.;:]*?"
    rf"(?:,\s*(?:and\s+)?|\s+and\s+){_CONCLUDES}\s+(?:(?:it|they)\s+(?:is|are|has|have)\s+)?[^$.;:]+$",
    re.IGNORECASE,
)
_JOINTS = re.compile(rf"\b(?:{_CONCLUDES}|for|with|as|at)\b", re.IGNORECASE)
MAX_SENTENCE = 400  # characters


@lru_cache(maxsize=1024)
def argued_derivative(prose: str) -> str:
    """The derivative that a sentence without formulas draws a conclusion about, '' of any other sentence.

    A derivative of what is defined has no freedom of its own, and "hence" says that what follows is concluded.

    Args:
        prose: The words of the sentence.

    Example:
        >>> argued_derivative("The Hessian is a covariance matrix, hence positive semidefinite.")
        'Hessian'
        >>> argued_derivative("The Hessian is positive semidefinite.")
        ''
    """
    if len(prose) > MAX_SENTENCE:
        return ""
    found = None if CONDITION.search(_JOINTS.sub(" ", prose)) else _ARGUED.match(prose.strip(" .!"))
    return "" if found is None else found["what"]
