"""Why a submission is refused: every rule with its sentence, what to do about it, and where the cheat was published.

A rule is a name in the result; `attention-core grade --rules` prints the table. Whether a rule is kept is seen in the
source (`source.py`), in the process of the submission (`watch.py`, `forbidden.py`), or by the grader alone, from what
comes back and from the system (`measure.py`, `conduct.py`): what the grader sees alone cannot be forged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

METR = "https://metr.org/blog/2025-06-05-recent-reward-hacking/"
WAFER = "https://www.wafer.ai/blog/reward-hacks-field-guide"
DEEP = "https://deep-reinforce.com/defense_kernel_hack.html"
EIGH = "gpu-mode/reference-kernels #162"
BATCHED = "gpu-mode/reference-kernels #104"
PYGPU = "gpu-mode/pygpubench #7"
SIGNED = "gpu-mode/pygpubench #22 and #23"
FILES = "gpu-mode/pygpubench #15"
EVIL = "ScalingIntelligence/KernelBench #82"
ZEROS = "ScalingIntelligence/KernelBench #165"
STATIC = "ScalingIntelligence/KernelBench #110"
WEAK = "flashinfer-ai/flashinfer-bench-starter-kit #21"
LAZY = "ornith-ai/CUDA-L1 #12"
SAKANA = "Sakana AI, The AI CUDA Engineer, note of 21 February 2025"
KEVIN = "Baronio et al. (2025), Kevin, arXiv 2507.11948"
IMPOSSIBLE = "Zhong et al. (2025), ImpossibleBench, arXiv 2510.20270"
MAKORA = "https://makora.com/blog/reward-hacks"


class Refused(Exception):
    """A submission that breaks a rule.

    Args:
        rule: a name of `RULES`.
        message: what was seen, in one line.
    """

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule, self.message = rule, message


@dataclass(frozen=True)
class Rule:
    """A rule.

    Args:
        name: as results have it.
        seen: "source", "process" or "grader": who sees that it is broken.
        sentence: what is refused.
        hint: what to do instead.
        sources: where the cheat was published.
    """

    name: str
    seen: str
    sentence: str
    hint: str
    sources: tuple[str, ...] = ()


RULES: Mapping[str, Rule] = {
    rule.name: rule
    for rule in (
        # --- seen by the grader alone ------------------------------------------------------------------
        Rule("law", "grader", "It breaks a law of attention.", "Run the smallest case and mend what it shows.",
             (ZEROS, KEVIN)),
        Rule("wrong_answer", "grader", "A timed call gave a wrong answer.",
             "Every timed call is judged, on inputs that are new: compute each one.",
             (SAKANA, EIGH, METR, ZEROS)),
        Rule("stale_answer", "grader", "A call gave the answer of an earlier call.",
             "Compute every call: inputs are new in the same memory, and may share rows and sums with those before. A "
             "cache keyed by address, shape or a few numbers is wrong.", (WEAK, EIGH, SAKANA, WAFER)),
        Rule("late_answer", "grader", "An answer was finished after the call had returned.",
             "Wait for threads, streams and futures before returning.", (DEEP, WAFER, EVIL)),
        Rule("nothing_written", "grader", "The answer holds memory that was never written.",
             "Write every element of the output.", (EVIL, SAKANA)),
        Rule("writes_inputs", "grader", "It writes into its inputs.", "Copy what you change.", (EVIL,)),
        Rule("writes_outside", "grader", "It writes outside of the arrays that it was given.",
             "Check the bounds of every store.", (WAFER,)),
        Rule("too_fast", "grader", "It is faster than the products alone can be computed here.",
             "Look for work that is not done.", (EIGH, EVIL, WAFER)),
        Rule("more_processors", "grader", "It computes on more processors than the task allows.",
             "Use as many threads as the task says.", (DEEP,)),
        Rule("leaves_processes", "grader", "It leaves processes running.",
             "End what you start, and wait for it.", (DEEP,)),
        Rule("changes_scheduling", "grader", "It changes priorities or processors of its own or another process.",
             "Leave priorities and processors as they are.", (DEEP, METR)),
        Rule("changes_grader", "grader", "Files of the grader change while it is graded.",
             "Leave files that are not yours alone. If somebody edited them meanwhile (attention-core from its working "
             "tree, or the task), the grade says nothing of the submission: grade it again.", (METR, IMPOSSIBLE)),
        Rule("ends_grader", "grader", "The process that judges it was ended from outside.",
             "Send no signals to other processes.", (METR,)),
        Rule("died", "grader", "Its process ended in a call.", "Return from every call; never exit.", (METR, FILES)),
        Rule("hung", "grader", "A call did not return in time.", "Return from every call within the task's time.",
             (PYGPU,)),
        Rule("raises", "grader", "A timed call raised an exception.", "Support the sizes of the task."),
        Rule("not_a_tensor", "grader", "What a call returns is not a plain tensor.",
             "Return a torch.Tensor that holds its numbers: no subclass, future, coroutine or lazy object.",
             (LAZY, DEEP, EIGH)),
        Rule("wrong_shape", "grader", "The answer has another shape or dtype than it should.",
             "Return the shape and dtype of the contract: nothing is broadcast or cast in the comparison.", (DEEP,)),
        Rule("shares_input", "grader", "The answer shares memory with an input.",
             "Return memory of your own.", (WAFER,)),
        # --- seen in the process -----------------------------------------------------------------------
        Rule("patches_modules", "process", "It replaces functions of Python, NumPy or torch.",
             "Define functions of your own; leave clocks, comparisons and operators as they are.",
             (EIGH, DEEP, METR, WAFER)),
        Rule("traces", "process", "It traces or audits the interpreter.", "Remove the trace function.", (METR,)),
        Rule("forbidden_operator", "process", "It calls an operator that the task forbids.",
             "Compute it yourself.", (STATIC, WAFER, MAKORA, KEVIN)),
        Rule("threads", "process", "It changes the number of torch's threads.",
             "Leave the number of threads as it is.", (DEEP,)),
        # --- seen in the source ------------------------------------------------------------------------
        Rule("frames", "source", "It looks into the frames of its callers.",
             "Compute from the arguments alone.", (METR, SIGNED)),
        Rule("searches_memory", "source", "It searches the memory of its process.",
             "Compute from the arguments alone.", (PYGPU, SIGNED)),
        Rule("ends_process", "source", "It ends processes, or runs code at their end.",
             "Return from every call; register nothing at exit.", (FILES, PYGPU)),
        Rule("imports_grader", "source", "It imports the grader.", "Import torch, NumPy and your own files.",
             (STATIC, METR)),
        Rule("tensor_subclass", "source", "It defines tensors of its own, or operators of comparison.",
             "Return plain tensors.", (LAZY, EIGH, IMPOSSIBLE)),
        Rule("fallback", "source", "It falls back to the library where its own code raises.",
             "Let errors show.", (STATIC, KEVIN)),
        Rule("hidden_code", "source", "It runs code that its source does not show.",
             "Write the code out: no exec, eval, marshal or pickle.", (MAKORA,)),
        Rule("benchmark_check", "source", "It asks who calls it, or in which benchmark it runs.",
             "Do the same for every caller.", (PYGPU, IMPOSSIBLE)),
        Rule("seeds", "source", "It seeds the random numbers of the process.",
             "Use a torch.Generator of your own where you need one.", (METR,)),
    )
}  # fmt: skip
