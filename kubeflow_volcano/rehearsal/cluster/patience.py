"""How long a start may take: as long as it makes progress, up to a generous limit. A slow machine is no broken one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

from kubeflow_volcano.deadline import Deadline


def while_progressing(signs: Callable[[], Hashable], *, still: float, total: float, pause: float) -> Iterator[float]:
    """The clock of a polling loop that ends `still` seconds after the last change of `signs()`, or after `total`.

    Yields the elapsed seconds at once and after each pause; the last time comes after the end.
    """
    whole = Deadline(total)
    quiet = whole.at_most(still)
    last = signs()
    while True:
        now = signs()
        if now != last:
            last = now
            quiet.renew()
        over = quiet.passed
        yield whole.elapsed
        if over:
            return
        quiet.pause(pause)
