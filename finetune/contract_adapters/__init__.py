"""Our own training code behind the interfaces that the contracts ask for."""

from __future__ import annotations
