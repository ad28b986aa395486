"""How a module of multi-head attention is built and called: read from its signatures, found by a few cheap calls."""
