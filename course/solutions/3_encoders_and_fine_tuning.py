"""Answers to the exercises of notebook 3."""

from __future__ import annotations

import torch
from torch import nn


# %% make_batch
def make_batch(rows, pad_id):
    """Return (ids, mask) of a list of lists of ids: two int64 tensors (B, n); the mask is 1 where a token is real."""
    longest = max(map(len, rows))
    ids = torch.tensor([row + [pad_id] * (longest - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    return ids, mask


# %% mean_of_tokens
def mean_of_tokens(vectors, mask):
    """Return (B, E) of vectors (B, n, E) and a mask (B, n), 1 where a token is real."""
    real = mask.bool()[..., None]
    return torch.where(real, vectors, 0.0).sum(1) / real.sum(1).clamp(min=1)


# %% train
def train(model, num_epochs, train_dataloader, validation_dataloader, device, lr):
    """Train the model in place; after each epoch you may evaluate it."""
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=lr)
    for _ in range(num_epochs):
        model.train()
        for batch in train_dataloader:
            optimizer.zero_grad()
            output = model(**{name: value.to(device) for name, value in batch.items()})
            output.loss.backward()
            optimizer.step()


# %% evaluate_model
def evaluate_model(model, dataloader, device):
    """Return the accuracy, a float."""
    model.eval()
    right = count = 0
    with torch.no_grad():
        for batch in dataloader:
            batch = {name: value.to(device) for name, value in batch.items()}
            logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
            right += int((logits.argmax(-1) == batch["labels"]).sum())
            count += len(batch["labels"])
    return right / count


# %% mask_tokens
def mask_tokens(ids, special, vocab_size, mask_id, seed):
    """Return (inputs, labels), both like ids, (B, n)."""
    draw = torch.Generator().manual_seed(seed)
    chosen = (torch.rand(ids.shape, generator=draw) < 0.15) & ~special
    fate = torch.rand(ids.shape, generator=draw)
    words = torch.randint(vocab_size, ids.shape, generator=draw)
    inputs = torch.where(chosen & (fate < 0.8), mask_id, ids)
    inputs = torch.where(chosen & (fate >= 0.9), words, inputs)
    return inputs, torch.where(chosen, ids, -100)


# %% prompt_numbers
prompt_numbers = "2 d + 2 + P d"

# %% lora_numbers
lora_numbers = "2 d r"

# %% lora_gradient
lora_gradient = r"\sigma X^\top G B^\top"


# %% LoRALinear
class LoRALinear(nn.Module):
    """A linear layer with a low-rank update."""

    def __init__(self, linear, rank, scale):
        super().__init__()
        self.linear, self.scale, self.merged = linear, scale, False
        self.linear.requires_grad_(False)
        weight = linear.weight
        self.lora_A = nn.Parameter(torch.randn(rank, linear.in_features).to(weight) / linear.in_features**0.5)
        self.lora_B = nn.Parameter(torch.zeros(linear.out_features, rank).to(weight))

    def forward(self, x):
        """Return W x + b + s B A x."""
        y = self.linear(x)
        return y if self.merged else y + self.scale * (x @ self.lora_A.T) @ self.lora_B.T

    def merge(self):
        """Add s B A to the weight, once."""
        if not self.merged:
            with torch.no_grad():
                self.linear.weight += self.scale * self.lora_B @ self.lora_A
            self.merged = True
