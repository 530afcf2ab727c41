"""Webhook backends that are restarted because their caBundle or certificate has changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeflow_volcano.apply.restart import restart
from kubeflow_volcano.apply.result import ObjectOutcome
from kubeflow_volcano.cluster.admission.webhooks import backends, webhooks
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import Progress


def restart_for_ca_bundle(
    cluster: Cluster, configurations: Sequence[Ref], objects: Sequence[Object], progress: Progress
) -> tuple[ObjectOutcome, ...]:
    """Restart the backends among `objects` whose webhooks have lost the caBundle, which backends write at their start.

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
            progress(f"{ref} is restarted: it writes the caBundle of its webhooks, which is missing")
            done.append(restart(cluster, deployment, cause, check=False))
    return tuple(done)


def restart_for_certificates(
    cluster: Cluster, jobs: Sequence[Ref], objects: Sequence[Object], progress: Progress
) -> tuple[ObjectOutcome, ...]:
    """Restart webhook backends whose certificate may be older than the last run of one of these `jobs`.

    Such a Job writes a Secret that no manifest declares, as Volcano's admission-init does (gen-admission-secret.sh).
    The backend reads it once, at its start, and writes the authority of that certificate into the caBundle.

    Raises:
        ApiError: something may not be read or changed.
    """
    done: list[ObjectOutcome] = []
    for job in jobs:
        live = cluster.get(job)
        for ref in dict.fromkeys(_readers(job.namespace, objects)):
            deployment = cluster.get(ref)
            if live and deployment:
                progress(f"{ref} is restarted: {job} ran again and may have made another certificate")
                done.append(restart(cluster, deployment, live["metadata"]["uid"], check=False))
    return tuple(done)


def _readers(namespace: str, objects: Sequence[Object]) -> Iterator[Ref]:
    """Deployments of a namespace that serve webhooks and mount a Secret that is not among `objects`."""
    declared = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "Secret"}
    for hook in webhooks(objects):
        for obj in backends(hook, objects):
            if obj["kind"] == "Deployment" and obj["metadata"].get("namespace") == namespace:
                volumes = obj["spec"]["template"]["spec"].get("volumes") or ()
                secrets = {volume["secret"]["secretName"] for volume in volumes if "secret" in volume}
                if secrets - declared:
                    yield Ref.of(obj)
