"""The closed lists of words and phrases that cannot restrict a value.

A step is REFUTED only if every word around it is on the list of words or was read as a hypothesis: see `leftovers`. A
word belongs there if a sentence made of such words alone leaves every symbol as free as it was. Beside the words, by
kind, stand phrases that restrict nothing though a word of theirs might, and phrases that restrict though no word does.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from attention_core.derivation.quick_patterns import QuickAlternatives, compile_quick


def _split(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that only join, point or ask. They stand here in every form in which they are inert.
PLAIN = _split(
    "a about above above-mentioned accordingly across actually additionally aforementioned after afterwards again "
    "against al algebraic algebraically all alone along already also alternatively although always am among amongst "
    "an analogously analytic analytically and anew another any anyone anything anyway apart apparently arbitrary are "
    "arguably around artificial as at autoregressive available basic basically be beautiful because been before "
    "behind being below beside besides better between bold both bottom brief broadly but by can careful "
    "carefully central certain certainly cf cheap cheaply claimed classical clear clearly clever column-wise "
    "columnwise commonly compact compactly complete completely componentwise computational computationally conceptual "
    "conceptually concise concisely consequently contextual convenient convolutional coordinatewise "
    "correct corresponding correspondingly could course crucial crude current d-dimensional deep delicate desired "
    "despite detail detailed details did difficult direct directly do does doing done down during e.g each earlier "
    "easier easiest easily easy effectively efficient efficiently either elegant elegantly element-wise elementary "
    "elementwise else else's elsewhere end-to-end enough entire entirely entry-wise entrywise eq eqn eqs equivalently "
    "essentially et etc eventually ever every everybody everyone everything evident evidently exactly expensive "
    "explicit explicitly fact facts familiar famous fast faster few fewer fifth fig final finally first firstly "
    "following for formal formally former fortunately fourth from fully fundamental further furthermore general "
    "generally generic given global gradually had hand handy hardly has have having he helpful hence henceforth her "
    "here here's hereafter hereby herein him his hitherto how however human i i-th i.e ibid ideally if ii iii "
    "immediately implicitly important in indeed ingenious initial inner instance instances instead interesting "
    "intermediate into intuitive intuitively involved is it it's italic ith its iv ix j-th jth just k-th key kind "
    "kinds known l-th last lastly later latter layer-wise learnable learned left left-hand left-most lengthy less let "
    "let's lets lhs light like likewise linguistic literally little local loosely luckily m-th main many mathematical "
    "mathematically matrix-valued may maybe me means meanwhile mentioned merely modern moment more moreover most "
    "mostly much multi-dimensional must my n-dimensional n-th namely naturally nearby neat necessary needed neural "
    "new next nice nobody notably now nowadays nth obvious obviously of off often ok okay old on once one's onto "
    "opposed or order ordinary original originally other others otherwise our ours ourselves out outer over overall "
    "partially particular partly per perhaps plainly please popular position-wise possible practical practically "
    "preceding precisely present presumably previous printed q.e.d qed quick quickly quite quoted rarely rather "
    "readily real real-valued really recent recently recurrent relevant remaining remarkable remarkably repeatedly "
    "required resp respective respectively rest resulting rhs right right-hand right-most rightly rigorous rigorously "
    "rough routine row-wise rowwise sadly said sake scarcely sec second secondly seldom semantic separately "
    "sequence-to-sequence several shall she should side-by-side similarly simple simpler simplest simply since slow "
    "slower slowly so so-called some somebody someone something sometimes sooner sort sorts specific state-of-the-art "
    "stated step-by-step step-wise stepwise still straightforward striking strikingly subtle successively such sure "
    "surely surprising surprisingly syntactic t-th technical technically tedious term-by-term terms termwise than "
    "thanks that that's the their theirs them themselves then theoretical theoretically there there's thereafter "
    "thereby therefore therein thereof these they thing things third thirdly this those though thrice through "
    "throughout thus tidy to today together token-wise tomorrow too top toward towards trainable trivially true turn "
    "twice typically ultimately under underlined unfortunately unknown unlike until up upon upper-left us useful "
    "usual usually v vector-valued very vi via view vii viii viz was way ways we weighted well well-known were what "
    "whatever when whence whenever where whereas whereby wherefore wherein whereupon wherever whether which whichever "
    "while who whole wholly whom whose why will with within worse would x xi xii yes yesterday yet you your "
    "yours"
)
# Verbs of an author at work, and of what formulas and programs do; every inflection counts.
VERBS = _split(
    "abbreviate accept account achieve act adapt add address adjoin adopt advise affect aim allow alter amount "
    "announce answer anticipate appeal appear apply argue arise arrange arrive ask assemble assert assess assist "
    "assume attend attribute augment avoid aware back-propagate backpropagate become begin behave believe belong "
    "bother break bring broaden build calculate call capitalise care carry cast cause challenge change check choose "
    "cite claim clarify collect combine come comment compare compile complete compose compute concatenate conceive "
    "concern conclude conduct confirm conjecture consider construct consult contain continue contribute control "
    "convert correspond cost cover create credit criticise criticize cut deal debug decide decode deduce define "
    "deliver demonstrate denote deny depend depict derive describe design desire determine develop devise differ "
    "differentiate digress discuss display dispute distribute divide do document doubt draw drive elaborate elucidate "
    "embed emphasise emphasize employ enable encode encounter encourage end enjoy enlarge ensure entail enter "
    "enumerate envisage equip establish estimate evaluate examine exchange execute exhibit exist expand expect "
    "explain exploit express extend extract face factor factorise factorize fail feed figure fill find finish fit fix "
    "follow form formalise formalize formulate forward found gather generalise generalize generate get give go grade "
    "group guess handle happen help hide highlight hint hold hope illustrate imagine implement imply improve include "
    "index indicate induce inform inherit input inquire insert inspect inspire integrate intend interchange "
    "interleave interpret introduce invent investigate invoke involve isolate iterate join judge justify keep know "
    "label lead learn leave lend let list live look lose lower-case make manipulate map mark matter mean mention "
    "merge mislead misread motivate move multiply name navigate need notate note notice observe obtain occur open "
    "operate optimise optimize organise organize originate output parallelise parallelize parametrise parametrize "
    "participate pass perform permit permute pertain pick place plan plot plug point popularise pose predict prefer "
    "prepare present pretend print proceed process produce prompt propagate propose prove provide publish pull push "
    "put query quote raise re-express re-write reach read rearrange recall recast receive recognise recognize "
    "recommend recompute reconsider record recover recur rederive redo reduce refer refuse regard regroup reindex "
    "relabel relate rely remain remark remember remind remodel reorder rephrase replace report represent reproduce "
    "request research resemble reshape resolve respect rest restate result retrace retrieve return reveal review "
    "revise revisit rework rewrite run save say score search see seek seem select send separate serve set settle "
    "shift show shuffle simplify simulate sketch slice solve specify spell spend split spot stack stand start state "
    "stay stem step store streamline strengthen stress study substitute subtract suffice suggest sum summarise "
    "summarize summon supervise supply surprise survey swap tabulate tackle tailor take talk teach tell term test "
    "think throw tidy toggle tokenise tokenize touch trace track trade train transcribe transform translate transpose "
    "treat trigger trust try tune turn type typeset undergo underlie underline understand unfold unify unpack unroll "
    "unwind update upper-case use utilise utilize vary vectorise vectorize verify view visit visualise visualize wait "
    "walk want warn watch weaken wish wonder work workout worry wrap write yield"
)
# Verbs with forms of their own.
IRREGULAR = _split(
    "arisen arose became began begun bounding brought built came chose chosen dealt done drawn drew ended fed felt "
    "forgot forgotten found gave given gone got gotten held hid hidden kept knew known laid lain led left lent let's "
    "lies lost lying made meant proven put ran read rewritten rewrote said saw seeks seen sent shown sought split "
    "sprung squaring stood stored summand summands summed summing sums taken taught thought told took transposed "
    "understand understands understood undone went written wrote"
)
# Names of things; singular and plural count.
NOUNS = _split(
    "abbreviation ability abstract accelerator account accuracy acknowledgement activations activity adam addend "
    "addition additivity address advantage affair aim algebra algorithm alphabet ambiguity amount analogue analogy "
    "analyses analysis annotation answer appendix application approach architecture argmax argument article aside "
    "aspect assertion assignment associativity assumption attention author axes axis background backpropagation "
    "backward bandwidth baseline batch beginner beginning behavior behaviour belief benchmark benefit bert biases "
    "bibliography bilinearity block blog book bookkeeping bottleneck bound box bracket breakthrough brevity budget "
    "bug bullet byte cache calculation calculus call caller caption category caveat chain chain-rule change channel "
    "chapter character chatbot check checkpoint choice chunk circuit citation claim class classifier clause cnn code "
    "coefficient colleague collection column command comment community company comparison compiler component "
    "composition computation computer concavity concept conclusion concreteness confusion conjecture consequence "
    "construction content context continuity contribution convenience conversation convexity convolution coordinate "
    "corollary corpus correction correctness cost counterexample counterpart course cpu cross-attention cross-term "
    "curiosity cyclicity data dataset decade decision decoder decomposition definition demonstration denominator "
    "depth derivation derivative descent description design detail development device diagram dialogue difference "
    "differentiability differentiation digression dimension discussion display distributivity document domain dot "
    "dot-product doubt drawback dtype effect effort element embedding encoder encoding end engineer entry environment "
    "equation era errata erratum error evaluation evidence example exercise expansion experiment expert explanation "
    "exponent exponential expression extension fact factor factorisation factorization family feature feed-forward "
    "feedback feedforward field figure file fine-tuning finetuning fix footnote foreword form formalism format "
    "formula formulae forward foundation frame framework friend function functional glossary goal gpt gpu gradient "
    "graph group guess guide hardware head heading heads heart height hessian hint history hope hyperparameter "
    "hypotheses hypothesis idea identity implementation implication index indices induction inequality inference "
    "information ingredient inner-product input insight inspection instruction integral integrand integration "
    "interest intermediate internet interpretation introduction intuition inventor issue item iteration jacobian "
    "justification key knowledge label language latency layer learner lecture lemma length lesson letter level "
    "library line linearity lines link list literature llama llm log-sum-exp logarithm logit logits logsumexp look "
    "lora loss lstm machine machinery magnitude manipulation manner map mapping mathematician mathematics maths "
    "matrices matrix matrix-vector matter md meaning member memory message metaphor method mind misunderstanding mlp "
    "model module moment monotonicity moral motivation move multi-head multiplication name nature necessity need "
    "network neuron newcomer notation note notebook notion nuance number numerator object objective observation "
    "occurrence operand operation operator opinion optimisation optimiser optimization optimizer option order "
    "outer-product outline outlook output oversight overview page pair paper paradigm paragraph parameter "
    "parameterisation parameterization parentheses parenthesis part pass passage patch people perceptron perspective "
    "phrase physicist picture piece pitfall pixel place point pointer polynomial position possibility post power "
    "power-rule practice pre-softmax prediction preface preparation presentation pretraining problem procedure process "
    "product product-rule professor program programme project projection prompt proof proposition purpose puzzle qkv "
    "quantity query query-key quotient quotient-rule ratio reader reading rearrangement reason reasoning recap recipe "
    "recurrence recursion reference relation relevance remainder remark remedy remembering reminder reply repository "
    "representation request research researcher residual response result review revolution rewriting rnn roadmap role "
    "row rule run scalar scheme school scientist score search section self-attention sense sentence sequence set sgd "
    "shape share shortcoming shorthand side signal simplicity simplification size sketch slice slip slot softmax "
    "software solution source specification speculation speech stage standpoint start statement step story strategy "
    "structure student study style subject subscript subsection subset substitution subtlety subtraction success sum "
    "summands summary summation superscript supervision surprise survey symbol syntax system table takeaway target "
    "task teacher team tensor term test testing text textbook theorem theory thing throughput time title token tool "
    "topic trade-off tradeoff training transformation transformer translation treatment tree treebank trick truth try "
    "turn tutorial type typo university update usage use user validation value variable variant vector vector-matrix "
    "verification version vertices viewpoint vision vocabulary volume walk warning web website weight weights width "
    "word work workaround worker world year"
)
# Operations: inert in talk ("the norm of $x$ is computed below"), not where they say what a symbol is: see `leftovers`.
OPERATIONS = _split(
    "amount argmax argmin average biggest composition concatenation cos cosine cost covariance denominator depth "
    "derivative determinant deviation difference distance dot-product eigenvalue eigenvector exp expectation "
    "exponential gradient greatest height hessian identity infimum inner-product inverse jacobian largest least "
    "length limit log log-sum-exp logarithm loss magnitude max maximiser maximizer maximum mean median min minimiser "
    "minimizer minimum norm normaliser normalizer numerator part product projection quotient rank ratio reciprocal "
    "root sigmoid sign sin sine smallest softmax softplus sum supremum trace transpose transposed variance volume width"
)
# Words that choose one of several things: what they say of a symbol is a hypothesis.
SUPERLATIVES = _split("biggest greatest highest largest least lowest most smallest")
# Past participles that say how something is, though their verbs tell of work: "with its members swapped".
STATES = _split("exchanged flipped interchanged permuted reversed shuffled swapped")
# Verbs that give a name: "the mean is called $m$".
NAMING = _split("called denoted dubbed labelled named termed written")
# Who a theorem is named after: "by Jensen's inequality" says what was used.
PEOPLE = _split(
    "am-gm bayes bayes' bernoulli's bessel's bonferroni cauchy cauchy's cauchy-schwarz chebyshev chebyshev's cramer "
    "cramer's euler euler's fubini fubini's hoeffding hoeffding's holder holder's hölder hölder's jax jensen jensen's "
    "leibniz leibniz's markov's minkowski minkowski's newton newton's numpy parseval's python pytorch schwarz "
    "stirling stirling's taylor taylor's tensorflow vaswani weyl weyl's young young's"
)
NUMBERS = _split("eight eleven five four hundred million nine one seven six ten thousand three twelve two zero")

# Words of conventions of numbers: even a step without symbols depends on them.
OF_NUMBERS = _split(
    "angles arithmetic base bases bfloat16 binary bit bits clock clocks decimal decimals degree degrees digit digits "
    "division float float16 float32 float64 floating hexadecimal hours integer integers log2 logarithms mod modulo "
    "modulus nearest numeric numerical numerically octal percent percentage percentages point precision round rounded "
    "rounding rounds significant truncated truncation units"
)

# What a number in words may count without saying how many keys or entries there are.
COUNTED = _split(
    "another application applications argument arguments bound bounds case cases claim claims convention "
    "conventions definition definitions derivation direction display displays equation equations example examples "
    "expression expressions fact factor factors facts form forms formula formulae formulas goal goals halves "
    "idea ideas identities identity inequalities inequality lemma lemmas letter letters line lines method methods "
    "more name names observation of other others part parts problem problems proof proofs quantities quantity "
    "question questions reading readings reason reasons relation relations remark remarks result results section "
    "sections side sides statement statements step steps sum sums symbol symbols term terms theorem thing things "
    "time times use uses way ways"
)
# Words before "one" that make it a pronoun.
POINTS = _split("any each every no other that the these this those which")
# Words that open a condition, and what may follow where none is meant: "when we expand", "if needed".
CONDITIONAL = _split("if when whenever while unless provided until")
NO_CONDITION = _split(
    "we one you i written needed necessary possible applicable asked so desired only compared it there this that "
    "computing using expanding taking evaluating differentiating summing applying multiplying dividing comparing "
    "working looking going passing writing computed expanded written evaluated"
)
# What may follow "with" at the start of a sentence, and "for" and "under" after a display.
NO_STATE = _split(
    "respect this these that those help all every any each example instance simplicity convenience brevity which whom"
)
# Words after which a noun stands.
ARTICLES = _split("the a an its our every each no their")
# Verbs that say what a symbol is.
LINKS = _split(
    "are be being belong belongs denote denotes denoting equal equals is lie lies live lives lying stand stands "
    "was were"
)
# Words that may stand between a symbol and what it is.
LINKING = LINKS | _split("a again also an as both by called for here its now stands that the their then to which")
# Words that give a symbol its meaning.
DECLARING = _split("be call calling calls define defining denote denotes denoting introduce let put write writing")
# What may stand between two symbols without relating them for good.
RESULTS = _split("becomes gives implies means minus plus times yields")
# Words that open a clause after which a symbol may have another value.
CHANGING = _split("after at following once up upon without")
# Prepositions of relations in words: "a column of", "lies in", "is between".
PLACES = _split("above below between beyond in inside near of on outside over than under within")
# Prepositions that bound a symbol wherever a formula follows.
BORDERS = _split("above below beyond except inside near outside past than within without")
# Verbs of having.
HAS = _split("has have having take takes taking")
# What a symbol is made of.
MADE_OF = _split(
    "block blocks column columns component components coordinate coordinates element elements entries entry form "
    "forms row rows value values"
)
# Words after the pronoun "one".
AFTER_ONE = _split(
    "again also can could does finds gets has is may might must now obtains only should then thus was will would"
)


@cache
def is_inert(word: str) -> bool:
    """Whether a word cannot restrict a value, whatever its inflection.

    Example:
        >>> [is_inert(word) for word in ("computing", "matrices", "tie", "contraction")]
        [True, True, False, False]
    """
    word = word.lower().replace("\u2019", "'")
    if word in STATES:
        return False
    if word in PLAIN or word in IRREGULAR or word in PEOPLE or word in NOUNS or word in VERBS:
        return True
    if word.endswith("'s") and (word[:-2] in NOUNS or word[:-2] in PLAIN):
        return True
    if any(form in NOUNS for form in _singular(word)) or any(form in VERBS for form in _infinitive(word)):
        return True
    pieces = word.split("-")
    return len(pieces) > 1 and all(piece and is_inert(piece) for piece in pieces)


def is_noun(word: str) -> bool:
    """Whether a word stands on the list of nouns, or needs no inflection."""
    word = word.lower()
    return word in NOUNS or word in PLAIN or word in IRREGULAR or any(form in NOUNS for form in _singular(word))


@lru_cache(maxsize=4096)
def is_operation(word: str) -> bool:
    """Whether a word names an operation."""
    word = word.lower()
    return word in OPERATIONS or any(form in OPERATIONS for form in _singular(word))


def _singular(word: str) -> list[str]:
    out = []
    if word.endswith("s"):
        out.append(word[:-1])
    if word.endswith("es"):
        out.append(word[:-2])
    if word.endswith("ies"):
        out.append(word[:-3] + "y")
    return out


def _infinitive(word: str) -> list[str]:
    out = _singular(word)
    for ending in ("ed", "ing"):
        if word.endswith(ending):
            stem = word[: -len(ending)]
            out += [stem, stem + "e"]
            if len(stem) > 2 and stem[-1] == stem[-2]:
                out.append(stem[:-1])
            if ending == "ed" and stem.endswith("i"):
                out.append(stem[:-1] + "y")
    return out


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
BARE_SIGN = re.compile(r"[\\<>=\u2264\u2265\u2260\u2208\u22a5]")  # one stands in every match of the next
BARE_RELATION = re.compile(
    r"[\w\\^{}()|']*[\w})|'] *(?:\\(?:geq?|leq?|neq?|ge|gt|lt|in|perp|sim|approx|equiv|propto)(?![a-zA-Z])|[<>!]=|"
    r"[\u2264\u2265\u2260\u2208\u22a5]|(?<=\s)[=<>](?=\s)|(?<=\w)=(?=[\w\\-])) *\\?[\w^{}()|-]*"
)


_NUMBER = r"(?:two|three|four|ten|\d+)"
SOFTMAX_OF_ROWS = (
    r"(?:(?:with|where|and) )?(?:the )?softmax (?:(?:is|being|acts?|runs?|works?|taken|applied|computed|normali[sz]es)"
    r" )*(?:row-?wise|(?:on|over|along|across|to|for|in) (?:(?:each|every|the|its|all) )*(?:rows?|keys|last "
    r"(?:axis|dimension)))(?: of \x01\d+\x02)?"
)
_CODE_AND_LINKS = (r"`[^`]*`", r"\]\([^()\s]*\)", r"https?://\S+", r"<[^<>]*>", r"\\[a-zA-Z]+\*?(?:\{[^{}]*\})?")
_HARMLESS = (
    r"without (?:any )?loss of (?:any )?generality",
    SOFTMAX_OF_ROWS,  # as it is read here
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
PHRASES = QuickAlternatives(
    "", (*_CODE_AND_LINKS, *(rf"\b{phrase}(?![\w-])" for phrase in _HARMLESS)), "", re.IGNORECASE
)
_ROLE = r"(?:quer(?:y|ies)|keys?|values|inputs?|outputs?|targets?|predictions?|labels?)"
_AIM = r"(?:show|prove|compute|see|find|know|derive|understand|verify|check|express|write|calculate|simplify|evaluate)"
TOGETHER = QuickAlternatives(
    r"\b",
    (
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
    ),
    r"(?!\w)",
    re.IGNORECASE,
)
# Words that matter where a step is an assignment (`x = x - \eta g`), and those that matter where it has no symbols.
OF_UPDATES = compile_quick(r"\b(?:updat\w*|assign\w*|iterations?|loops?)\b", re.IGNORECASE)
OF_DIGITS = compile_quick(
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
MAY_REFER = re.compile(r"(?<![\x01\d])\d|\d{4}|\[|^\s*\(?[ivx]{1,4}[.)]", re.IGNORECASE)
"""What stands in every match of the next, where a formula is its number between \x01 and \x02."""
REFERENCE = re.compile(
    rf"\b{_PLACE}\.?[ ~]*{_COUNT}(?:(?:,| and| to| or|-)\s*{_COUNT})*|{CITATION}|\(\d{{1,3}}(?:\.\d+)?\)|"
    r"^\s*\(?[\divx]{1,4}[.)]|^\s*\d\d\d, \d[\d.]*(?:\(\w+\))?[ivx]*|\b\d+(?:\.\d+){2,}|\b(?:1[5-9]|20)\d\d\b|"
    r"\b[A-Za-z]+-?\d+\b",
    re.IGNORECASE,
)
