"""Family A, images: do they arrive on the nodes, and are they the ones that are asked for."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.cluster.objects import Object, Ref
from validators.core.check import check
from validators.core.facts import Facts, Read
from validators.core.outcome import Outcome, Severity, Status
from validators.core.resources import NODES, PODS
from validators.subjects import pods
from validators.subjects.troubles import Trouble, judged, verdict

__all__ = ["CHECKS"]

_READS: tuple[Read, ...] = (*pods.READS, NODES)
_DIGEST = "sha256:"
_STATUS_OF = {"initContainers": "initContainerStatuses", "containers": "containerStatuses"}

# CRI-O names the manifest of the node's architecture where a list of manifests was asked for.
_OTHER_DIGESTS = "cri-o://"


@check("A6", "images-arrive", severity=Severity.BLOCKER, reads=_READS)
def images_arrive(facts: Facts) -> Outcome:
    """Every image arrives on its node and, where its digest is asked for, is that very one.

    An image that is not there never heals by itself: correct its name or tag, put it into the registry or mirror, or
    give the pull secret. The class of the message says which: name and network, credentials, the registry's
    authority, its rate limit. A running image of another digest is worth a look: delete the pod, and the node pulls it
    again.
    """
    looked_at = [Ref.of(item) for item in judged(facts, PODS) if item["spec"].get("nodeName")]
    found = [item for item in pods.troubled(facts) if item.check == "A6"]
    digests = list(_pinned(facts))
    found += [item for item in digests if item]
    told = f" {len(digests)} of their containers ask for a digest and run it." if digests else ""
    simulated = len({Ref.of(item) for item in facts.simulated_pods}.intersection(looked_at))
    told += f" {simulated} of them are simulated and pull nothing." if simulated else ""
    return verdict(
        found,
        looked_at,
        claim=f"no image is missing of {len(looked_at)} pods.{told}",
        expected="every image can be pulled, and has the digest that is asked for",
    )


def _pinned(facts: Facts) -> Iterator[Trouble | None]:
    """For each running container that asks for a digest: what is wrong with the one that it runs."""
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
    """Container, digest that it asks for, digest that it runs; the latter is not known of an image without a name."""
    for containers, statuses in _STATUS_OF.items():
        runs = {item["name"]: item.get("imageID", "") for item in pod.get("status", {}).get(statuses) or ()}
        for item in pod["spec"].get(containers) or ():
            wanted = item.get("image", "").partition("@")[2]
            running = runs.get(item["name"], "").partition("@")[2]
            if wanted.startswith(_DIGEST) and running.startswith(_DIGEST):
                yield item["name"], wanted, running


def _other(pod: Object, container: str, wanted: str, runs: str) -> Trouble:
    ref = Ref.of(pod)
    message = f"container {container} of {ref} asks for {wanted} and runs {runs}."
    todo = "delete the pod so that the node pulls the image again, and see who retags it."
    return Trouble("A6", Status.WARN, ref, "OtherDigest", message, todo)


CHECKS = (images_arrive,)
