"""Webhooks that are to be trusted anew, because their caBundle or certificate changed: their backends are restarted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeflow_volcano.apply.restart import restart
from kubeflow_volcano.apply.result import ObjectOutcome
from kubeflow_volcano.cluster.admission.intercepts import backends, webhooks
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import Progress

__all__ = ["follow_certificates", "renew_trust"]


def renew_trust(
    cluster: Cluster, configurations: Sequence[Ref], objects: Sequence[Object], progress: Progress
) -> tuple[ObjectOutcome, ...]:
    """Start the backends among `objects` anew that write the caBundle at their start, where it has gone since.

    Raises:
        ApiError: something may not be read or changed.
    """
    causes: dict[Ref, str] = {}
    for live in filter(None, map(cluster.get, configurations)):
        meta = live["metadata"]
        for hook in webhooks([live]):
            if hook.service and not hook.text["clientConfig"].get("caBundle"):
                cause = f"{meta['uid']}-{meta['generation']}"
                behind = [Ref.of(obj) for obj in backends(hook, objects) if obj["kind"] == "Deployment"]
                causes |= dict.fromkeys(behind, cause)
    done: list[ObjectOutcome] = []
    for ref, cause in causes.items():
        deployment = cluster.get(ref)
        if deployment is not None:
            progress(f"{ref} is started anew: it writes the caBundle of its webhooks, which is gone")
            done.append(restart(cluster, deployment, cause, check=False))
    return tuple(done)


def follow_certificates(
    cluster: Cluster, jobs: Sequence[Ref], objects: Sequence[Object], progress: Progress
) -> tuple[ObjectOutcome, ...]:
    """Start webhook backends anew that hold a certificate from before one of these `jobs` ran again.

    Such a Job writes a Secret that nobody declares, as Volcano's admission-init does (gen-admission-secret.sh); its
    backend reads that once, at its start, and puts the authority of what it read into the caBundle.

    Raises:
        ApiError: something may not be read or changed.
    """
    done: list[ObjectOutcome] = []
    for job in jobs:
        live = cluster.get(job)
        for ref in dict.fromkeys(_readers(job.namespace, objects)):
            deployment = cluster.get(ref)
            if live and deployment:
                progress(f"{ref} is started anew: {job} ran again and may have made it another certificate")
                done.append(restart(cluster, deployment, live["metadata"]["uid"], check=False))
    return tuple(done)


def _readers(namespace: str, objects: Sequence[Object]) -> Iterator[Ref]:
    """Deployments of a namespace that answer for webhooks and read a Secret that is not among `objects`."""
    declared = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "Secret"}
    for hook in webhooks(objects):
        for obj in backends(hook, objects):
            if obj["kind"] == "Deployment" and obj["metadata"].get("namespace") == namespace:
                volumes = obj["spec"]["template"]["spec"].get("volumes") or ()
                secrets = {volume["secret"]["secretName"] for volume in volumes if "secret" in volume}
                if secrets - declared:
                    yield Ref.of(obj)
