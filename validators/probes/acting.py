"""What probes have in common: the rights to act, the options, and how an obstacle becomes a part of the evidence."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.watch.leaders import CONTROLLERS
from kubeflow_volcano.experiment.session import Options, ProbeRefused
from kubeflow_volcano.validators.core.outcome import CannotJudgeError
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.probes.network.credentials import Credentials

ACTING = (
    *(Rule(verb, "", "namespaces") for verb in ("create", "delete", "list", "watch")),
    *(Rule(verb, "", "resourcequotas") for verb in ("create", "patch", "list", "watch")),
    *(Rule(verb, "", "serviceaccounts") for verb in ("list", "watch")),
    *(Rule(verb, "", "pods") for verb in ("create", "delete", "list", "watch")),
    Rule("list", "", "limitranges"),
    Rule("get", CONTROLLERS.lease.group, "leases", CONTROLLERS.lease.namespace, (CONTROLLERS.program,)),
)
"""What every probe must be allowed to do in whose namespace there are pods, its own or those of its objects.

That the namespace takes pods is tried by a dry run, also before the pods of others.
"""

POD_EVENTS = tuple(Rule(verb, "", "events") for verb in ("list", "watch"))
"""What it takes to learn early that a pod will not start."""


def forwarding(namespace: str) -> tuple[Rule, ...]:
    """What it takes to reach a port of a pod of this namespace.

    Over a websocket the server requires get, from Kubernetes 1.35 on create too (kubernetes/kubernetes#134577).
    """
    return tuple(Rule(verb, "", "pods/portforward", namespace) for verb in ("get", "create"))


@dataclass(frozen=True, slots=True)
class ProbeOptions(Options):
    """Beside what every session has: as whom the probe `login` signs in at the gateway, if at all.

    `images` are new names for images of examples, as the inventory's mirror has them, `notebook_images` those that the
    inventory offers for notebooks.
    """

    login: Credentials | None = None
    images: Mapping[str, str] = field(default_factory=dict)
    notebook_images: tuple[str, ...] = ()


class Noted(Protocol):
    """Evidence that can say why it is not whole: reason and text."""

    failure: tuple[str, str] | None


@contextlib.contextmanager
def noting(evidence: Noted) -> Iterator[None]:
    """Note a missing fact, a refusal of the server and an outage in `evidence` instead of raising them."""
    try:
        yield
    except CannotJudgeError as missing:
        evidence.failure = missing.outcome.reason, missing.outcome.message
    except ProbeRefused as refusal:
        evidence.failure = "ProbeRefused", str(refusal)
    except ApiError as error:
        evidence.failure = "ProbeInterrupted", str(error)
