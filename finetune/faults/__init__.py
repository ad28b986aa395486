"""The catalogue of faults of training and fine-tuning: data, models, trainers, checkpoints and adapters.

Each fault is a correct implementation with one thing changed; its docstring says what. Nothing else of the product
imports them.
"""
