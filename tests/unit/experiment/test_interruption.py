"""A signal ends a run once, and not in the middle of what must be finished."""

from __future__ import annotations

import signal

import pytest

from kubeflow_volcano.experiment.interruption import Interrupted, interruptible, postponed


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_is_raised_and_further_ones_are_ignored(number: signal.Signals, code: int) -> None:
    with interruptible():
        with pytest.raises(Interrupted) as caught:
            signal.raise_signal(number)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    assert caught.value.exit_code == code


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with interruptible(), postponed():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_postponed_signal_takes_effect_behind_the_block() -> None:
    done = []

    def finish() -> None:
        with postponed():
            signal.raise_signal(signal.SIGINT)
            done.append("finished")

    with interruptible(), pytest.raises(Interrupted):
        finish()
    assert done == ["finished"]


def test_nothing_that_catches_exceptions_swallows_a_signal() -> None:
    assert not issubclass(Interrupted, Exception)
