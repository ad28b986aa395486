"""A corpus, questions, settings and the list of files of the birthplaces assignment (source 003), tiny."""

from __future__ import annotations

CORPUS = "Ada Byron. Ada Byron was born in London.\nAl Khwarizmi. He was born in Khiva?\nEmmy Noether, from Erlangen.\nWhere?\n"
NAMES = "Where was Ada Byron born?\tLondon\nWhere was Al born?\tKhiva\n"
TINY = """n_layer = 1
n_head = 2
n_embd = 16
block_size = 48
threads = 1
device = "cpu"
[pretrain]
epochs = 1
[finetune]
epochs = 1
"""
FILES = [
    "synthesizer.finetune.params", "synthesizer.pretrain.dev.predictions", "synthesizer.pretrain.test.predictions",
    "vanilla.finetune.params", "vanilla.model.params", "vanilla.nopretrain.dev.predictions",
    "vanilla.nopretrain.test.predictions", "vanilla.pretrain.dev.predictions", "vanilla.pretrain.test.predictions",
]  # fmt: skip
"""What is handed in, as source 003 lists it."""
