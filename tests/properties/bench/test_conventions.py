"""Words of benchmarks.

What the suite says of a target in options of `verify` is said by `bench` as it is written there, and the other way.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from attention_core.bench.conventions import conventions, in_bench_words, verify_words
from attention_core.bench.targets import load, read_target
from attention_core.declaration.implementation import TargetError

KERNELS = """
class Attention:
    def __call__(self, query, key, value):
        return query

def two(query, key):
    return query

def wants(query, key, value, window, power=1):
    return query

number = 3
"""


@pytest.mark.parametrize(
    ("said", "here"),
    [
        ("k is a class: give --factory if calling it", "k is a class: give k@factory=true if calling it"),
        ("(for another contract use --contract NAME)", "(for another contract use k@contract=NAME)"),
        ("without a default: give --arg w=VALUE", "without a default: give k@arguments=w=VALUE"),
        ("--factory: the target is not callable", "k@factory=true: the target is not callable"),
        ("declare --no-gradients, in Python gradients=False", "declare k@gradients=false, in Python gradients=False"),
        ("give --array numpy (in Python array='numpy')", "give k@array=numpy"),
        ("--mask-true does not apply to the contract heads", "@mask_true does not apply to the contract heads"),
        ("declare --returns out,weights or --returns out,lse", "declare k@returns=out,weights or k@returns=out,lse"),
        ("or declare it with --known-failures", "or declare it with --known-failures"),
        ("--device cuda cannot be used here", "--device cuda cannot be used here"),
        ("a--factory-like name, --factory-like", "a--factory-like name, --factory-like"),
    ],
)
def test_options_of_the_suite_are_said_as_they_are_written_here(said: str, here: str) -> None:
    assert in_bench_words(said, "k") == here


def test_one_convention_stands_beside_another() -> None:
    assert in_bench_words("give --factory", "k@layout=bnhd") == "give k@layout=bnhd,factory=true"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("k.py:f", "k.py:f"),
        ("k.py:f@dead_rows=nan,gradients=false,factory=true", "k.py:f --dead-rows nan --no-gradients --factory"),
        ("k.py:f@returns=out,weights,layout=bnhd", "k.py:f --returns out,weights --layout bnhd"),
        ("k.py:f@arguments=w=3,arguments=u=(1,2)", "k.py:f --arg w=3 --arg 'u=(1,2)'"),
        ("k.py:f@dtypes=float64,sizes=d % 8 == 0", "k.py:f --dtype float64 --sizes 'd % 8 == 0'"),
    ],
)
def test_a_kernel_as_verify_takes_it(name: str, words: str) -> None:
    assert verify_words(name) == words


def test_a_value_may_have_commas() -> None:
    assert conventions("k@returns=out,weights,layout=bnhd") == [("returns", "out,weights"), ("layout", "bnhd")]
    assert read_target("k.py:f@arguments=a=(1,2),arguments=b=x").implementation.arguments == {"a": (1, 2), "b": "x"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Attention", "Attention is a class: give {k}:Attention@factory=true if calling"),
        ("two", "(for another contract use {k}:two@contract=NAME)"),
        ("wants@layout=bnhd", "give {k}:wants@layout=bnhd,arguments=window=VALUE"),
        ("number@factory=true", "factory=true: the target is not callable"),
    ],
)
def test_a_kernel_that_cannot_be_loaded_is_told_how_to_name_it(tmp_path: Path, name: str, words: str) -> None:
    path = tmp_path / "k.py"
    path.write_text(KERNELS)
    with pytest.raises(TargetError) as found:
        load(read_target(f"{path}:{name}"))
    assert words.format(k=path) in str(found.value)
    assert " --" not in str(found.value)


def test_what_the_suite_asks_for_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(KERNELS)
    for name in ("wants@arguments=window=3", "Attention@factory=true"):
        assert load(read_target(f"{path}:{name}"))[1].claims == frozenset()
