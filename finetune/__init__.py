"""Small, readable training code, verified by the same engine as the attention kernels.

`finetune` may import `attention_core`; the reverse never happens. What lives here, and the data's way through it:

    text file --data.corpus.read_documents--> lines --data.vocabulary.Vocabulary--> ids (n, L) and lengths (n,)
      --data.span_corruption | data.names--> a *source* of batches {"x": (B, T), "y": (B, T)}, PAD (0) ignored in y
      --train.Trainer--> a model's weights, metrics.jsonl, a checkpoint (safetensors + JSON)
      --evaluate--> one answer a question, exact match, and how sure the model was

* `data.draws`: random numbers as a function of (seed, epoch, example, number), so that no worker count changes them.
* `data.corpus`, `data.vocabulary`: files into documents, questions and ids; one clear line for what is wrong.
* `data.span_corruption` (CS224n's assignment 5, `corrupt` and its inverse `restore`), `data.multi_span` (T5's rule with
  sentinels), `data.masked_lm` (80/10/10): pure functions on batches, arrays in, arrays out, seeded.
* `data.names` (questions with places), `data.world` (a generated world of people, places and biographies).
* `models.gpt.GPT`: a decoder to read in one sitting; attention by name (`vanilla`, `synthesizer`, `rotary`) from
  `attention_core`. `models.mingpt`: checkpoints of minGPT's two shapes. `models.sampling`: greedy, temperature,
  top-k, top-p.
* `models.encoder.Encoder`: BERT, RoBERTa and DistilBERT to read in one sitting. `models.huggingface`: their
  checkpoints, from a folder. `models.classifier`: a classifier (first token, or mean of the real ones) and the tied
  masked-LM head, on our encoder or any AutoModel, and their losses for the trainer. A batch is {"input_ids",
  "attention_mask", "token_type_ids"?, "labels"}, by transformers' names.
* `peft`: head, prompt, prefix, LoRA and bias-only tuning of any of these; files as the library `peft` writes them.
* `data.labelled`, `data.hub`, `data.examples`, `data.splits`: BoolQ, SST-2, Yelp as examples that know their rows.
  `data.texts`, `data.collate`, `data.unlabelled`: into ids, into padded batches, into batches with hidden tokens.
* `classify_config`, `classify_data`, `classify`, `classify_result`: a fine-tuning run from options to result.json, with
  `pretrained` (encoder and tokenizer), `monitor` (dev, the best), `joint` (two losses), `features` (a frozen encoder
  runs once), `scores`, `sealed` (test is read once), `pictures`; `cli_classify`.
* `selection`, `selection_result`, `study`, `locks`, `out_of_memory`: many runs, chosen by dev, shared by processes.
* `memory`, `memory_formula`, `memory_worker`: what a training step holds, and the largest batch.
* `data.tokenize`: byte pairs and WordPiece to read; everything else uses the library `tokenizers`.
* `optimizer`: decay groups by module, warm-up and cosine by tokens. `train_config`: how to train, as numbers.
  `train.Trainer`: knows no model; it is given a model, a loss that returns (sum, tokens) and a source. `checkpoint`:
  all of a run's state, written atomically.
* `evaluate`: greedy answers, accuracy, "not known" from log-probabilities. `recipes`: the source's numbers. `cli`.
* `laws`: span corruption, vocabulary, causal language model, trainer and checkpoint as contracts of the engine.

Every function that a user's file can make fail raises `errors.BadInput` with one line that says what to mend.
"""

from __future__ import annotations

__version__ = "0.1.0"
