"""Laws of training code, as contracts of the engine: what any implementation of a data set or a step must obey.

Like the engine's own laws they share no code with what they judge: nothing here imports `finetune.data` or the trainer.
"""

from __future__ import annotations

from attention_core.conformance.contracts import Contract, parameter_contract


def span_corruption_contract() -> Contract:
    """The contract `span-corruption`: a class `(data: str, block_size: int)` whose items are pairs (x, y)."""
    from finetune.laws.span_corruption import laws as span_corruption
    from finetune.laws.span_corruption import strings

    return parameter_contract(span_corruption, strings.Grader)


def vocabulary_contract() -> Contract:
    """The contract `vocabulary`: a function `(corpus: str, text: str) -> ids`."""
    from finetune.laws.vocabulary import laws as vocabulary

    return parameter_contract(vocabulary, vocabulary.Encoder)


def causal_lm_contract() -> Contract:
    """The contract `causal-lm`: a class `(vocab_size, block_size)` whose instances give logits of ids."""
    from finetune.laws.causal_lm import laws as causal_lm
    from finetune.laws.causal_lm import model

    return parameter_contract(causal_lm, model.Model)


def trainer_contract() -> Contract:
    """The contract `trainer`: `finetune.laws.trainer.probe.make_target(train)` of a training function."""
    from finetune.laws.trainer import drawn_runs as runs_of_training
    from finetune.laws.trainer import laws as trainer

    return parameter_contract(trainer, runs_of_training.Training)


def training_step_contract() -> Contract:
    """The contract `training-step`: `finetune.laws.training_step.step_probe.make_target(step, evaluate)`."""
    from finetune.laws.training_step import laws as training_step
    from finetune.laws.training_step import steps

    return parameter_contract(training_step, steps.Steps)


def peft_contract() -> Contract:
    """The contract `peft`: a class derived from `finetune.laws.peft.adapted.Adapted`, a model with a method in it."""
    from finetune.laws.peft import adapting
    from finetune.laws.peft import laws as peft

    return parameter_contract(peft, adapting.Adapting)


def checkpoint_contract() -> Contract:
    """The contract `checkpoint`: a class `(path, seed, width)` of runs that are saved and go on."""
    from finetune.laws.checkpoint import interrupted
    from finetune.laws.checkpoint import laws as checkpoint

    return parameter_contract(checkpoint, interrupted.Interrupted)


def masked_lm_contract() -> Contract:
    """The contract `masked-lm`: a function `(ids, special, vocab_size, mask_id, seed) -> (inputs, labels)`."""
    from finetune.laws.masked_lm import laws as masked_lm
    from finetune.laws.masked_lm import masking

    return parameter_contract(masked_lm, masking.Masking)


def classifier_contract() -> Contract:
    """The contract `classifier`: a class `(vocab_size, length, classes)` whose instances give logits of texts."""
    from finetune.laws.classifier import classified
    from finetune.laws.classifier import laws as classifier

    return parameter_contract(classifier, classified.Classified)


def head_importance_contract() -> Contract:
    """The contract `head-importance`: `finetune.laws.head_importance.head_probe.make_target(...)` of measures."""
    from finetune.laws.head_importance import laws as head_importance
    from finetune.laws.head_importance import measured

    return parameter_contract(head_importance, measured.Measured)
