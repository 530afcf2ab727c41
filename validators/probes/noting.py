"""What keeps a probe from its experiment becomes a part of its evidence."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Protocol

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.experiment.session import ProbeRefused
from validators.core.outcome import CannotJudgeError

__all__ = ["Noted", "noting"]


class Noted(Protocol):
    """Evidence that can say why it is not whole: reason and text."""

    trouble: tuple[str, str] | None


@contextlib.contextmanager
def noting(evidence: Noted) -> Iterator[None]:
    """Note a missing fact, a refusal of the server and an outage in `evidence` instead of raising them."""
    try:
        yield
    except CannotJudgeError as missing:
        evidence.trouble = missing.outcome.reason, missing.outcome.message
    except ProbeRefused as refusal:
        evidence.trouble = "ProbeRefused", str(refusal)
    except ApiError as error:
        evidence.trouble = "ProbeInterrupted", str(error)
