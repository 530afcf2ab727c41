"""Report documents for tests: real checks judge facts that are written down here, so that no cluster is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.experiment.record import Group, Member, Moment
from kubeflow_volcano.experiment.remains import Cleanup, Tracked
from kubeflow_volcano.experiment.stage import Step
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import failed
from kubeflow_volcano.validators.core.results import Result
from kubeflow_volcano.validators.hosts import CHECKS as HOST_CHECKS
from kubeflow_volcano.validators.probes.audit import CLEANUP
from kubeflow_volcano.validators.probes.gang.evidence import GangEvidence
from kubeflow_volcano.validators.probes.gang.gang import GANG
from kubeflow_volcano.validators.report.document import Report
from kubeflow_volcano.validators.run.judging import Judging
from tests.samples.facts import NOW, deployment, facts, node, obj, pod
from tests.samples.hosts import broken as unreachable
from tests.samples.hosts import facts as host_facts
from tests.samples.hosts import host

HOSTILE = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> ]]> &amp; \x1b[31mred\x1b[0m"
    " \x00\x0b\ufffe\u202e\ud800 | `rm` ${x} {{ 7*7 }} {% raw %} </style></title></pre> javascript:alert(1)"
)
"""A name or a line of a log that would like to be more than text."""

_SIMULATED = {
    "annotations": {"kwok.x-k8s.io/node": "fake"},
    "labels": {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"},
}
_DEFAULT = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}


def _at(seconds: float) -> str:
    return datetime.fromtimestamp(NOW + seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _step(id_: str, group: str, pods: Mapping[str, tuple[float, str]], told: Iterable[tuple[float, str, str]]) -> Step:
    """`pods` are when each was bound and to which node (never: 0 and nothing); `told` are moments in order."""
    members = tuple(
        Member(
            name,
            f"uid-{name}",
            "volcano",
            node=where,
            bound_at=_at(when) if where else "",
            bound_monotonic=when,
            judged="" if where else _at(0.4),
        )
        for name, (when, where) in pods.items()
    )
    groups = (Group(group, f"uid-{group}", 3, "Running", _at(0.4)),) if group else ()
    timeline = tuple(Moment(_at(when), name, what) for when, name, what in told)
    bound = tuple(name for name, (_, where) in pods.items() if where)
    return Step(id_, members, groups, timeline, ((), bound), reached=True, seconds=1.0, held_seconds=5.0)


def gang() -> GangEvidence:
    """The experiment as it goes where gang scheduling works."""
    three = ("h1-p0", "h1-p1", "h1-p2")
    fit = _step(
        "H1",
        "h1",
        dict.fromkeys(three, (0.9, "node-1")),
        [(0.0, "h1", "phase Pending"), *((0.05, name, "created") for name in three), (0.5, "h1", "phase Inqueue")]
        + [(0.9, name, "bound to node node-1") for name in three]
        + [(1.0, "h1", "phase Running")],
    )
    blocked = [
        (2.0, "h2", "phase Pending"),
        (2.05, "h2-p0", "created"),
        (2.06, "h2-p1", "created"),
        (3.2, "h2-p2", "created"),
        (3.4, "h2", "judged: NotEnoughResources: 3/3 tasks in gang unschedulable"),
        *((3.4, f"h2-p{number}", "judged: Unschedulable") for number in range(3)),
    ]
    stuck = _step("H2", "h2", {f"h2-p{number}": (0.0, "") for number in range(3)}, blocked)
    freed = [
        *blocked,
        (8.5, "h2-p2", "removed"),
        (8.6, "h2-p3", "created"),
        *((9.6, f"h2-p{number}", "bound to node node-1") for number in (0, 1, 3)),
        (9.8, "h2", "phase Running"),
    ]
    released = _step("H3", "h2", {f"h2-p{number}": (9.6, "node-1") for number in (0, 1, 3)}, freed)
    names = ("h4-p0", "h4-p1", "h4-p2")
    control = _step(
        "H4",
        "h4",
        {"h4-p0": (11.0, "node-1"), "h4-p1": (12.5, "node-1"), "h4-p2": (0.0, "")},
        [
            (10.0, "h4", "phase Pending"),
            *((10.1, name, "created") for name in names),
            (11.0, "h4-p0", "bound to node node-1"),
            (12.1, "h4-p2", "judged: Unschedulable"),
            (12.5, "h4-p1", "bound to node node-1"),
        ],
    )
    default = _step(
        "H5",
        "",
        {"h5-p0": (14.1, "node-1"), "h5-p1": (14.2, "node-1"), "h5-p2": (0.0, "")},
        [
            *((14.0, f"h5-p{number}", "created") for number in range(3)),
            (14.1, "h5-p0", "bound to node node-1"),
            (14.2, "h5-p1", "bound to node node-1"),
            (14.2, "h5-p2", "judged: Unschedulable"),
        ],
    )
    steps = {item.id: item for item in (fit, stuck, released, control, default, *_two_gangs())}
    return GangEvidence("kfv-smoke-0123abcd", "default", "Open", steps=steps)


def _two_gangs() -> Iterable[Step]:
    """H6 as it goes, with its controls."""
    order = ("a0", "b1", "b0", "a1")
    for id_, start, bound in (("H6s", 16.0, ("a0", "a1")), ("H6", 19.0, ("a0", "a1")), ("H6c", 24.0, ("a0", "b1"))):
        names = {letters: f"{id_.lower()}-{letters}" for letters in order}
        told = [(start, name, "created") for name in names.values()]
        told += [(start + 0.7, names[letters], "bound to node node-1") for letters in bound]
        pods = {names[item]: (start + 0.7, "node-1") if item in bound else (0.0, "") for item in order}
        yield _step(id_, "" if id_ == "H6c" else f"{id_.lower()}-a", pods, told)
        if id_ == "H6":
            told = [*told, *((22.0, f"h6-{item}", "removed") for item in bound)]
            told += [(22.6, f"h6-{item}", "bound to node node-1") for item in ("b0", "b1")]
            yield _step("H6r", "h6-b", {f"h6-{item}": (22.6, "node-1") for item in ("b0", "b1")}, told)


def _objects() -> list[Object]:
    info = {
        "osImage": "openEuler 22.03 (LTS-SP4)",
        "kubeletVersion": "v1.30.2",
        "containerRuntimeVersion": "containerd://1.6.22",
    }
    ready = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "8"}, "nodeInfo": info}
    nodes = [node(f"node-{number}", status=ready) for number in (1, 2)]
    gpus = {**ready, "allocatable": {"cpu": "8", "nvidia.com/gpu": "4"}}
    nodes += [node(f"gpu-{number}", status=gpus, metadata=_SIMULATED) for number in (1, 2)]
    pods = [
        pod(f"{namespace}/{name}-5d9c7-{number}", owner=name, spec=_on(f"node-{1 + number % 2}", name))
        for namespace, name, replicas in (
            ("kubeflow", "training-operator", 1),
            ("kubeflow", "katib-controller", 2),
            ("volcano-system", "volcano-scheduler", 1),
            ("volcano-system", "volcano-controllers", 1),
            ("local-path-storage", "local-path-provisioner", 1),
            ("kube-system", "coredns", 2),
        )
        for number in range(replicas)
    ]
    local = {"provisioner": "rancher.io/local-path", "volumeBindingMode": "WaitForFirstConsumer"}
    archive = {"provisioner": "nfs.csi.k8s.io", "volumeBindingMode": "Immediate"}
    classes = [
        obj("StorageClass", "local-path", metadata=_DEFAULT, reclaimPolicy="Delete", **local),
        obj("StorageClass", "archive", reclaimPolicy="Retain", **archive),
    ]
    claims = [
        obj("PersistentVolumeClaim", f"kubeflow/{name}", spec=_claim("20Gi", f"pvc-{name}"), status={"phase": "Bound"})
        for name in ("mysql", "minio")
    ]
    namespaces = [obj("Namespace", name) for name in ("kubeflow", "volcano-system", "kube-system", "default")]
    return [*nodes, *pods, *classes, *claims, *namespaces, deployment("kubeflow/katib-controller", replicas=2)]


def _on(name: str, image: str) -> dict[str, Any]:
    return {"nodeName": name, "containers": [{"name": "main", "image": f"docker.io/kubeflow/{image}:v1.8.1"}]}


def _claim(size: str, volume: str) -> dict[str, Any]:
    return {
        "storageClassName": "local-path",
        "volumeName": volume,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
    }


def _report(known: Facts, results: Sequence[Result], **more: Any) -> Report:
    options = {"read_only": False, "strict": False, "select": [], "report_dir": "reports"}
    where = ("kubeconfig ~/.kube/config, context lab", "1.9.1", "of the running operator")
    given = {"cleanup": Cleanup((), (), (), (), 0.0)} | more
    return Report("0123abcd", options, *where, NOW, NOW + 42, 41.7, results, known, **given)


def _judged(known: Facts) -> tuple[Result, ...]:
    judging = Judging(CHECKS, {}, silent)
    judging.judge(known)
    judging.judge_probes(known)
    return judging.results()


def _with_gang(known: Facts, results: Sequence[Result]) -> list[Result]:
    """The checks of the experiment as its evidence says, whatever stood in their way in these facts."""
    steps = {item.id: item for item in CHECKS if item.probe is GANG}
    return [
        Result(item.check, steps[item.check.id](known), item.started, 3.2) if item.check.id in steps else item
        for item in results
    ]


@cache
def healthy() -> Report:
    """Nothing wrong: checks that hold, or do not apply."""
    known = facts(*_objects(), evidences={GANG: gang(), CLEANUP: Cleanup((), (), (), (), 0.0)})
    results = _with_gang(known, _judged(known))
    good = [item for item in results if item.outcome.status in {"pass", "skip"} and not item.outcome.because]
    return _report(known, good)


def broken(**more: Any) -> Report:
    """Findings of every kind."""
    return replace(_broken(), **more)


@cache
def _broken() -> Report:
    bad = {"phase": "Pending", "conditions": []}
    sick = [
        pod("kubeflow/mysql-0", status=bad, spec=_on("node-2", "mysql")),
        pod("default/waits", status=bad, spec={"containers": [{"name": "main", "image": "gone.example/away:v1"}]}),
        node("node-3", status={"conditions": [{"type": "Ready", "status": "False", "message": "kubelet stopped"}]}),
        obj("PersistentVolumeClaim", "kubeflow/katib-mysql", spec=_claim("10Gi", ""), status={"phase": "Pending"}),
    ]
    known = facts(*_objects(), *sick, evidences={GANG: gang(), CLEANUP: Cleanup((), (), (), (), 0.0)})
    return _report(known, _with_gang(known, _judged(known)))


@cache
def preflight() -> Report:
    """Of three hosts one swaps, and one does not answer."""
    swap = {"devices": [{"name": "/dev/dm-1", "type": "partition", "kib": 1}]}
    known = host_facts(host("n1"), host("n2", swap=swap), unreachable("n3", "reach", HOSTILE))
    judging = Judging(HOST_CHECKS, {}, silent)
    judging.judge(known)
    return _report(known, judging.results(), prefix="preflight-")


@cache
def hostile() -> Report:
    """Every text that can come from a cluster is hostile."""
    wicked = Ref("v1", "Pod", HOSTILE, HOSTILE)
    outcome = failed(
        "Bad", HOSTILE, todo=HOSTILE, expected=HOSTILE, observed={HOSTILE: HOSTILE, "list": [HOSTILE]},
        objects=[wicked], commands=[HOSTILE], changes=[HOSTILE], evidence={f"../{HOSTILE}": f"{HOSTILE}\n{HOSTILE}"},
    )  # fmt: skip
    evidence = gang()
    first = evidence.steps["H1"]
    evidence.steps["H1"] = replace(first, timeline=(*first.timeline, Moment(_at(1.0), HOSTILE, f"lost: {HOSTILE}")))
    known = facts(
        *_objects(),
        node(HOSTILE, status={"conditions": [], "nodeInfo": {"osImage": HOSTILE, "kubeletVersion": HOSTILE}}),
        obj("StorageClass", HOSTILE, provisioner=HOSTILE),
        obj("PersistentVolumeClaim", f"a/{HOSTILE.replace('/', '')}", spec=_claim(HOSTILE, HOSTILE)),
        pod("b/p", metadata={"namespace": HOSTILE}, spec=_on(HOSTILE, HOSTILE)),
        evidences={GANG: evidence, CLEANUP: Cleanup((), (), (), (), 0.0)},
    )
    results = [Result(item, outcome, NOW, 0.1) for item in CHECKS]
    left = Cleanup((), (), (Tracked(wicked, "u", HOSTILE),), (), 0.0)
    return _report(known, _with_gang(known, results), cleanup=left)


@cache
def large() -> Report:
    """1,000 nodes and 10,000 pods, of which a hundred are not well."""
    nodes = [node(f"worker-{number:04}") for number in range(1000)]
    bad = {"phase": "Pending", "conditions": []}
    pods = [
        pod(
            f"team-{number % 60:02}/job-{number:05}",
            owner=f"Job/job-{number:05}",
            spec=_on(f"worker-{number % 1000:04}", f"trainer-{number % 400}"),
            **({"status": bad} if number < 100 else {}),
        )
        for number in range(10_000)
    ]
    known = facts(*_objects(), *nodes, *pods, evidences={GANG: gang(), CLEANUP: Cleanup((), (), (), (), 0.0)})
    return _report(known, _with_gang(known, _judged(known)))
