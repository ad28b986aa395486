"""From words to the record.

Options are data: numbers, literals and a small arithmetic of sizes. Nothing that is written there runs as code.
Bad options are data too: (text, words of the error).
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from attention_core.declaration.features import FEATURES
from attention_core.declaration.implementation import CHOICES, CLAIMS, Implementation, TargetError
from attention_core.declaration.options import (
    APPLIES,
    DECLARED,
    FLAGS,
    HELP,
    PARAMETERS,
    as_flag,
    assignment,
    check_applies,
    choices,
    fields_from_text,
)
from attention_core.declaration.sizes import SizeCondition
from attention_core.registry.load import implementation_for

SIZES = (5, 7, 16, 16, 4, 2)  # n_q, n_kv, d, d_v, H, H_kv

CONDITIONS = [
    ("d % 8 == 0", True),
    ("d % 8 == 0 and n_q > n_kv", False),
    ("d == 3 or n_q < n_kv", True),
    ("not d == 16", False),
    ("1 < n_q < n_kv <= 7", True),
    ("7 < n_q < n_kv", False),
    ("d in (16, 32, 64)", True),
    ("d not in (16, 32)", False),
    ("H // H_kv == 2 and H % H_kv == 0", True),
    ("n_q + n_kv - 2 * H == d // 4", True),
    ("-n_q < 0", True),
    ("d != d_v", False),
    ("n_kv >= 7", True),
    ("True", True),
    ("0", False),
    ("d // (n_q - 5) == 1", False),  # divides by zero at these sizes: they are not among those it names
]


@pytest.mark.parametrize(("text", "expected"), CONDITIONS)
def test_conditions_over_sizes(text: str, expected: bool) -> None:
    condition = SizeCondition(text)
    assert condition(*SIZES) is expected
    assert condition.text == text


DANGEROUS = [
    "__import__('os').system('true')",
    "().__class__.__bases__",
    "d.real",
    "d ** d ** d ** d",
    "9 ** 9 ** 9 ** 9",
    "1 << 10 ** 10",
    "(1, 2) * 999999999",
    "d in (1,) * 9999999999",
    "[x for x in (1, 2)]",
    "lambda: 1",
    "(d := 3)",
    "eval('1')",
    "open('/etc/passwd')",
    "'d' == 'd'",
    "f'{d}'",
    "d if d else d",
    "d / 2 == 1",
    "d is 3",
    "d[0]",
    "x == 3",
    "print",
    "1.5 < d",
    "~d",
    "d & 1",
    "d in 8",
    "(1, 2) < 3",
    "3 > d in 8",
    "d == 1; d == 2",
    "d = 3",
    "",
    "d ==",
    "\x00",
    "not " * 5000 + "d",
    "(" * 500 + "d" + ")" * 500,
    "-" * 100_000 + "d",
]


@pytest.mark.parametrize("text", DANGEROUS, ids=lambda text: text[:30])
def test_everything_else_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(TargetError, match="is not understood") as caught:
        SizeCondition(text)
    line = str(caught.value)
    assert len(line.splitlines()) == 1
    assert len(line) < 400


def test_division_by_zero_is_told() -> None:
    with pytest.raises(TargetError, match="divides by zero"):
        SizeCondition("d % 0 == 1")


LITERALS = [
    ("window=3", ("window", 3)),
    ("x=-1.5", ("x", -1.5)),
    ("x=(3, 0)", ("x", (3, 0))),
    ("x=[1, 'a']", ("x", [1, "a"])),
    ("x={'a': 1}", ("x", {"a": 1})),
    ("x=None", ("x", None)),
    ("x=True", ("x", True)),
    ("x='3'", ("x", "3")),
    ("x=word", ("x", "word")),
    ("x=a=b", ("x", "a=b")),
    ("x=", ("x", "")),
    ("x=__import__('os')", ("x", "__import__('os')")),  # a word like any other
    ("x=2**99", ("x", "2**99")),
]


@pytest.mark.parametrize(("text", "expected"), LITERALS)
def test_arguments_are_literals_or_words(text: str, expected: tuple[str, Any]) -> None:
    found = assignment(text)
    assert found == expected
    assert type(found[1]) is type(expected[1])


@pytest.mark.parametrize("text", ["window", "=3", "3x=1", "a b=1", "a.b=1", "x={1, 2}", "x=b'bytes'", "x=1j", "x=..."])
def test_bad_arguments_say_how_to_write_them(text: str) -> None:
    with pytest.raises(TargetError, match=re.escape(f"--arg {text!r}: write ")):
        assignment(text)


def test_fields_of_the_record() -> None:
    found = fields_from_text({
        "name": None, "layout": "bnhd", "dtypes": ("float32,bfloat16", "float64"), "claims": "scale, is_causal",
        "sizes": "d == 8", "arguments": ("a=1", "b=x"), "parameters": (), "deterministic": "Yes", "gradients": False,
    })  # fmt: skip
    assert found.pop("sizes")(1, 1, 8, 8, 1, 1)
    assert found == {
        "layout": "bnhd", "dtypes": ("float32", "bfloat16", "float64"), "claims": ("scale", "is_causal"),
        "arguments": {"a": 1, "b": "x"}, "deterministic": True, "gradients": False,
    }  # fmt: skip
    assert fields_from_text({"claims": ""}) == {"claims": ()}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"lay": "bnhd"}, "no field 'lay'; there are: name, contract"),
        ({"gradients": "maybe"}, "gradients='maybe': write true or false"),
        ({"arguments": ("x",)}, "--arg 'x': write NAME=VALUE"),
        ({"parameters": ("x",)}, "--parameter 'x': write NAME=VALUE"),
        ({"sizes": "d."}, "sizes='d.' is not understood"),
    ],
)
def test_bad_fields_end_in_one_line(given: dict[str, Any], words: str) -> None:
    with pytest.raises(TargetError, match=re.escape(words)):
        fields_from_text(given)


def test_a_size_that_is_none_is_named() -> None:
    with pytest.raises(
        TargetError, match=re.escape("no size is called 'x'): write a condition over n_q, n_kv, d, d_v, H, H_kv")
    ):
        SizeCondition("x == 1")


UNFIT: list[tuple[str, dict[str, Any], str]] = [
    ("attention", {"parameters": {"kind": "causal"}}, "--kind does not apply to the contract attention, but to --contract mask-builder"),
    ("attention", {"parameters": {"pairing": "half"}}, "--pairing does not apply to the contract attention, but to --contract rotary"),
    ("rotary", {"parameters": {"bas": 3}}, "--parameter bas does not apply to the contract rotary, which knows: pairing, base, positions"),
    ("heads", {"parameters": {"base": 3}}, "--parameter base does not apply to the contract heads, but to --contract rotary, position-table"),
    ("heads", {"dead_rows": "nan"}, "--dead-rows does not apply to the contract heads, but to: attention, attention-lse"),
    ("rotary", {"claims": ()}, "--claims does not apply to the contract rotary, but to: attention, attention-lse"),
    ("bias", {"mask_gradient": False}, "--mask-gradient does not apply to the contract bias, but to: attention, attention-lse"),
    ("kv-cache", {"factory": True}, "--factory does not apply to the contract kv-cache (its target is the factory itself), but to: "),
]  # fmt: skip


@pytest.mark.parametrize(("contract", "fields", "words"), UNFIT)
def test_options_of_other_contracts_are_refused(contract: str, fields: dict[str, Any], words: str) -> None:
    with pytest.raises(TargetError, match=re.escape(words)):
        implementation_for("some.module:f", {"contract": contract, **fields})


def test_every_contract_says_what_applies() -> None:
    from attention_core.conformance.contracts import built_in
    from attention_core.registry.table import KERNELS

    assert set(APPLIES) == set(PARAMETERS) == set(built_in())
    for contract in APPLIES:
        everything = dict.fromkeys(APPLIES[contract], ()) | {"parameters": dict.fromkeys(PARAMETERS[contract])}
        check_applies(contract, everything)
    check_applies("a contract of somebody else", dict.fromkeys(HELP, ()) | {"parameters": {"anything": 1}})
    for row in KERNELS:
        check_applies(row.record.get("contract", "attention"), row.record)
    with pytest.raises(TargetError, match="--kind does not apply to the contract attention"):
        implementation_for("torch:math", {"parameters": {"kind": "causal"}})


def test_flags() -> None:
    assert [as_flag("f", word) for word in ("true", "YES", "1", "False", "no", "0")] == [True] * 3 + [False] * 3


def test_every_field_of_the_record_has_an_option() -> None:
    without = {"function", "known_failures"}
    assert set(Implementation.__dataclass_fields__) - without == set(HELP)
    assert set(FLAGS) <= set(HELP)
    assert set(DECLARED) == {"kind", "pairing"}
    assert choices("layout") == CHOICES["layout"]
    assert choices("name") is None


BAD_RECORDS = [
    ({"layout": "bdhn"}, "layout='bdhn' is not one of bhnd, bnhd"),
    ({"dead_rows": "none"}, "dead_rows='none' is not one of zeros, nan, uniform, unspecified"),
    ({"dtypes": ("int8",)}, "dtypes=('int8',): choose from float32"),
    ({"dtypes": ("fp32",)}, "dtypes=('fp32',): did you mean float32? choose from float32"),
    ({"dtypes": ()}, "dtypes=(): choose from float32"),
    ({"claims": ("mask",)}, f"claims=['mask']: choose from {', '.join((*CLAIMS, *FEATURES))}"),
]


@pytest.mark.parametrize(("fields", "words"), BAD_RECORDS)
def test_bad_records_end_in_one_line(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(TargetError, match=re.escape(words)):
        Implementation(len, **fields)


def test_a_row_of_the_table_brings_its_conventions() -> None:
    record, origin = implementation_for("torch:math", {"dtypes": ("float64",)})
    assert (record.name, record.dtypes) == ("torch:math", ("float64",))
    assert origin.startswith("attention_core.")
    record, origin = implementation_for("some.module:f", {"layout": "bnhd"})
    assert (record.name, record.layout, origin) == ("some.module:f", "bnhd", "some.module:f")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("torch:nothing", "no kernel 'torch:nothing' in the table; there are: torch:"),
        ("nothing", "target 'nothing' is not understood"),
    ],
)
def test_what_is_no_target_ends_in_one_line(text: str, words: str) -> None:
    with pytest.raises(TargetError, match=re.escape(words)):
        implementation_for(text, {})


@pytest.mark.parametrize(
    ("contract", "given", "words"),
    [
        ("kv-cache", {"window": "abc"}, "--parameter window=abc: window is a whole number of keys, at least 1"),
        ("kv-cache", {"window": 0}, "--parameter window=0: window is a whole number"),
        ("kv-cache", {"window": True}, "--parameter window=True: window is a whole number"),
        ("rotary", {"base": "abc"}, "--parameter base=abc: base is a positive number"),
        ("rotary", {"base": 0}, "--parameter base=0: base is a positive number"),
        ("rotary", {"base": float("inf")}, "--parameter base=inf: base is a positive number"),
        (
            "rotary",
            {"min_position": 5, "max_position": 2},
            "--parameter max_position=2 lies before the first position, 5",
        ),
        ("position-table", {"base": -1.0}, "--parameter base=-1.0: base is a positive number"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(contract: str, given: dict[str, object], words: str) -> None:
    with pytest.raises(TargetError, match=re.escape(words)):
        check_applies(contract, {"parameters": given})


def test_numbers_that_mean_something_pass() -> None:
    check_applies("kv-cache", {"parameters": {"window": 1}})
    check_applies("rotary", {"parameters": {"base": 500_000, "min_position": -3, "max_position": 0}})
