"""Small, readable training code, verified by the same engine as the attention kernels.

`finetune` may import `attention_core`; the reverse never happens. The way of the data of a character model:

    text file --data.corpus--> documents --data.vocabulary--> ids (n, L) and lengths (n,)
      --data.span_corruption, data.names--> a *source* of batches {"x": (B, T), "y": (B, T)}, PAD (0) ignored in y
      --training.train--> weights, metrics.jsonl, a checkpoint (safetensors and JSON)
      --characters.evaluate--> one answer a question, exact match, and how sure the model was

Rooms:

* `data`: files into documents, questions, labelled examples, ids and batches. `data.draws` makes random numbers a
  function of (seed, epoch, example, number), so that no worker count changes them. `data.span_corruption` (CS224n's
  assignment 5), `data.multi_span` (T5), `data.masked_lm` (80/10/10) are pure functions on batches.
* `models`: `models.gpt` and `models.encoder`, each to read in one sitting. `models.mingpt` and `models.huggingface`
  read their checkpoints; `models.classifier` has the heads and the losses; `models.sampling` goes on with a text.
* `training`: `training.train` knows no model; it is given a model, a loss that returns (sum, tokens) and a source.
  `training.optimizer`, `training.config`, and `training.checkpoint`, which writes all of a run's state atomically.
* `peft`: head, prompt, prefix, LoRA and bias-only tuning of any of these; files as the library `peft` writes them.
* `characters`: recipes and evaluation of character models. `classification`: a fine-tuning run from options to
  result.json; test is read once (`classification.sealed_test_set`). `selection`: many runs, chosen by dev.
* `memory`: what a training step holds, and the largest batch.
* `prompting`: a language model behind a server or in this process, few-shot classification, and a store of answers.
  `standardise`: free-text labels into given sectors.
* `experiments`: variants of attention in a tiny GPT, paired by seed; intervals, and conclusions drawn by a rule.
* `laws`: nine contracts of training code for the engine. `faults`: wrong code that they must refute.
* `cli`: the command `finetune`.

Every function that a user's file can make fail raises `errors.BadInput` with one line that says what to mend.
"""

from __future__ import annotations

__version__ = "1.0.0rc1"
