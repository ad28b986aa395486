"""The JSON schemas of what commands write; they ship with the package, as files of their own."""

from __future__ import annotations

from importlib.resources import files

from attention_core.declaration.implementation import TargetError


def schema_names() -> list[str]:
    """Return the commands whose JSON has a schema.

    >>> "verify" in schema_names()
    True
    """
    folder = files("attention_core") / "schemas"
    return sorted(one.name.removesuffix(".json") for one in folder.iterdir() if one.name.endswith(".json"))


def read_schema(name: str) -> str:
    """Return the schema of a command's JSON, as text.

    Raises:
        TargetError: that command writes none.

    >>> read_schema("derive").startswith("{")
    True
    """
    if name not in schema_names():
        raise TargetError(f"{name} has no schema: choose {', '.join(schema_names())}")
    return (files("attention_core") / "schemas" / f"{name}.json").read_text(encoding="utf-8")
