"""Clusters on which people work: notebooks, servers and jobs of theirs that are broken while the platform is well."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.catalog.images.probes import BUSYBOX
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from tests.recorded.foreign.making import Making, Recipe
from tests.recorded.foreign.objects import container, namespace, obj, profile, service

_ENDS = {"terminationGracePeriodSeconds": 0}


def crd(plural: str, kind: str, group: str, *versions: str, scope: str = "Namespaced") -> Object:
    """A CRD that accepts everything."""
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    served = [{"name": item, "served": True, "storage": item == versions[0], "schema": schema} for item in versions]
    spec = {"group": group, "names": names, "scope": scope, "versions": served}
    return obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{group}", spec=spec)


def _workload(kind: str, name: str, main: Object, *, owner: Object | None = None, **spec: Any) -> Object:
    labels = {"app": name.rpartition("/")[2]}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [main], **_ENDS, **spec.pop("pods", {})}}
    selector = {} if kind == "Job" else {"selector": {"matchLabels": labels}}
    if kind == "StatefulSet":
        spec["serviceName"] = labels["app"]
    found = obj("batch/v1" if kind == "Job" else "apps/v1", kind, name, spec={**selector, "template": pods, **spec})
    if owner:
        reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
        found["metadata"]["ownerReferences"] = [
            reference | {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        ]
    return found


def _shell(name: str, script: str, **rest: Any) -> Object:
    return container(name, BUSYBOX, command=["sh", "-c", script], **rest)


def notebooks(make: Making, where: str) -> None:
    """Notebooks of a person as Kubeflow's controller makes them: one runs, one has a misspelt image."""
    make.until(lambda: _served(make, "kubeflow.org/v1", "Notebook"))
    for name, main in (
        ("works", _shell("works", "sleep 1000000")),
        ("misspelt", container("misspelt", "ghcr.io/example/jupyter-scypi:v1")),
    ):
        make.apply(obj("kubeflow.org/v1", "Notebook", f"{where}/{name}", spec={}))
        live = make.cluster.get(Ref("kubeflow.org/v1", "Notebook", where, name))
        if live:
            make.apply(_workload("StatefulSet", f"{where}/{name}", main, owner=live))
        make.apply(service(f"{where}/{name}", {"app": name}, 8888))


def _served(make: Making, api_version: str, kind: str) -> bool:
    try:
        return make.cluster.resource(api_version, kind, refresh=True) is not None
    except ApiError:
        return False


def own_things(make: Making, where: str) -> None:
    """A person's own server, jobs, claims and pods, each broken in its own way."""
    gone = {"hard": {"pods": "0"}, "scopes": ["BestEffort"]}
    small = {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"cpu": "100m", "memory": "16Mi"}}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    mounted = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "archive"}}]}
    make.apply(
        _workload("Deployment", f"{where}/server", _shell("server", "exit 1", resources=small)),
        service(f"{where}/server", {"app": "server"}, 8080),
        _workload(
            "Job",
            f"{where}/etl",
            _shell("etl", "exit 3", resources=small),
            backoffLimit=0,
            pods={"restartPolicy": "Never"},
        ),
        _workload("Deployment", f"{where}/greedy", _shell("greedy", "tail /dev/zero", resources=small)),
        _workload(
            "Deployment",
            f"{where}/never-ready",
            _shell("main", "sleep 1000000", resources=small, readinessProbe={"exec": {"command": ["false"]}}),
        ),
        _workload(
            "DaemonSet",
            f"{where}/nowhere",
            _shell("main", "sleep 1000000", resources=small),
            pods={"nodeSelector": {"disk": "nvme"}},
        ),
        _workload("Deployment", f"{where}/huge", _shell("main", "sleep 1", resources={"requests": {"cpu": "512"}})),
        obj("v1", "PersistentVolumeClaim", f"{where}/archive", spec={**claim, "storageClassName": "cold"}),
        obj("v1", "PersistentVolumeClaim", f"{where}/unused", spec=claim),
        obj(
            "v1",
            "Pod",
            f"{where}/reads-archive",
            spec={"containers": [_shell("main", "sleep 1", resources=small)], **mounted},
        ),
        service(f"{where}/left-over", {"app": "long-gone"}, 80),
        obj("v1", "ResourceQuota", f"{where}/no-best-effort", spec=gone),
        obj("v1", "ConfigMap", f"{where}/settings", data={"a": "b"}),
    )
    make.apply(_workload("Deployment", f"{where}/refused", _shell("main", "sleep 1")))


def jobs(make: Making, where: str) -> None:
    """Training jobs of a person: one whose program fails, one that is larger than the cluster and waits as a whole."""
    small = {"requests": {"cpu": "10m", "memory": "16Mi"}}

    def job(name: str, workers: int, resources: Object, script: str) -> Object:
        main = {"name": "tensorflow", "image": BUSYBOX, "command": ["sh", "-c", script], "resources": resources}
        template = {"spec": {"containers": [main], **_ENDS}}
        replicas = {"Worker": {"replicas": workers, "restartPolicy": "Never", "template": template}}
        return obj("kubeflow.org/v1", "TFJob", f"{where}/{name}", spec={"tfReplicaSpecs": replicas})

    make.apply(job("fails", 1, small, "exit 1"), job("waits", 2, {"requests": {"cpu": "400"}}, "true"))
    make.until(lambda: _said(make, where, "fails", "Failed"))


def _said(make: Making, where: str, name: str, kind: str) -> bool:
    live = make.cluster.get(Ref("kubeflow.org/v1", "TFJob", where, name)) or {}
    found = (live.get("status") or {}).get("conditions") or ()
    return any(item["type"] == kind and item["status"] == "True" for item in found)


def _waits(make: Making, where: str, reason: str) -> bool:
    return any(reason in str(item.get("status")) for item in make.cluster.list("v1", "Pod", namespace=where).items)


def broken(make: Making) -> None:
    """Two people's namespaces, in which nearly nothing works."""
    make.apply(
        crd("notebooks", "Notebook", "kubeflow.org", "v1"),
        profile("ada", "ada@example.org"),
        profile("grace", "grace@example.org"),
        namespace("scratch"),
    )
    notebooks(make, "ada")
    own_things(make, "grace")
    own_things(make, "scratch")
    jobs(make, "ada")
    make.until(lambda: _waits(make, "ada", "ImagePullBackOff"))
    make.until(lambda: _waits(make, "grace", "CrashLoopBackOff"))
    make.until(lambda: _waits(make, "grace", "OOMKilled"))


RECIPES = {
    "people-at-work": Recipe(
        "People's broken things: a notebook with a misspelt image, crashing and greedy servers, failed jobs, claims of "
        "a class that does not exist, a gang that is larger than the cluster, Deployments that a quota refuses.",
        "Made by applying such objects;",
        broken,
        {"profile": "training"},
    ),
}
