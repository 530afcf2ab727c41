"""Every kind of job of the training operator as a gang: no pod starts until all can.

Three nodes have four GPUs each, and a notebook holds one GPU. Three pods of each job request a whole node, but only two
nodes are free. Without gang scheduling two of them start, and so do the pods that need no GPU (the parameter server,
MPI's launcher, MXNet's scheduler), and all wait for the third. With gang scheduling no pod starts and the GPUs stay
free; when the notebook is deleted, all start.

A gang is the sum of all replicas of a job: `minMember` of its PodGroup includes the launcher. Pods are simulated: the
init containers with which a PyTorchJob's workers and MPI's launcher wait for others do not run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.gang_demo.jobs.gangs import Gang, are_refused_for_gpus, find_gang
from kubeflow_volcano.gang_demo.jobs.jobs import holder, job, replicas
from kubeflow_volcano.gang_demo.model import Nodes, Outcome
from kubeflow_volcano.gang_demo.play.history import History
from kubeflow_volcano.gang_demo.play.stand import BY_OPERATORS, Case, Stand, no_contradiction

_NODES = Nodes(3, 4)
_NOTEBOOK = "notebook"
_HOLD_SECONDS = 2.0
_CLEAR_SECONDS = 20.0
_HEADS = ("KIND", "PODS", "MINMEMBER", "1 GPU SHORT", "ALL FREE")

_MNIST = ("python3", "/opt/pytorch-mnist/mnist.py", "--backend=nccl")
_HOROVOD = ("mpirun", "-np", "12", "python", "tf_cnn_benchmarks.py", "--variable_update=horovod")
_BOOST = ("python", "/opt/mlkube/main.py", "--job_type=Train", "--n_estimators=10")
_PADDLE = ("python", "-m", "paddle.distributed.launch", "run_check")
_MXNET = ("python3", "train_mnist.py", "--kv-store=dist_device_sync")

_PYTORCH_IMAGE = "docker.io/kubeflowkatib/pytorch-mnist:v1beta1-45c5727"
_MPI_IMAGE = "docker.io/mpioperator/tensorflow-benchmarks:latest"
_BOOST_IMAGE = "docker.io/kubeflow/xgboost-dist-iris:latest"
_PADDLE_IMAGE = "docker.io/paddlepaddle/paddle:2.4.0rc0-gpu-cuda11.2-cudnn8.1-trt8.0"
_MXNET_IMAGE = "docker.io/kubeflow/mxnet-gpu:latest"


def _cpu(image: str, command: Sequence[str] = ()) -> Object:
    return replicas(1, gpus=0, image=image, command=command)


def _node(count: int, image: str, command: Sequence[str] = ()) -> Object:
    return replicas(count, gpus=_NODES.gpus, image=image, command=command)


JOBS: Mapping[str, Mapping[str, Object]] = {
    "TFJob": {"PS": replicas(1, gpus=0), "Worker": replicas(3, gpus=_NODES.gpus)},
    "PyTorchJob": {"Master": _node(1, _PYTORCH_IMAGE, _MNIST), "Worker": _node(2, _PYTORCH_IMAGE, _MNIST)},
    "MPIJob": {"Launcher": _cpu(_MPI_IMAGE, _HOROVOD), "Worker": _node(3, _MPI_IMAGE)},
    "XGBoostJob": {"Master": _node(1, _BOOST_IMAGE, _BOOST), "Worker": _node(2, _BOOST_IMAGE, _BOOST)},
    "PaddleJob": {"Worker": _node(3, _PADDLE_IMAGE, _PADDLE)},
    "MXJob": {"Scheduler": _cpu(_MXNET_IMAGE), "Server": _cpu(_MXNET_IMAGE), "Worker": _node(3, _MXNET_IMAGE, _MXNET)},
}
"""Replicas of a job of each kind, with roles, images and commands like the operator's own examples. Three pods need a
whole node each. Operator 1.8 is the last with MXJob."""


def manifest(namespace: str) -> Sequence[Object]:
    """The notebook that holds a GPU, and a job of each kind; apply one job at a time."""
    return holder(_NOTEBOOK, namespace, 1), *(_job(kind, namespace) for kind in JOBS)


def _job(kind: str, namespace: str) -> Object:
    spec = {"slotsPerWorker": _NODES.gpus} if kind == "MPIJob" else {"jobMode": "MXTrain"} if kind == "MXJob" else {}
    made = job(kind, kind.lower(), namespace, JOBS[kind])
    return made | {"spec": spec | made["spec"]}


def size_of(kind: str) -> int:
    """Number of pods of the job of that kind, which is the size of its gang."""
    return sum(role["replicas"] for role in JOBS[kind].values())


def served_kinds(cluster: Cluster) -> Sequence[str]:
    """The kinds that the cluster serves: operators before 1.6 have no PaddleJob, those after 1.8 no MXJob.

    Raises:
        NotServed: it serves none.
    """
    group_version = _job("TFJob", "")["apiVersion"]
    there = cluster.kinds(group_version)
    if served := [kind for kind in JOBS if kind in there]:
        return served
    raise NotServed(group_version, " or ".join(JOBS))


def _run(stand: Stand, *, gang: bool) -> Outcome:
    kinds = served_kinds(stand.cluster)
    namespace = stand.namespace()
    rows: list[Sequence[str]] = [(kind, *["-"] * 3, "not served") for kind in JOBS if kind not in kinds]
    problem, longest = "", 0.0
    with stand.watching(namespace) as history:
        for kind in kinds:
            play = Play(stand, history, namespace, kind, gang)
            problem = play.short() or play.free()
            rows.append(play.row())
            longest = max(longest, play.in_part())
            problem = problem or play.clear()
            if problem:
                problem = f"{kind}: {problem}"
                break
        figures = {"longest time a gang was partly placed": f"{longest:.2f} s"} if gang else {}
        rows.sort(key=lambda row: list(JOBS).index(row[0]))
        return stand.outcome(history, problem, heads=_HEADS, rows=rows, lines=(), figures=figures)


@dataclass
class Play:
    """One job with the notebook, then without it, then deleted."""

    stand: Stand
    history: History
    namespace: str
    kind: str
    gang: bool
    made: list[Object] = field(default_factory=list)
    placed: list[int] = field(default_factory=list)
    minimum: int = 0

    @property
    def name(self) -> str:
        """Name of the job and of its PodGroup."""
        return self.kind.lower()

    @property
    def size(self) -> int:
        """Number of pods of the job."""
        return size_of(self.kind)

    def short(self) -> str:
        """Play with the notebook; returns what is not as claimed."""
        history = self.history
        self.made += self.stand.create(holder(self._notebook, self.namespace, 1))
        problem = self.stand.settle(history, lambda: len(history.holders) == 1, no_contradiction, 0)
        if not problem:
            self.made += self.stand.create(_job(self.kind, self.namespace))
            wrong = partial(self.find_contradiction, 0)
            problem = self.stand.settle(history, self.is_held_back, wrong, _HOLD_SECONDS)
        return self._recorded(problem)

    def free(self) -> str:
        """Delete the notebook; returns what is not as claimed."""
        self.stand.delete_pods(self.history, self._notebook)
        return self._recorded(
            self.stand.settle(self.history, self.has_started, partial(self.find_contradiction, self.size), 0)
        )

    def clear(self) -> str:
        """Delete the job, so that the cluster is empty for the next one."""
        self.history.dismiss(*self.history.present)
        self.stand.session.delete(*self.made)
        gone = self.history.until(lambda: not (self.history.present or self.history.present_groups), _CLEAR_SECONDS)
        return "" if gone else f"its pods still exist {_CLEAR_SECONDS:.0f} s after it was deleted"

    def row(self) -> Sequence[str]:
        """Kind, pods, minMember, and the number of pods on nodes with and without the notebook."""
        placed = [f"{count} placed" for count in self.placed] + ["-"] * (2 - len(self.placed))
        return self.kind, str(self.size), str(self.minimum or "-"), *placed

    def in_part(self) -> float:
        """The longest time in seconds for which some but not all of its pods had a node."""
        return self.history.in_part(self.name, self.size)

    def is_held_back(self) -> bool:
        """Whether the state with the notebook is reached: no pod has a node, or without a gang all but one."""
        if self.gang:
            return self._gang.is_withheld()
        there = self.history.present_of(self.name)
        placed = self.history.placed(self.name)
        return len(there) == self.size and placed == self.size - 1 and are_refused_for_gpus(there)

    def has_started(self) -> bool:
        """Whether all its pods have nodes."""
        return self._gang.is_whole() if self.gang else self.history.placed(self.name) == self.size

    def find_contradiction(self, most: int) -> str:
        """What contradicts the claim at any moment; at most `most` pods of a gang may have had a node."""
        return self._gang.find_contradiction(most) if self.gang else find_gang(self.history)

    @property
    def _gang(self) -> Gang:
        return Gang.of_all(self.history, self.name, self.size)

    @property
    def _notebook(self) -> str:
        return f"{_NOTEBOOK}-{self.name}"

    def _recorded(self, problem: str) -> str:
        self.placed.append(self.history.placed(self.name))
        self.minimum = self._gang.group.minimum if self._gang.group else 0
        return problem


def _case(name: str, title: str, *, gang: bool) -> Case:
    return Case(
        scenario="job-kinds",
        name=name,
        title=title,
        control=not gang,
        wiring="volcano" if gang else "none",
        nodes=_NODES,
        manifest=manifest,
        run=partial(_run, gang=gang),
        seconds=180.0,
        schedulers=BY_OPERATORS,
    )


CASES = (
    _case("job-kinds-default", "each kind of job, default scheduler", gang=False),
    _case("job-kinds-gang", "each kind of job as a gang", gang=True),
)
