r"""Words of prose that may restrict a symbol, open an assumption, or announce a claim.

The tables decide what a reader of documents must not pass over in silence: a word of `PROPERTY` may be a hypothesis,
a word of `ASSUMES` or `CONDITION` opens one, and after the words of `CLAIM` stands a result.
"""

from __future__ import annotations

import re

from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.words.inert import BARE_RELATION, NO_RELATION


def _alternatives(text: str) -> str:
    return "|".join(re.escape(word).replace("_", r"[\s-]+") for word in sorted(text.split(), key=len, reverse=True))


# Words that restrict what a symbol may be, wherever they stand.
_HARD = (
    "symmetric antisymmetric anti-symmetric skew-symmetric skew orthonormal orthogonal orthonormality orthogonality "
    "perpendicular collinear antiparallel unit-norm unit_norm unit_norms unit_length unit_vector unit_vectors "
    "normalized "
    "normalised unnormalized stochastic row-stochastic column-stochastic doubly-stochastic one-hot one_hot "
    "probability_vector probability_vectors probability_distribution probability_distributions simplex sum_to "
    "sums_to "
    "summing_to add_up_to adds_up_to adding_up_to independent independently uncorrelated correlated dependent "
    "exchangeable i.i.d. i.i.d iid "
    "identically_distributed gaussian gaussians normally_distributed normal_distribution standard_normal "
    "standard_normals white_noise uniformly_distributed rademacher mean_zero zero_mean zero-mean mean-zero "
    "unit_variance "
    "centered centred standardized standardised isotropic invertible nonsingular non-singular full_rank "
    "full_column_rank full_row_rank rank-one low-rank positive_definite negative_definite semidefinite semi-definite "
    "semi_definite psd diagonal off-diagonal triangular tridiagonal unitary hermitian idempotent involutory "
    "involution "
    "covariance_matrix gram_matrix kernel_matrix correlation_matrix rotation_matrix permutation_matrix "
    "projection_matrix nilpotent linearly_independent distinct nonzero non-zero nonnegative non-negative "
    "nonpositive non-positive "
    "strictly_positive"
)
# Words that do so where they stand beside a symbol or after a word that assumes.
_SOFT = (
    "parallel regular singular definite spherical permutation rotation reflection circulant toeplitz projector "
    "pairwise "
    "positive negative integer integers integral natural rational irrational binary boolean even odd sorted ordered "
    "non-decreasing nondecreasing non-increasing nonincreasing concavity convexity monotonicity "
    "ascending descending decreasing increasing monotone monotonic monotonically strictly convex concave lipschitz "
    "smooth differentiable continuous bounded saturated square equal equals identical the_same constant "
    "constants commute "
    "commutes commuting normal uniform zero_vector zero vanish vanishes vanishing shared disjoint sparse dense "
    "full_support finite infinite infinitesimal divisible coprime prime independence symmetry invariant bernoulli"
)
_DEGREE = (
    "small large tiny huge negligible approximately roughly nearly almost asymptotically first_order leading_order "
    "neglecting ignoring dropping neglect ignore drop discard limit infinity sufficiently much_larger much_smaller"
)
HARD = compile_quick(rf"(?<![\w-])(?:{_alternatives(_HARD)})(?![\w-])", re.IGNORECASE)
PROPERTY = compile_quick(rf"(?<![\w-])(?:{_alternatives(_HARD + ' ' + _SOFT)})(?![\w-])", re.IGNORECASE)
DEGREE = compile_quick(rf"(?<![\w-])(?:{_alternatives(_DEGREE)})(?![\w-])", re.IGNORECASE)
RANDOM = re.compile(
    r"\b(?:random|gaussians?|normal(?:ly)?|uniform(?:ly)?|i\.i\.d|iid|independen(?:t|ce|tly)|uncorrelated|rademacher|"
    r"bernoulli|drawn|sampled?|distributed|distribution|noise|zero[ -]mean|mean|variance|expectation|law)\b",
    re.IGNORECASE,
)
NOUN = re.compile(
    r"\b(?:matri(?:x|ces)|vectors?|keys?|quer(?:y|ies)|values?|weights?|entr(?:y|ies)|columns?|rows?|variables?|"
    r"samples?|"
    r"noise|numbers?|scalars?|components?|coordinates?|inputs?|outputs?|scores?|logits?|tokens?|embeddings?|"
    r"features?|"
    r"gradients?|bias(?:es)?|parameters?|distributions?|functions?|projections?|factors?|elements?|activations?|"
    r"norms?|"
    r"means?|variances?|labels?|targets?|heads?|probabilit(?:y|ies)|covariances?|sizes?|dimensions?|draws?|them)\b",
    re.IGNORECASE,
)

_LEAD = (
    r"(?:\W*(?:now|next|also|further|furthermore|moreover|finally|first|second|then|so|here|again|in addition|"
    r"additionally|throughout(?: this (?:section|note|document|page|post|article|proof))?|in (?:this|the) "
    r"(?:section|note|document|proof|following|sequel|rest)|in what follows|from (?:now|here) on|henceforth|below|"
    r"for (?:simplicity|convenience|concreteness|brevity|now|the moment|the rest)|without loss of generality|wlog|"
    r"as (?:before|usual|above)|by (?:assumption|hypothesis|construction|definition|design)|and|but|theorem|lemma|"
    r"proposition|corollary|claim|proof|remark|example|exercise|note|setup|setting|notation|assumptions?|"
    r"definition|solution|answer)\b(?:\s+[\dIVX.]+)?(?:\s*\([^()$]*\))?[\s.:,*_]*)*"
)
# Sentences that assume for all that follows in their section.
ASSUMES = re.compile(
    rf"^{_LEAD}\W*(?:(?:we|let us|let's|one|i|you|it is|they|the authors?)\s+)?(?:(?:will|shall|can|may|must|"
    rf"also|further|now|"
    r"again|finally|always|here|henceforth|only|therefore|tacitly|implicitly|first|next|simply|could|might)\s+)*"
    r"(?P<verb>let|assumed?|assumes|assuming|suppose[ds]?|supposing|require[ds]?|consider(?:ed)?|take|fix|"
    r"choose|pick|set|"
    r"put|draw|define|denote|write|given|restrict|impose|postulate|demand|want|say|where|call|initiali[sz]e|"
    r"recall|remember|sample|use|introduce|work with|deal with|have|are given|know)\b(?:\s+(?:that|by|ourselves "
    r"to))?",
    re.IGNORECASE,
)
# Words after which a condition stands, for the statement that they belong to.
CONDITION = re.compile(
    r"\b(?P<word>assuming(?: that)?|provided(?: that)?|providing(?: that)?|supposing(?: that)?|as long as|so long as|"
    r"in (?:the|this|that|our|which) (?:special |particular |simple |simplest |scalar )?cases?(?: that| where| "
    r"of| when)?|"
    r"in case(?: that| of)?|under(?: the)? (?:assumptions?|hypothes[ie]s|conditions?|constraints?)(?: that| "
    r"of)?|under|"
    r"on condition that|subject to|restricted to|such that|if|when|whenever|where|unless|except|for|with|"
    r"given(?: that)?|"
    r"at initiali[sz]ation|at|on the event|since|because|as|once|setting|putting|taking|letting|choosing|let|using|"
    r"while|whose|having|satisfying)\b",
    re.IGNORECASE,
)
# Words after which stands a goal, a question or what is denied, and no hypothesis.
GOAL = compile_quick(
    r"\b(?:claims?|shows?|shown|prove[ns]?|theorem|lemma|proposition|corollary|conjecture|goal|question|is it true|"
    r"false|untrue|wrong|wrongly|mistake|fails?|check|verify|to show|refuse|nobody|contrary|hope|nice if|suffices|"
    r"pretend|want|rather than|instead of|unlike|as opposed to|whereas|hardly|scarcely|rarely|open whether|"
    r"would be)\b",
    re.IGNORECASE,
)
# Words after which stands a result, which is not a hypothesis if it is a relation.
CLAIM = re.compile(
    GOAL.pattern
    + r"|\b(?:see|saw|seen|clearly|obviously|gets?|obtain(?:s|ed)?|finds?|found|thus|therefore|hence|consequently|"
    r"implies|imply|whence|yields?|follows?|easy|easily|conclude[sd]?|results?|compute[sd]?|calculate[sd]?|gives?|"
    r"becomes?|means that|equivalently|evidently|trivially|derive[sd]?|deduce[sd]?|next|turns? out|often|typically|"
    r"usually|sometimes|perhaps|ideally|note|observe|have|has|so(?! long)|then|sees|it holds|in fact|of course|"
    r"in general)\b",
    re.IGNORECASE,
)
ADVICE = (
    (r"orthonormal", r"$A^\top A = I_m$, or $k_i^\top k_j = 0$ for $i \ne j$ and $\|k_i\| = 1$"),
    (r"orthogonal|perpendicular", r"$k_i^\top k_j = 0$ for $i \ne j$"),
    (r"skew|antisymmetric", r"$A^\top = -A$"),
    (r"symmetric|hermitian", r"$A = A^\top$"),
    (r"unit|normali[sz]ed|norm", r"$\|x\| = 1$, or the sum that is 1"),
    (r"one.hot", r"Put $y := (I_n)_{:,c}$ with $c \in \{1, \dots, n\}$"),
    (r"stochastic|probabilit|simplex|sums?\b", r"$p_i \ge 0$ and $\sum_i p_i = 1$"),
    (r"non-?zero", r"$x \ne 0$"),
    (r"non-?negative", r"$x \ge 0$"),
    (r"positive|negative", r"$x > 0$"),
    (r"distinct", r"$x_i \ne x_j$ for $i \ne j$"),
    (r"diagonal", r"$A := \operatorname{diag}(a)$"),
    (r"mean|variance|gaussian|normal|independent|i\.?i\.?d|random|drawn|uncorrelated|centered|centred|white|"
     r"standardi[sz]ed", r"the law, such as $x \sim \mathcal{N}(0, I_d)$, and that the symbols are independent"),
    (r"limit|infinity|asymptotic", r"'% as: n \to \infty' above the display, with \approx"),
    (r"small|large|approx|roughly|nearly|almost|order|neglect|ignor|drop|negligible",
     r"\approx with '% within: ...' or '% as: ...' above the display"),
    (r"definite", r"$A := B B^\top$"),
    (r"invertible|singular|rank", r"what it is used for, such as $A B = I_n$"),
)  # fmt: skip


def advice_for(quote: str) -> str:
    """What to write instead of words that were not read."""
    prose = " ".join(re.split(r"(?<!\\)\$", quote)[::2])
    if bare := BARE_RELATION.search(NO_RELATION.sub(" ", prose)):
        formula = bare.group().strip(" `.,;")
        return f"write it between dollar signs, as in 'Let $x \\in \\mathbb{{R}}^n$ with ${formula}$'"
    for pattern, advice in ADVICE:
        if re.search(pattern, quote, re.IGNORECASE):
            return f"write it with formulas after 'Assume' above the display: {advice}"
    return "write it with formulas after 'Assume' above the display, or above the step as '% assume: ...'"
