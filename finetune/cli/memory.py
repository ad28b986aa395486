"""The command line of memory.

`finetune memory` and `finetune largest-batch`: what a step holds, by method, and how much of it fits.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from finetune.cli.classify import FLAGS, METHODS, OPTIONS, add_options
from finetune.cli.options import Finite, check_writable, config_option
from finetune.errors import BadInput

SHARED = (
    "model", "backend", "pool", "max_seq_length", "optimizer", "prompt_length", "rank", "dropout", "device", "threads",
)  # fmt: skip
CHECKPOINTING = "gradient_checkpointing"
MIB = 2**20


def shared_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a run that decide what a step holds."""
    return add_options(command, {name: OPTIONS[name] for name in SHARED}, {CHECKPOINTING: FLAGS[CHECKPOINTING]})


def settings(options: dict[str, Any], method: str) -> tuple[Any, int, Callable[[], Any]]:
    """The run's settings, the number of tokens, and how to get the encoder anew."""
    import torch

    from finetune.classification.config import ClassifyConfig
    from finetune.classification.pretrained import load_pretrained
    from finetune.training.processes import OneProcess

    if options["threads"]:
        torch.set_num_threads(options["threads"])
    OneProcess(options["device"])
    given = {name: options[name] for name in (*SHARED, CHECKPOINTING) if name not in ("max_seq_length", "threads")}
    config = ClassifyConfig(**given, method=method)
    block = load_pretrained(config.model, config.backend).block_size
    n = min(options["max_seq_length"], block - config.prompt_positions)
    if n < 1:
        raise BadInput(f"a {method} of {config.prompt_positions} leaves no room in a model of {block} positions")
    return config, n, lambda: load_pretrained(config.model, config.backend).encoder


@click.command()
@config_option
@click.option("--method", default=",".join(METHODS), show_default=True, help="Methods, separated by commas.")
@click.option("--batch_size", type=click.IntRange(1), default=8, show_default=True, help="Examples in the step.")
@click.option("--output", metavar="FILE", help="A picture of the table: png, svg or pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@shared_options
def memory(method: str, batch_size: int, output: str | None, as_json: bool, **options: Any) -> None:
    """Measure what one training step holds in memory, by method, with torch's profiler and hooks."""
    check_writable(output)
    from finetune.memory.measure import measure_step
    from finetune.pictures import bars, kind_of

    if output is not None:
        kind_of(output)
    steps, lengths = [], dict[str, int]()
    for name in [part.strip() for part in method.split(",") if part.strip()]:
        config, n, make = settings(options, name)
        if not lengths:
            click.echo(f"finetune memory: {method} of {options['model']}, {batch_size} texts", err=True)
        lengths[name] = n
        steps.append(measure_step(make, config, batch_size, n))
    if output is not None:
        parts = {"forward (profiler)": "forward", "saved (hooks)": "saved", "gradients": "gradients"}
        parts |= {"optimizer": "state", "peak (profiler)": "peak"}
        groups = {label: [getattr(step, part) / MIB for step in steps] for label, part in parts.items()}
        bars([step.method for step in steps], groups, output, ylabel="MiB")
    if as_json:
        click.echo(json.dumps([step.to_json() for step in steps], indent=2))
        return
    length = options["max_seq_length"]
    click.echo(f"MiB of one step, {batch_size} texts of {length} tokens; in brackets the formula")
    for name, n in lengths.items():
        if n < length:
            click.echo(f"{name}: texts of {n} tokens, for which the model has room")
    click.echo(f"{'method':8}{'trained':>12}{'saved':>20}{'forward':>10}{'peak':>10}{'gradients':>20}{'optimizer':>20}")
    for step in steps:
        columns = {
            name: f"{getattr(step, name) / MIB:.2f}" + (f" ({step.formula[name] / MIB:.2f})" if step.formula else "")
            for name in ("saved", "gradients", "state")
        }
        click.echo(
            f"{step.method:8}{step.parameters[0]:>12,}{columns['saved']:>20}{step.forward / MIB:>10.2f}"
            f"{step.peak / MIB:>10.2f}{columns['gradients']:>20}{columns['state']:>20}"
        )


@click.command("largest-batch")
@config_option
@click.option("--method", type=click.Choice(METHODS), default="full", show_default=True, help="What is trained.")
@click.option("--start", type=click.IntRange(1), default=32, show_default=True, help="Batch size to try first.")
@click.option("--most", type=click.IntRange(1), default=2**16, show_default=True, help="Largest batch size to try.")
@click.option("--memory_limit", type=Finite(1), metavar="MIB",
              help="MiB of a processor's memory.  [default: what is free]")  # fmt: skip
@shared_options
def largest(method: str, start: int, most: int, memory_limit: float | None, **options: Any) -> None:
    """Find the largest batch that a training step has memory for, by doubling and bisection."""
    from finetune.memory.measure import largest_batch, training_step
    from finetune.memory.worker import StepsElsewhere

    config, n, make = settings(options, method)
    click.echo(f"finetune largest-batch: {method} of {options['model']}, {start} texts first", err=True)
    if _is_cuda(options["device"]):
        found = largest_batch(training_step(make, config, n), start, most, _say_whether_it_fits)
    else:
        with StepsElsewhere(config, n, int((memory_limit or _free()) * MIB), options["threads"]) as steps:
            found = largest_batch(steps.step, start, most, _say_whether_it_fits)
    if not found.size:
        raise BadInput("not even a batch of one text fits")
    click.echo(f"largest batch of {config.method} with {n} tokens: {found.size}")


def _say_whether_it_fits(size: int, reason: str | None) -> None:
    """Print the result of one size as soon as it is there: large ones take minutes."""
    click.echo(f"{size}: {'fits' if reason is None else f'does not fit ({reason[:100]})'}")


def _is_cuda(device: str | None) -> bool:
    import torch

    return torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu")).type == "cuda"


def _free() -> float:
    """MiB that the system could give. Raises: BadInput where it does not say."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    raise BadInput("this system does not say how much memory is free: give --memory_limit")
