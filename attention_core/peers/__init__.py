"""Adapters to other people's attention: they translate arguments and never repair numbers.

Each is written to be read alone: `adapter_source.py` shows its source, without this package, in counterexamples.
"""
