"""A cluster whose DNS does not know Services by the names that manifests give them is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.rollout.requirements.cluster_domain import unmet_domain

CORP = ".:53 {\n  kubernetes k8s.corp in-addr.arpa ip6.arpa {\n  }\n  forward . /etc/resolv.conf\n}\n"
DEX = new_object(
    "v1", "ConfigMap", "dex", "auth", data={"config.yaml": "issuer: http://dex.auth.svc.cluster.local:5556/dex"}
)


class Stored:
    """A cluster with this name server, whose files are in ConfigMaps."""

    def __init__(self, *servers: Object, **maps: Mapping[str, str]) -> None:
        self.servers, self.maps = servers, maps

    def list(self, _: str, kind: str, *, namespace: str) -> SimpleNamespace:
        assert namespace == "kube-system"
        return SimpleNamespace(items=[item for item in self.servers if item["kind"] == kind])

    def get(self, ref: Ref) -> Object | None:
        return {"data": self.maps[ref.name]} if ref.name in self.maps else None


class Closed(Stored):
    """A cluster that lets nobody look at its name server."""

    def list(self, _: str, kind: str, *, namespace: str) -> SimpleNamespace:
        raise ApiError(HTTPStatus.FORBIDDEN, "Forbidden", f"cannot list {kind} in {namespace}")


def server(image: str = "registry.k8s.io/coredns/coredns:v1.11.1", *maps: str, **volume: Any) -> Object:
    volumes = [{"configMap": {"name": name}} for name in maps or ("coredns",)]
    spec = {"containers": [{"name": "dns", "image": image}], "volumes": [*volumes, *([volume] if volume else ())]}
    return new_object("apps/v1", "Deployment", "coredns", "kube-system", spec={"template": {"spec": spec}})


def judged(cluster: Any, *objects: Object) -> tuple[list[Any], list[str]]:
    said: list[str] = []
    return [*unmet_domain(cluster, {"dex": objects or (DEX,)}, said.append)], said


def test_a_cluster_of_another_domain_is_refused_with_what_it_has_and_how_to_add_a_zone() -> None:
    (problem,), said = judged(Stored(server(), coredns={"Corefile": CORP}))
    assert re.search(r"k8s\.corp, .*cluster\.local", problem.found)
    assert "ConfigMap kube-system/coredns" in problem.found
    assert "ConfigMap auth/dex" in problem.needed
    assert "kubernetes k8s.corp cluster.local in-addr.arpa ip6.arpa" in problem.todo
    assert not said


@pytest.mark.parametrize(
    "files",
    [
        {"coredns": {"Corefile": CORP.replace("k8s.corp", "cluster.local")}},
        {"coredns": {"Corefile": CORP.replace("k8s.corp", "k8s.corp cluster.local")}},
        {"coredns": {"Corefile": CORP}, "coredns-custom": {"a.server": "cluster.local:53 {\n forward . 10.0.0.1\n}"}},
    ],
)
def test_a_second_zone_also_of_another_file_will_do(files: Any) -> None:
    own = server("mirror.example.com/rancher/mirrored-coredns-coredns:1.10.1", "coredns", "coredns-custom")
    assert judged(Stored(own, **files)) == ([], [])


@pytest.mark.parametrize(
    "cluster",
    [
        Stored(),
        Stored(server("gke.example.com/k8s-dns-kube-dns:1.22")),
        Stored(server()),
        Stored(
            server(hostPath={"path": "/etc/zones"}), coredns={"Corefile": CORP.replace("forward", "import x\nforward")}
        ),
        Closed(),
    ],
)
def test_another_name_server_and_files_that_cannot_be_read_are_a_note(cluster: Any) -> None:
    problems, (line,) = judged(cluster)
    assert problems == []
    assert "cluster.local" in line
    assert "not known" in line


def test_manifests_of_the_clusters_own_domain_and_those_without_any_need_nothing() -> None:
    own = DEX | {"data": {"config.yaml": "issuer: http://dex.auth.svc.k8s.corp:5556/dex"}}
    assert judged(Stored(server(), coredns={"Corefile": CORP}), own) == ([], [])
    assert judged(Closed(), DEX | {"data": {}}) == ([], [])
