"""A Volcano Job with parameter servers and workers: it starts, restarts and ends as a whole.

While another pod holds one of four GPUs, no pod of the job starts. When a worker is evicted, all six pods are replaced
(PodEvicted, RestartJob). When all workers have completed, the job completes, although its parameter servers would run
forever (TaskCompleted, CompleteJob). The plugin svc creates a headless Service and a ConfigMap with the names of the
pods, the plugin env sets the index of each pod (VC_TASK_INDEX). The control is the same job with minAvailable 1 and
without policies.

By hand: apply the pod `other` first; delete it; delete a worker; then let the workers end with
`kubectl annotate pod -l volcano.sh/task-spec=worker rehearsal.kubeflow-volcano.io/succeed-after=0s`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.watch.observer import Subject
from kubeflow_volcano.experiment.record import Member
from kubeflow_volcano.gang_demo.jobs.jobs import RESTART, TASK, VCJOB, holder
from kubeflow_volcano.gang_demo.jobs.vcjobs import Task, finish, vcjob
from kubeflow_volcano.gang_demo.model import Nodes, Outcome
from kubeflow_volcano.gang_demo.play.history import History
from kubeflow_volcano.gang_demo.play.stand import Case, Course, Stand
from kubeflow_volcano.text import counted

NAME, OTHER = "train", "other"
PS, WORKERS = 2, 4
SIZE = PS + WORKERS
_COMPLETE: Mapping[str, str] = {"event": "TaskCompleted", "action": "CompleteJob"}
_HOLD = 3.0


def manifest(namespace: str, *, gang: bool = True) -> tuple[Object, ...]:
    """The pod that holds a GPU, to be deleted later; then the job, as a gang or (not `gang`) as independent pods."""
    return (
        holder(OTHER, namespace, 1),
        vcjob(
            NAME,
            namespace,
            Task("ps", PS, gpus=0),
            Task("worker", WORKERS, policies=(_COMPLETE,) if gang else ()),
            minimum=SIZE if gang else 1,
            policies=(RESTART,) if gang else (),
            plugins={"env": [], "svc": []},
        ),
    )


def phases(states: Sequence[Object]) -> list[str]:
    """Phases of a job in the order in which it had them, without repetitions."""
    phases: list[str] = []
    for state in states:
        phase = state.get("status", {}).get("state", {}).get("phase", "")
        if phase and phase not in phases[-1:]:
            phases.append(phase)
    return phases


def find_mixed_runs(history: History, former: frozenset[str]) -> str:
    """Evidence that the job did not restart as a whole: a new pod has a node while a former one still exists."""
    members = history.members_of(NAME)
    old = [item.name for item in members if item.uid in former and not item.gone]
    new = [item.name for item in members if item.uid not in former and item.node]
    return (
        f"{', '.join(new)} started again while {', '.join(old)} of the former run still existed" if old and new else ""
    )


def find_early_start(history: History, other: str) -> str:
    """Evidence that pods of the job held nodes while the other pod still did; empty without any."""
    own = {item.uid for item in history.members_of(NAME)}
    there = {item.uid for item in history.members.values() if item.name == other}
    early = max((len(own & item.holders) for item in history.holdings if there & item.holders), default=0)
    return f"{early} of {SIZE} pods started before the GPU was free" if early else ""


def find_plugin_faults(live: Sequence[Object], service: Object | None, hosts: Object | None) -> str:
    """What the plugins env and svc should have added to the pods, the Service and the ConfigMap, but did not."""
    if service is None or service["spec"].get("clusterIP") != "None":
        return f"Service {NAME} is {'not headless' if service else 'missing'}"
    for task, count in (("ps", PS), ("worker", WORKERS)):
        wanted = [f"{NAME}-{task}-{index}.{NAME}" for index in range(count)]
        if ((hosts or {}).get("data") or {}).get(f"{task}.host", "").split() != wanted:
            return f"ConfigMap {NAME}-svc does not name {', '.join(wanted)} in {task}.host"
    for pod in live:
        spec, labels = pod["spec"], pod["metadata"]["labels"]
        (container,) = spec["containers"]
        environment = {item["name"]: item for item in container.get("env") or ()}
        index = pod["metadata"]["name"].rpartition("-")[2]
        if environment.get("VC_TASK_INDEX", {}).get("value") != index:
            return f"{pod['metadata']['name']} has no VC_TASK_INDEX {index}"
        lacking = {f"VC_{task}_{what}" for task in ("PS", "WORKER") for what in ("HOSTS", "NUM")} - set(environment)
        if lacking:
            return f"{pod['metadata']['name']} has no {', '.join(sorted(lacking))}"
        if (spec.get("hostname"), spec.get("subdomain")) != (pod["metadata"]["name"], NAME):
            return f"{pod['metadata']['name']} of task {labels.get(TASK)} has no name in Service {NAME}"
    return "" if len(live) == SIZE else f"{counted(len(live), 'pod')} instead of {SIZE}"


@dataclass(kw_only=True)
class Training(Course):
    """One case while it runs; each step returns what was not as claimed."""

    namespace: str
    gang: bool

    def run(self) -> str:
        """Play all steps until one returns a problem."""
        for step in (self._wait, self._start, self.plugins, self._evict, self._end):
            if problem := step():
                return problem
        return ""

    @property
    def _states(self) -> list[Object]:
        return self.history.objects.get(f"Job/{NAME}", [])

    def _wait(self) -> str:
        """One GPU is taken: the gang waits as a whole; independent pods take the free GPUs."""
        other, job = manifest(self.namespace, gang=self.gang)
        self.stand.create(other)
        if problem := self.settle(lambda: bool(self.history.holders)):
            return problem
        self.stand.create(job)
        wanted = 0 if self.gang else SIZE - 1

        def reached() -> bool:
            return self.history.placed(NAME) == wanted and self.history.is_decided(NAME, SIZE)

        def wrong() -> str:
            most = self.history.placed(NAME)
            return f"{most} of {SIZE} pods started while one GPU was missing" if most > wanted else ""

        problem = self.settle(reached, wrong, _HOLD)
        self.figures["pods that started while one GPU was missing"] = f"{self.history.placed(NAME)} of {SIZE}"
        return problem

    def _start(self) -> str:
        """The GPU becomes free: all six run."""
        self.stand.delete_pods(self.history, OTHER)
        problem = self.settle(self._runs, measured="from the GPU being free to all pods running")
        return problem or (find_early_start(self.history, OTHER) if self.gang else "")

    def plugins(self) -> str:
        """What the plugins env and svc should have added, but did not."""
        cluster, where = self.stand.cluster, self.namespace
        live = [pod for pod in cluster.list("v1", "Pod", namespace=where).items if pod["metadata"]["name"] != OTHER]
        service = cluster.get(Ref("v1", "Service", where, NAME))
        return find_plugin_faults(live, service, cluster.get(Ref("v1", "ConfigMap", where, f"{NAME}-svc")))

    def _evict(self) -> str:
        """A worker is evicted: the gang restarts as a whole; of independent pods only that one is recreated."""
        former = frozenset(item.uid for item in self._present())
        victim = f"{NAME}-worker-1"
        self.stand.delete_pods(self.history, victim)
        wanted = SIZE if self.gang else 1

        def replaced() -> int:
            return sum(item.uid not in former for item in self._present())

        def wrong() -> str:
            if self.gang:
                return find_mixed_runs(self.history, former)
            return f"{counted(replaced(), 'pod')} replaced" if replaced() > wanted else ""

        def reached() -> bool:
            return replaced() == wanted and self._runs()

        name = "from the eviction to all pods running"
        problem = self.settle(reached, wrong, 1.0 if self.gang else _HOLD, name)
        retries = int((self._states or [{}])[-1].get("status", {}).get("retryCount", 0))
        self.figures["pods replaced when one was evicted"] = f"{replaced()} of {SIZE}"
        self.figures["restarts of the job"] = retries
        if not problem and retries != int(self.gang):
            return f"the job counts {retries} restarts"
        if not problem and ("Restarting" in phases(self._states)) != self.gang:
            return f"the job went through {', '.join(phases(self._states))}"
        return problem

    def _end(self) -> str:
        """The workers complete: with the policy the job does too; without, its parameter servers keep running."""
        last = {item.uid for item in self._present() if item.labels.get(TASK) == "ps"}
        finish(self.stand, self.history, NAME, "worker")

        def ended() -> int:
            return sum(bool(item.ended) for item in self._present() if item.labels.get(TASK) == "worker")

        def reached() -> bool:
            completed = phases(self._states)[-1:] == ["Completed"]
            if self.gang:
                return completed and all(self.history.members[uid].gone for uid in last)
            return ended() == WORKERS and self.history.placed(NAME) == PS

        def wrong() -> str:
            if any(self.history.members[uid].ended for uid in last):
                return "a parameter server ended by itself"
            return "the job is Completed" if not self.gang and "Completed" in phases(self._states) else ""

        problem = self.settle(reached, wrong, 0.5 if self.gang else _HOLD)
        self.figures["phases of the job"] = ", ".join(phases(self._states))
        self.figures["parameter servers still running when all workers are done"] = (
            f"{self.history.placed(NAME)} of {PS}"
        )
        return problem

    def _runs(self) -> bool:
        """Whether all pods run and the job's phase is Running."""
        return self.history.is_running(NAME, SIZE) and phases(self._states)[-1:] == ["Running"]

    def _present(self) -> list[Member]:
        return list(self.history.present_of(NAME))


def _run(stand: Stand, *, gang: bool) -> Outcome:
    namespace = stand.namespace()
    with stand.watching(namespace, also=[Subject(*VCJOB, namespace)]) as history:
        course = Training(stand=stand, history=history, namespace=namespace, gang=gang)
        problem = course.run()
    return stand.outcome(history, problem, figures=course.figures)


def _case(name: str, title: str, *, gang: bool) -> Case:
    how, run = partial(manifest, gang=gang), partial(_run, gang=gang)
    return Case("vcjob", name, title, control=not gang, wiring="", nodes=Nodes(WORKERS), manifest=how, run=run)


CASES = (
    _case("vcjob-loose", "minAvailable 1, no policies", gang=False),
    _case("vcjob-gang", "minAvailable 6, with policies", gang=True),
)
