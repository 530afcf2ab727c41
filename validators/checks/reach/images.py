"""Family A, images: can nodes pull them, and do containers run the digest that they are pinned to."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts, Read
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, Status
from kubeflow_volcano.validators.core.resources import NODES, PODS
from kubeflow_volcano.validators.subjects import pods
from kubeflow_volcano.validators.subjects.issues import Issue, judged, verdict

_READS: tuple[Read, ...] = (*pods.READS, NODES)
_DIGEST = "sha256:"
_STATUS_OF = {"initContainers": "initContainerStatuses", "containers": "containerStatuses"}

# CRI-O reports the manifest for its architecture, where the pod names a manifest list.
_OTHER_DIGESTS = "cri-o://"


@check("A6", "images-arrive", severity=Severity.BLOCKER, reads=_READS)
def images_arrive(facts: Facts) -> Outcome:
    """Every image can be pulled, and pinned containers run exactly their digest.

    What the node says of a pull is looked up in the table of symptoms: name, architecture, login, list of a mirror,
    certificate, clock, network, disk. Each pod has its own cause and remedy. If a node cannot pull the sandbox image of
    its container runtime, no pod starts there. If a container runs another digest, delete the pod; the node pulls the
    image again.
    """
    looked_at = [Ref.of(item) for item in judged(facts, PODS) if item["spec"].get("nodeName")]
    issues = [item for item in pods.issues(facts) if item.check == "A6"]
    digests = list(_pinned(facts))
    issues += [item for item in digests if item]
    note = f" {counted(len(digests), 'container')} pinned by digest." if digests else ""
    simulated = len({Ref.of(item) for item in facts.simulated_pods}.intersection(looked_at))
    note += f" {counted(simulated, 'simulated pod')} without images." if simulated else ""
    return verdict(
        issues,
        looked_at,
        claim=f"the images of {counted(len(looked_at), 'pod')} were pulled.{note}",
        expected="every image can be pulled, and pinned containers run their digest",
    )


def _pinned(facts: Facts) -> Iterator[Issue | None]:
    """For each running container that is pinned by digest: the issue if it runs another one."""
    simulated = {item["metadata"]["uid"] for item in facts.simulated_pods}
    unlike = {
        item["metadata"]["name"]
        for item in facts.all(NODES)
        if item.get("status", {}).get("nodeInfo", {}).get("containerRuntimeVersion", "").startswith(_OTHER_DIGESTS)
    }
    for pod in judged(facts, PODS):
        if pod["metadata"]["uid"] not in simulated and pod["spec"].get("nodeName") not in unlike:
            for name, wanted, runs in _digests(pod):
                yield None if wanted == runs else _other(pod, name, wanted, runs)


def _digests(pod: Object) -> Iterator[tuple[str, str, str]]:
    """Container, its pinned digest, and the digest that it runs, which is unknown for an image without a name."""
    for containers, statuses in _STATUS_OF.items():
        runs = {item["name"]: item.get("imageID", "") for item in pod.get("status", {}).get(statuses) or ()}
        for item in pod["spec"].get(containers) or ():
            wanted = item.get("image", "").partition("@")[2]
            running = runs.get(item["name"], "").partition("@")[2]
            if wanted.startswith(_DIGEST) and running.startswith(_DIGEST):
                yield item["name"], wanted, running


def _other(pod: Object, container: str, wanted: str, runs: str) -> Issue:
    ref = Ref.of(pod)
    message = f"container {container} of {ref} is pinned to {wanted} and runs {runs}."
    todo = "delete the pod so that the node pulls the image again, and find out what retags it."
    return Issue("A6", Status.WARN, ref, "OtherDigest", message, todo)
