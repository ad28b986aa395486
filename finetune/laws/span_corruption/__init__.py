"""The contract `span-corruption`."""

from __future__ import annotations
