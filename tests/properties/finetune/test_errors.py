"""Errors of input keep their kind and gain the name of what they are about."""

from __future__ import annotations

import pytest

from finetune.errors import BadInput, UnknownCharacter, prefix_errors


def test_the_name_stands_in_front_and_the_kind_stays() -> None:
    with pytest.raises(UnknownCharacter) as error, prefix_errors("names.tsv"), prefix_errors("line 3"):
        raise UnknownCharacter("'ß' is not in the vocabulary")
    assert str(error.value) == "names.tsv: line 3: 'ß' is not in the vocabulary"
    assert error.value.__cause__ is None


def test_other_errors_pass() -> None:
    with pytest.raises(KeyError), prefix_errors("names.tsv"):
        raise KeyError("k")
    assert issubclass(BadInput, ValueError)
