"""Volcano's webhooks on pods, made safe for a cluster that others use too: a patch of upstream's text. Pure.

Volcano 1.7 to 1.11 asks its admission about every new pod outside kube-system and its own namespace, and fails closed:
while the admission is down, nobody's pods start. What those webhooks add is no part of gang scheduling
(pkg/webhooks/admission/pods of v1.8.2 and v1.10.0): they refuse Volcano's pods whose PodGroup does not exist, which the
scheduler leaves alone anyway, or whose queue is not open, and mark pods of resource groups, of which upstream
configures none. From 1.12 on there are none. Volcano's webhooks on its own kinds stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeflow_volcano.cluster.admission.webhooks import WEBHOOK_KINDS
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rollout.settings.volcano import PodWebhookSettings

__all__ = ["scope_pod_webhooks"]


def scope_pod_webhooks(objects: Iterable[Object], asked: PodWebhookSettings) -> None:
    """Set policy and scope of the webhooks that see pods; the namespaces that upstream leaves out stay out."""
    for hook in _on_pods(objects):
        hook["failurePolicy"] = asked.failure_policy
        if asked.namespaces:
            selector = hook.get("namespaceSelector") or {}
            labels = {**(selector.get("matchLabels") or {}), **asked.namespaces}
            hook["namespaceSelector"] = {**selector, "matchLabels": labels}


def _on_pods(objects: Iterable[Object]) -> Iterator[Object]:
    for obj in objects:
        if obj["kind"] in WEBHOOK_KINDS:
            for hook in obj.get("webhooks") or ():
                if any("pods" in rule["resources"] for rule in hook.get("rules") or ()):
                    yield hook
