"""Random symbols: their distributions, moments, and random samples.

`moments` takes expectations in closed form (`closed_forms`); `estimators`, `sampling` and `evalues` decide by
samples with proved bounds of their variance.
"""
