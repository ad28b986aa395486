"""Settings of a process that only judges.

The settings are of a process; they are put back, since this one runs other tests.
"""

from __future__ import annotations

import gc

from attention_core.conformance.engine.thrift import COLLECTED_AFTER, be_thrifty


def test_garbage_is_collected_seldom_and_still_found() -> None:
    before = gc.get_threshold()
    try:
        be_thrifty()
        assert gc.get_threshold() == (COLLECTED_AFTER, *before[1:]) and gc.isenabled()
        assert gc.get_freeze_count()
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
