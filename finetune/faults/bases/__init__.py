"""Correct models and trainers, cut into steps: a fault replaces one step and leaves the rest right."""
