"""Whether pods find Services under the domain that the manifests give them, judged before the first change.

Manifests name Services in full (`dex.auth.svc.cluster.local`); the cluster's administrator chose the domain (kubeadm
`networking.dnsDomain`, Kubespray `cluster_name`, KubeKey `clusterName`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.corefile import Answers, answers
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.service_domains import named_domains
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import few

_NAMESPACE = "kube-system"
_PROGRAM = "coredns"
_KINDS = (("apps/v1", "Deployment"), ("apps/v1", "DaemonSet"))
_KNOWN = frozenset({"configMap", "projected"})
"""Volumes whose files are read here; others may have files that the Corefile imports."""


def unmet_domain(cluster: Cluster, parts: Mapping[str, Sequence[Object]], progress: Progress) -> Iterator[Problem]:
    """The problem of each domain under which manifests name Services, and under which CoreDNS knows none.

    A second zone or a rewrite will do. What the Corefile does not say, and what another name server answers, is a note.

    Raises:
        ApiError: the API server did not answer.
    """
    objects = [obj for found in parts.values() for obj in found]
    spaces = {obj["metadata"].get("namespace", "") for obj in objects}
    needed = named_domains(objects, spaces)
    if not needed:
        return
    read, unread = _answers(cluster)
    for domain, users in sorted(needed.items()):
        said = {ref: item.knows(domain) for ref, item in read.items()}
        if True in said.values():
            continue
        if unread or not said or None in said.values():
            why = unread or f"{few([*map(str, said)])} does not say it"
            named = few([*map(str, users)], 2)
            progress(f"note: {named} name Services under {domain}; whether pods find them so is not known: {why}")
            continue
        zones = sorted({zone for item in read.values() for zone in item.zones})
        own = " ".join(zones)
        yield Problem(
            f"CoreDNS knows Services under {' and '.join(zones)}, not under {domain} ({few([*map(str, said)])}).",
            f"names under {domain}: {few([*map(str, users)], 3)} name Services so, and would not find them.",
            f"let CoreDNS answer both: in its Corefile, name {domain} beside {own} after the word kubernetes "
            f"(kubernetes {own} {domain} in-addr.arpa ip6.arpa), and run again.",
        )


def _answers(cluster: Cluster) -> tuple[Mapping[Ref, Answers], str]:
    """What each CoreDNS answers, by the first ConfigMap that it reads, or why that is not known."""
    try:
        users = [item for version, kind in _KINDS for item in cluster.list(version, kind, namespace=_NAMESPACE).items]
        read = dict(_files(cluster, item) for item in users if _runs_coredns(item))
    except ApiError as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        return {}, error.message
    return read, "" if read else f"no CoreDNS runs in {_NAMESPACE}"


def _files(cluster: Cluster, server: Object) -> tuple[Ref, Answers]:
    volumes = server["spec"]["template"]["spec"].get("volumes") or ()
    refs = [Ref("v1", "ConfigMap", _NAMESPACE, name) for name in _config_maps(volumes)]
    live = [cluster.get(ref) or {} for ref in refs]
    texts = [str(text) for item in live for text in (item.get("data") or {}).values()]
    return next(iter(refs), Ref.of(server)), answers(texts, whole=all(map(_KNOWN.intersection, volumes)))


def _runs_coredns(item: Object) -> bool:
    names = (ImageName.parse(each.get("image", "")) for each in item["spec"]["template"]["spec"]["containers"])
    return any(name and _PROGRAM in name.name for name in names)


def _config_maps(volumes: Sequence[Object]) -> Iterator[str]:
    for volume in volumes:
        for source in [volume, *((volume.get("projected") or {}).get("sources") or ())]:
            if name := (source.get("configMap") or {}).get("name"):
                yield name
