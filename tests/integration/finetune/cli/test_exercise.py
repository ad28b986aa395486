"""`finetune exercise`: a file as an assignment's skeleton is handed in, marked as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from finetune.cli.main import app

HAND_IN = """
import evaluate
import torch


def evaluate_model(model, dataloader, device):
    dev_accuracy = evaluate.load("accuracy")
    model.eval()
    for batch in dataloader:
        output = model(input_ids=batch["input_ids"].to(device), attention_mask=batch["attention_mask"].to(device))
        predictions = torch.argmax(output["logits"], dim=1)
        dev_accuracy.add_batch(predictions=predictions, references=batch["labels"])
    return dev_accuracy.compute()


def train(mymodel, num_epochs, train_dataloader, validation_dataloader, device, lr, model_name):
    optimizer = torch.optim.AdamW(mymodel.parameters(), lr=lr)
    for epoch in range(num_epochs):
        mymodel.train()
        for batch in train_dataloader:
            output = mymodel(batch["input_ids"].to(device), batch["attention_mask"].to(device))
            loss = torch.nn.CrossEntropyLoss()(output.logits, batch["labels"].to(device))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        print(model_name, epoch, evaluate_model(mymodel, validation_dataloader, device))
"""


def exercise(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["exercise", *(str(a) for a in arguments)], catch_exceptions=False)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("hand_in.py").write_text(HAND_IN, encoding="utf-8")
    return Path("hand_in.py")


def test_a_right_file_passes_as_it_stands(path: Path) -> None:
    told = exercise(path, "--arg", "model_name=x")
    assert told.exit_code == 0, told.output
    lines = told.stdout.splitlines()
    assert lines[0] == "finetune exercise: train and evaluate_model of hand_in.py"
    assert len(lines) == 14 and all(line.endswith(": yes") for line in lines[1:-1])
    assert lines[-1].startswith("evaluate: no graph is kept: costs (")


def test_a_mistake_is_named_and_the_status_is_1(path: Path) -> None:
    path.write_text(HAND_IN.replace("            optimizer.zero_grad()\n", ""), encoding="utf-8")
    told = exercise(path, "--arg", "model_name=x")
    assert told.exit_code == 1
    assert (
        "of its own batch: no (step 2: those of all batches so far are added up: optimizer.zero_grad()" in told.stdout
    )


def test_what_a_function_raises_is_said(path: Path) -> None:
    path.write_text(HAND_IN.replace('output["logits"]', 'output["logit"]'), encoding="utf-8")
    told = exercise(path, "--arg", "model_name=x")
    assert told.exit_code == 1
    assert "evaluate_model runs: no (KeyError: 'logit')" in told.stdout


CLASSES = """
import torch
from transformers import BertModel


class BertForSequenceClassification(torch.nn.Module):
    def __init__(self, model_name_or_path, num_labels):
        super().__init__()
        self.bert = BertModel.from_pretrained(model_name_or_path)
        self.dropout = torch.nn.Dropout(self.bert.config.hidden_dropout_prob)
        self.classifier = torch.nn.Linear(self.bert.config.hidden_size, num_labels)

    def forward(self, input_ids=None, attention_mask=None, labels=None):
        logits = self.classifier(self.dropout(self.bert(input_ids, attention_mask)["pooler_output"]))
        if labels is None:
            return logits
        return torch.nn.CrossEntropyLoss()(logits, labels), logits
"""


def test_a_class_is_marked_as_it_stands(path: Path) -> None:
    path.write_text(CLASSES, encoding="utf-8")
    told = exercise(path, "--classifier", "BertForSequenceClassification")
    assert told.exit_code == 0, told.output
    head, *lines = told.stdout.splitlines()
    assert head == "finetune exercise: BertForSequenceClassification of hand_in.py"
    assert len(lines) == 7 and all(line.startswith("BertForSequenceClassification: ") for line in lines)
    path.write_text(CLASSES.replace("self.bert(input_ids, attention_mask)", "self.bert(input_ids)"), encoding="utf-8")
    told = exercise(path, "--classifier", "BertForSequenceClassification", "--joint", "BertForCLSMLM")
    assert told.exit_code == 1
    assert "padding leaves the logits alone: no (they move by " in told.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "what is the parameter 'model_name' of train? give it with --arg model_name=VALUE"),
        (("--arg", "model_name"), "--arg 'model_name': write NAME=VALUE"),
        (
            ("--train", "a", "--evaluate", "b"),
            "hand_in.py has no a and no b: give their names (--help)",
        ),
    ],
)
def test_what_cannot_be_marked_is_one_line(path: Path, arguments: tuple[str, ...], words: str) -> None:
    told = exercise(path, *arguments)
    assert told.exit_code == 2
    assert words in told.stderr and told.stderr.count("\n") == 1
