"""Prompting: a language model answers requests, and its answers are counted.

Path of the data: examples -> template and demonstrations -> requests -> ask (store, server or local model) -> answers
-> labels -> accuracy with interval. Nothing here imports torch or a client before a request is really sent.
"""

from __future__ import annotations

from finetune.prompting.answers import AnswerStore
from finetune.prompting.ask import Replies, ask
from finetune.prompting.evaluate import Result, Setting, evaluate
from finetune.prompting.request import Answer, Controls, Model, Request, Unanswered
from finetune.prompting.template import Template, parse_label

__all__ = [
    "Answer", "AnswerStore", "Controls", "Model", "Replies", "Request", "Result", "Setting", "Template", "Unanswered",
    "ask", "evaluate", "parse_label",
]  # fmt: skip
