"""Searches for a counterexample beyond the usual cases.

At extreme values (`far`), at huge sizes (`huge`, `huge_search`, `size_sweep`), and where a claim could fail
(`pinpoint`).
"""
