"""Searches for garbage rest while much is read, and go on behind it."""

from __future__ import annotations

import gc

import pytest

from kubeflow_volcano.garbage import collection_paused


def test_nothing_is_searched_within_and_all_is_as_before_behind_it() -> None:
    assert gc.isenabled()
    within: list[bool] = []

    @collection_paused()
    def broken() -> None:
        within.append(gc.isenabled())
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        broken()
    assert (within, gc.isenabled()) == ([False], True)
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_was_made_within_goes_when_nobody_holds_it() -> None:
    class Held:
        gone = False

        def __del__(self) -> None:
            type(self).gone = True

    with collection_paused():
        held = Held()
    del held
    assert Held.gone
