"""The side of the code under test: requests and responses, the process that answers them, and what runs there."""

from __future__ import annotations
