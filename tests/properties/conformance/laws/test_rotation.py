"""The bound of the angles of a rotation."""

from __future__ import annotations

import numpy as np

from attention_core.conformance.laws.rotation import angle_error


def test_bound_of_angles_covers_single_precision_and_little_more() -> None:
    """Frequencies by float32 exponentials, the worst of the public ways: within the bound, and near it somewhere."""
    p, ratios = np.arange(4096), []
    for d in (2, 7, 64, 128):
        exponent = np.arange(0, d, 2, dtype=np.float32) * np.float32(-np.log(np.float32(1e4)) / np.float32(d))
        single = p.astype(np.float32)[:, None] * np.exp(exponent)
        true = p[:, None] * 1e4 ** (-2.0 * np.arange((d + 1) // 2) / d)
        bound = angle_error(p[:, None], d, 1e4)
        ratios.append(np.max(np.abs(single - true)[1:] / bound[1:]))
    assert 0.1 < max(ratios) <= 1, ratios
