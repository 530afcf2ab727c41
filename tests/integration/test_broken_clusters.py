"""Broken in many ways, several at a time: each way fails the check that owns it, and every other check stays as it was.

Ways of one round touch nothing of each other. What other files break is not repeated here: the scheduler, gang flags
and plugins, closed queues, default classes, directories of volumes, images, crashes and passwords.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.rollout.gang.rights import is_allowed
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.core.timing import Timing
from tests.integration.breaking import (
    Findings,
    absent,
    bad,
    judge,
    leftovers,
    made,
    patched,
    pods_of,
    space,
    turned_off,
)
from tests.waiting import at_last, until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

EVERY = tuple(item.id for item in CHECKS if not (item.probe or item.opt_in))
"""Checks that look and do not try out; those that try out have tests of their own, and take longer."""
BUSYBOX = "docker.io/library/busybox:1.36"
SOON = 4.0
HASTY = Timing(grace_seconds=SOON, settle_seconds=0.1)
"""Late after some seconds, so that no test waits for a minute; what hangs behind is not waited for."""
"""Seconds after which an object counts as late here, instead of a minute."""

VOLCANO = "volcano-system"
CONTROLLERS = Ref("apps/v1", "Deployment", VOLCANO, "volcano-controllers")
ADMISSION = Ref("apps/v1", "Deployment", VOLCANO, "volcano-admission")
OPERATOR = Ref("apps/v1", "Deployment", "kubeflow", "training-operator")
PROVISIONER = Ref("apps/v1", "Deployment", "local-path-storage", "local-path-provisioner")
CONFIGURATION = Ref("v1", "ConfigMap", VOLCANO, "volcano-scheduler-configmap")
QUEUE = Ref("scheduling.volcano.sh/v1beta1", "Queue", "", "default")
OPERATOR_ROLE = Ref("rbac.authorization.k8s.io/v1", "ClusterRole", "", "training-operator")
METRICS = Ref("v1", "Service", VOLCANO, "volcano-scheduler-service")
NUMA = Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "numatopologies.nodeinfo.volcano.sh")

Making = Callable[[Cluster, str], contextlib.AbstractContextManager[Any]]
"""Takes the cluster and a namespace for what is made; what was done is undone behind the block."""


@dataclass(frozen=True)
class Way:
    """One way to break a cluster: how, the reasons by check that it fails, and the checks that follow from those."""

    name: str
    make: Making
    fails: Mapping[str, str]
    follows: frozenset[str] = field(default_factory=frozenset)


def way(name: str, make: Making, follows: str = "", **fails: str) -> Way:
    return Way(name, make, fails, frozenset(follows.split()))


def hook(kind: str, name: str) -> Ref:
    kind = f"{kind}WebhookConfiguration"
    return Ref("admissionregistration.k8s.io/v1", kind, "", f"volcano-admission-service-{name}")


def changing(ref: Ref, body: Any, *, subresource: str = "", json_patch: bool = False) -> Making:
    """An object with a patch on it."""

    @contextlib.contextmanager
    def make(cluster: Cluster, _where: str) -> Iterator[None]:
        with patched(cluster, ref, subresource=subresource, json_patch=json_patch) as patch:
            patch(body)
            yield

    return make


def scaled_down(ref: Ref) -> Making:
    """A Deployment with no replica, when its last pod is gone and no Service counts on it any more.

    Its status says 0 while pods are still ending, and endpoints are taken away later than pods.
    """

    @contextlib.contextmanager
    def make(cluster: Cluster, _where: str) -> Iterator[None]:
        before = {pod["metadata"]["name"] for pod in pods_of(cluster, ref)}
        with turned_off(cluster, ref):
            until(lambda: not before & backing(cluster, ref.namespace))
            yield

    return make


def backing(cluster: Cluster, namespace: str) -> set[str]:
    """Names of what the Services of a namespace have for endpoints."""
    slices = cluster.list("discovery.k8s.io/v1", "EndpointSlice", namespace=namespace).items
    endpoints = [endpoint for item in slices for endpoint in item.get("endpoints") or ()]
    return {(endpoint.get("targetRef") or {}).get("name", "") for endpoint in endpoints}


def without(ref: Ref) -> Making:
    return lambda cluster, _where: absent(cluster, ref)


def configured(change: Callable[[Any], Any]) -> Making:
    """The scheduler's configuration, changed; without it where nothing is left."""

    @contextlib.contextmanager
    def make(cluster: Cluster, _where: str) -> Iterator[None]:
        key = "volcano-scheduler.conf"
        changed = change(yaml.safe_load(live(cluster, CONFIGURATION)["data"][key]))
        text = yaml.safe_dump(changed) if isinstance(changed, dict) else changed
        with patched(cluster, CONFIGURATION) as patch:
            patch({"data": {key: text}})
            yield

    return make


def with_plugin(name: str, **switches: bool) -> Callable[[Any], Any]:
    """The configuration with a plugin in place of the one of that name, or beside the others."""

    def change(parsed: Any) -> Any:
        first = parsed["tiers"][0]["plugins"]
        parsed["tiers"][0]["plugins"] = [item for item in first if item["name"] != name] + [{"name": name, **switches}]
        return parsed

    return change


def misspelt(name: str, wrong: str) -> Callable[[Any], Any]:
    """The configuration with a plugin under another name."""

    def change(parsed: Any) -> Any:
        for plugin in (item for tier in parsed["tiers"] for item in tier["plugins"]):
            plugin["name"] = wrong if plugin["name"] == name else plugin["name"]
        return parsed

    return change


def there(*objects: Callable[[str], Object], when: Callable[[Object], bool] | None = None) -> Making:
    """Objects of this test's own; with `when`, once the last of them looks like that."""

    @contextlib.contextmanager
    def make(cluster: Cluster, where: str) -> Iterator[None]:
        with made(cluster, *(item(where) for item in objects)) as created:
            if when:
                until(lambda: when(live(cluster, Ref.of(created[-1]))))
            yield

    return make


def live(cluster: Cluster, ref: Ref) -> Object:
    """The object as it is now; nothing where it is gone, so that nothing is true of it."""
    return cluster.get(ref) or {"metadata": {}, "spec": {}, "status": {}}


def shows(text: str) -> Callable[[Object], bool]:
    return lambda item: text in str(item.get("status"))


def obj(version: str, kind: str, name: str, where: str = "", **rest: Any) -> Object:
    meta = {"name": name} | ({"namespace": where} if where else {})
    return {"apiVersion": version, "kind": kind, "metadata": meta, **rest}


SMALL = {"requests": {"cpu": "1m", "memory": "1Mi"}}


def pod_spec(script: str = "sleep 3600", **container: Any) -> Object:
    main = {"name": "main", "image": BUSYBOX, "command": ["sh", "-c", script], "resources": SMALL, **container}
    return {"containers": [main], "terminationGracePeriodSeconds": 0}


def pod(name: str, spec: Object, where: str = "") -> Callable[[str], Object]:
    return lambda space: obj("v1", "Pod", name, where or space, spec=spec)


def workload(kind: str, pods: Object, **rest: Any) -> Callable[[str], Object]:
    labels = {"app": kind.lower()}
    selector = {} if kind == "Job" else {"selector": {"matchLabels": labels}}
    spec = {**selector, "template": {"metadata": {"labels": labels}, "spec": pods}, **rest}
    version = "batch/v1" if kind == "Job" else "apps/v1"
    return lambda where: obj(version, kind, kind.lower(), where, spec=spec)


BEST_EFFORT = pod_spec(resources={})
NO_BEST_EFFORT = {"hard": {"pods": "0"}, "scopes": ["BestEffort"]}


@contextlib.contextmanager
def refused(cluster: Cluster, where: str, kind: str, **rest: Any) -> Iterator[None]:
    """A workload whose pods a quota refuses."""
    quota = obj("v1", "ResourceQuota", f"none-{kind.lower()}", where, spec=NO_BEST_EFFORT)
    with made(cluster, quota):
        until(lambda: "hard" in live(cluster, Ref.of(quota)).get("status", {}))
        with made(cluster, workload(kind, BEST_EFFORT, **rest)(where)) as (item,):
            if kind == "Deployment":
                until(lambda: "ReplicaFailure" in conditions(live(cluster, Ref.of(item))))
            yield


def volume(name: str, **spec: Any) -> Object:
    source = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "hostPath": {"path": "/nowhere"}}
    return obj("v1", "PersistentVolume", name, spec={**source, "capacity": {"storage": "1Mi"}, **spec})


@contextlib.contextmanager
def lost_volume(cluster: Cluster, where: str) -> Iterator[None]:
    name = f"{where}-lost"
    source = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": name}
    spec = {**source, "resources": {"requests": {"storage": "1Mi"}}}
    with made(cluster, volume(name), obj("v1", "PersistentVolumeClaim", name, where, spec=spec)) as (holds, held):

        def in_phase(phase: str) -> bool:
            return bool(live(cluster, Ref.of(held))["status"].get("phase") == phase)

        until(lambda: in_phase("Bound"))
        cluster.delete(Ref.of(holds), uid=holds["metadata"]["uid"])
        cluster.patch(Ref.of(holds), {"metadata": {"finalizers": None}})
        until(lambda: in_phase("Lost"))
        yield


def outlived(policy: str) -> Callable[[str], Object]:
    """A volume of the release's namespace whose claim is gone."""
    claim = {"namespace": "kubeflow", "name": "gone", "uid": "00000000-0000-0000-0000-000000000000"}
    return lambda where: volume(f"{where}-{policy.lower()}", claimRef=claim, persistentVolumeReclaimPolicy=policy)


@contextlib.contextmanager
def without_admission(cluster: Cluster, where: str) -> Iterator[None]:
    """Volcano's admission is ready before it answers, so what comes after it waits for an answer."""
    group = obj("scheduling.volcano.sh/v1beta1", "PodGroup", "asks", where, spec={"minMember": 1})
    with scaled_down(ADMISSION)(cluster, where):
        yield
    until(lambda: answered(cluster, group))


def answered(cluster: Cluster, body: Object) -> bool:
    try:
        cluster.create(body, dry_run=True)
    except ApiError:
        return False
    return True


@contextlib.contextmanager
def cordoned(cluster: Cluster, _where: str) -> Iterator[None]:
    nodes = sorted(item["metadata"]["name"] for item in cluster.list("v1", "Node").items)
    with patched(cluster, Ref("v1", "Node", "", nodes[0])) as patch:
        patch({"spec": {"unschedulable": True}})
        yield


@contextlib.contextmanager
def tainted(cluster: Cluster, _where: str) -> Iterator[None]:
    """A taint of a third party on the only node that accepts ordinary pods."""
    (node,) = [item for item in cluster.list("v1", "Node").items if not item["spec"].get("taints")]
    with patched(cluster, Ref.of(node)) as patch:
        patch({"spec": {"taints": [{"key": "dedicated", "value": "etl", "effect": "NoSchedule"}]}})
        yield


@contextlib.contextmanager
def held_in_deletion(cluster: Cluster, _where: str) -> Iterator[None]:
    """A definition that a finalizer of another controller keeps; behind the block it is made again."""
    before = live(cluster, NUMA)
    path = cluster.resource(NUMA.api_version, NUMA.kind).path("", NUMA.name)
    content = "application/merge-patch+json"
    held = {"metadata": {"finalizers": ["example.com/guard"]}}
    cluster.request("PATCH", path, body=held, content_type=content)
    cluster.delete(NUMA, uid=before["metadata"]["uid"])
    try:
        yield
    finally:
        with contextlib.suppress(ApiError):  # it may be gone with the last finalizer
            cluster.request("PATCH", path, body={"metadata": {"finalizers": None}}, content_type=content)
        until(lambda: cluster.get(NUMA) is None)
        meta = {key: before["metadata"][key] for key in ("name", "labels", "annotations") if key in before["metadata"]}
        cluster.create({key: before[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": meta})


def claim_of(storage_class: str | None) -> Callable[[str], Object]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    named = {"storageClassName": storage_class} if storage_class else {}
    return lambda where: obj("v1", "PersistentVolumeClaim", "data", where, spec={**spec, **named})


def nobodys_class(_where: str) -> Object:
    return obj("storage.k8s.io/v1", "StorageClass", "kfv-test-nobody", provisioner="example.com/nobody")


def lonely_service(where: str) -> Object:
    return obj("v1", "Service", "lonely", where, spec={"selector": {"app": "nobody"}, "ports": [{"port": 80}]})


def nobodys_api(_where: str) -> Object:
    service = {"namespace": "default", "name": "nobody"}
    spec = {"group": "kfv.test", "version": "v1", "groupPriorityMinimum": 10, "versionPriority": 10}
    spec |= {"service": service, "insecureSkipTLSVerify": True}
    return obj("apiregistration.k8s.io/v1", "APIService", "v1.kfv.test", spec=spec)


def kfdefs(_where: str) -> Object:
    names = {"plural": "kfdefs", "singular": "kfdef", "kind": "KfDef", "listKind": "KfDefList"}
    shape = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": shape}
    spec = {"group": "kfdef.apps.kubeflow.org", "names": names, "scope": "Namespaced", "versions": [version]}
    return obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", "kfdefs.kfdef.apps.kubeflow.org", spec=spec)


@contextlib.contextmanager
def warned_of(cluster: Cluster, _where: str) -> Iterator[None]:
    """A Warning event about the operator's pod, as the kubelet would write it."""
    (about,) = (Ref.of({"apiVersion": "v1", "kind": "Pod", **item}) for item in pods_of(cluster, OPERATOR))
    involved = {"apiVersion": "v1", "kind": about.kind, "namespace": about.namespace, "name": about.name}
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    event = obj("v1", "Event", "kfv-test-warning", about.namespace, involvedObject=involved, type="Warning", count=1)
    with made(
        cluster, event | {"reason": "KfvTest", "message": "made up", "firstTimestamp": now, "lastTimestamp": now}
    ):
        yield


def may_use_pod_groups(cluster: Cluster) -> bool:
    return is_allowed(cluster, "kubeflow", "training-operator", "scheduling.volcano.sh", "create")


@contextlib.contextmanager
def without_rights(cluster: Cluster, _where: str) -> Iterator[None]:
    """The operator may not make PodGroups, as the authorizer knows a moment after its role says so."""
    with patched(cluster, OPERATOR_ROLE) as patch:
        patch({"rules": NO_PODGROUPS})
        until(lambda: not may_use_pod_groups(cluster))
        yield
    until(lambda: may_use_pod_groups(cluster))


def replaced(path: str, value: Any) -> list[Object]:
    return [{"op": "replace", "path": path, "value": value}]


def hooked(name: str, path: str, value: Any) -> Making:
    """The first webhook of a validating configuration, with another value there."""
    return changing(hook("Validating", name), replaced(f"/webhooks/0/{path}", value), json_patch=True)


NO_PEM = base64.b64encode(b"no certificate").decode()
NO_PODGROUPS = [{"apiGroups": ["kubeflow.org"], "resources": ["*"], "verbs": ["*"]}]
NOWHERE = {"nodeSelector": {"kfv-test": "nowhere"}}
TOO_MUCH = {"requests": {"cpu": "1000"}}
NEVER = {"exec": {"command": ["false"]}, "periodSeconds": 1}
WANTS_DATA = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
ENDS = {**pod_spec("exit 1"), "restartPolicy": "Never"}
GREEDY = pod_spec("tail /dev/zero", readinessProbe=NEVER, resources={**SMALL, "limits": {"memory": "16Mi"}})
"""Never ready, so that no judgement finds it well in the moments between a start and the next kill."""

ROUNDS = {
    "pods and their makers": (
        way(
            "a quota lets no pod of a Deployment in",
            lambda at, where: refused(at, where, "Deployment"),
            C2="ReplicaFailure",
        ),
        way(
            "a DaemonSet fits no node",
            there(workload("DaemonSet", pod_spec() | NOWHERE), when=shows("observedGeneration")),
            C4="NoNodes",
        ),
        way(
            "a Job has failed",
            there(workload("Job", ENDS, backoffLimit=0), when=shows("'Failed'")),
            C5="BackoffLimitExceeded",
        ),
        way("a container grows over its limit", there(pod("greedy", GREEDY), when=shows("OOMKilled")), C7="OOMKilled"),
        way(
            "a pod of the release has ended", there(pod("ended", ENDS, "kubeflow"), when=shows("'Failed'")), C6="Failed"
        ),
        way("a volume is taken from under its claim", lost_volume, D3="Lost"),
        way("a volume outlives its claim", there(outlived("Retain"), when=shows("Released")), D4="Kept"),
        way("a node is cordoned", cordoned, A4="Cordoned"),
        way("kfctl left its kind", there(kfdefs), A10="KfDef"),
    ),
    "what is asked for and absent": (
        way(
            "a quota lets no pod of a StatefulSet in",
            lambda at, where: refused(at, where, "StatefulSet", serviceName="none"),
            C3="ReplicasNotReady",
        ),
        way("a Deployment of the release is gone", without(CONTROLLERS), F1="Missing", follows="C2"),
        way("a webhook configuration is gone", without(hook("Validating", "queues-validate")), B3="Missing"),
        way("a definition is gone", without(NUMA), B1="Missing"),
        way("the scheduler has no configuration", configured(lambda _: None), F4="NoConfiguration"),
        way("a Service of the release is gone", without(METRICS), C1="Absent"),
        way("an API that nobody serves", there(nobodys_api, when=shows("False")), B2="NoService"),
    ),
    "configurations that cannot work": (
        way("the scheduler's configuration is no YAML", configured(lambda _: "actions: [\n"), F4="Unreadable"),
        way(
            "a queue may use no GPUs",
            changing(QUEUE, {"spec": {"capability": {"nvidia.com/gpu": "0"}}}),
            F3="NoCapability",
        ),
        way("the operator may not make PodGroups", without_rights, G2="Denied"),
        way(
            "a caBundle is no certificate",
            hooked("jobs-validate", "clientConfig/caBundle", NO_PEM),
            B3="BadCaBundle",
            follows="B4",
        ),
        way("a rollout is paused", changing(CONTROLLERS, {"spec": {"paused": True}}), C2="Paused", follows="F1"),
        way("a volume cannot be given back", there(outlived("Delete"), when=shows("Failed")), D4="Failed"),
        way(
            "a scheduler that nobody runs",
            there(pod("orphan", pod_spec() | {"schedulerName": "nobody"})),
            C8="NotJudged",
        ),
        way("something warns of the operator", warned_of, C10="KfvTest"),
    ),
    "turned down and turned off": (
        way(
            "the scheduler does not allocate", configured(lambda old: old | {"actions": "enqueue"}), F4="ActionMissing"
        ),
        way("the provisioner is scaled to zero", scaled_down(PROVISIONER), D2="ScaledToZero", follows="D3"),
        way("the operator is scaled to zero", scaled_down(OPERATOR), C2="ScaledToZero", follows="C9 G3 G4"),
        way(
            "a webhook calls a port that is not there",
            hooked("jobs-validate", "clientConfig/service/port", 8),
            B3="PortMismatch",
            follows="B4",
        ),
        way("a finalizer keeps a definition", held_in_deletion, B1="Terminating"),
        way("every node has a taint", tainted, A4="AllTainted"),
    ),
    "half turned off": (
        way(
            "a claim and its pod wait for nobody",
            there(nobodys_class, claim_of("kfv-test-nobody"), pod("waits", pod_spec() | WANTS_DATA)),
            D3="NotBound",
            follows="C8",
        ),
        way("gang does not count", configured(with_plugin("gang", enableJobReady=False)), F4="GangDisabled"),
        way("admission is scaled to zero", without_admission, F1="ScaledToZero", follows="B3 B4 C2 C9"),
        way("a node has no kubelet", there(lambda _: obj("v1", "Node", "kfv-test-dead")), A4="NotReady"),
    ),
    "names of nobody": (
        way("a plugin is misspelt", configured(misspelt("gang", "gnag")), F4="GangMissing"),
        way(
            "a webhook calls nobody",
            hooked("jobs-validate", "clientConfig/service/name", "nobody"),
            B6="NoService",
            follows="B3 B4",
        ),
        way("a claim is never used", there(claim_of(None)), D3="Unused"),
        way("no node is large enough", there(pod("glutton", pod_spec(resources=TOO_MUCH))), C8="Insufficient"),
    ),
    "waiting for what does not come": (
        way("nobody provisions a class", there(nobodys_class, claim_of("kfv-test-nobody")), D3="NotBound"),
        way("a Service selects nobody", there(lonely_service), C9="NoPod"),
        # Pods last: a judgement waits until the youngest of them is late, and so is then what was made before it.
        way("no node has the label", there(pod("homeless", pod_spec() | NOWHERE)), C8="Affinity"),
        way("a pod is never ready", there(pod("unready", pod_spec(readinessProbe=NEVER))), C6="NotReady"),
    ),
}


@pytest.fixture(scope="module")
def healthy(kubeconfig: Path, cluster: Cluster) -> Iterator[Findings]:
    """What every check says before anything is broken, and must say again when all is healed."""
    before = judge(kubeconfig, *EVERY, read_only=False)
    assert bad(before) == {}
    yield before
    assert at_last(lambda: judge(kubeconfig, *EVERY, read_only=False), before) == before
    assert leftovers(cluster) == []


@pytest.fixture(scope="module")
def where(cluster: Cluster) -> Iterator[str]:
    """A namespace for what the ways make."""
    with space(cluster) as name:
        yield name


@pytest.mark.parametrize("ways", ROUNDS.values(), ids=ROUNDS)
def test_each_way_fails_the_check_that_owns_it_and_no_other(
    ways: tuple[Way, ...], kubeconfig: Path, cluster: Cluster, healthy: Findings, where: str
) -> None:
    with contextlib.ExitStack() as stack:
        for item in ways:
            stack.enter_context(item.make(cluster, where))
        found = judge(kubeconfig, *EVERY, read_only=False, seconds=1, timing=HASTY)

    expected = {check: reason for item in ways for check, reason in item.fails.items()}
    assert bad(found) == expected
    followers = {id_ for id_, outcome in found.items() if outcome == ("skip", "ConsequenceOf")}
    # C10 follows as long as events stand that a slow machine was late with; it fails in no case.
    assert followers - {"C10"} == frozenset().union(*(item.follows for item in ways)) - {"C10"}
    others = found.keys() - expected.keys() - followers
    assert {id_: found[id_][0] for id_ in others} == {id_: status_of(healthy, found, id_) for id_ in others}


def status_of(healthy: Findings, found: Findings, id_: str) -> str:
    """As before; a check that had nothing to look at passes when a way made something."""
    before = healthy[id_]
    return "pass" if before == ("skip", "NoObjects") and found[id_][0] == "pass" else before[0]


def test_there_are_enough_ways_and_no_round_asks_one_check_twice() -> None:
    every = [item.name for ways in ROUNDS.values() for item in ways]
    assert len(every) == len(set(every)) >= 25
    for ways in ROUNDS.values():
        owners = [check for item in ways for check in item.fails]
        assert len(owners) == len(set(owners))
