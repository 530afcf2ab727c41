"""What an operator makes of a job: a PodGroup, pods that are handed to the gang scheduler, and a gang of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kubeflow_volcano.catalog.gangs import VOLCANO, GangScheduler
from kubeflow_volcano.cluster.admission.rescheduling import Rescheduling, rescheduling
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.watch.observer import Change, Observer, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.ended import kept_out
from kubeflow_volcano.experiment.pods import probe_pod
from kubeflow_volcano.experiment.record import Group, Member, Recorder
from kubeflow_volcano.experiment.remains import wait_gone
from kubeflow_volcano.experiment.session import ProbeRefused, Session
from kubeflow_volcano.experiment.spaces import Level
from kubeflow_volcano.experiment.stage import Step
from kubeflow_volcano.validators.core.timing import Timing

REPLICAS = 2

_SUITE_SECONDS = 900.0
_TICK = 0.1
_GONE_SECONDS = 20.0
_PROBE_LABEL = "kfv.io/probe"
_HELD = frozenset({"", "Pending"})


@dataclass
class OperatorEvidence:
    """What became of a job of two workers. `group` is None when no PodGroup of the job's name came.

    `minimum` is the job's minMember. `watches` says whether the operator watches its groups.
    `nudged` says that no pods came, although the group might run, until the job was touched; an operator that watches
    is slow and not asleep, so that its jobs are never touched. `held` and `released` are the steps of a job whose gang
    cannot be whole at first; `state` is the last condition of that job, with its message.
    """

    job: Ref
    queue: str
    minimum: int = REPLICAS
    replicas: int = REPLICAS
    gang: GangScheduler = VOLCANO
    timing: Timing = Timing()  # noqa: RUF009  it is frozen
    watches: bool = True
    group: Group | None = None
    pods: tuple[Member, ...] = ()
    nudged: bool = False
    held: Step | None = None
    released: Step | None = None
    state: str = ""
    attempts: int = 1
    refused: str = ""
    failure: str = ""
    rescheduling: Rescheduling | None = None

    @property
    def disturbed(self) -> tuple[Member, ...]:
        """Pods that another client or controller deleted."""
        return tuple(item for step in (self.held, self.released) if step for item in step.disturbed)


@dataclass
class Following:
    """One job while it is there: its record, and the conditions that hold."""

    session: Session
    evidence: OperatorEvidence
    record: Recorder

    @property
    def members(self) -> tuple[Member, ...]:
        """Its pods."""
        return tuple(item for item in self.record.members.values() if not item.gone)

    @property
    def group(self) -> Group | None:
        """Its PodGroup."""
        return next((item for item in self.record.groups.values() if not item.gone), None)

    def made(self) -> bool:
        """Whether group and pods are there."""
        return self.group is not None and len(self.members) >= self.evidence.replicas

    def keep(self) -> None:
        """Write group and pods as they are now into the evidence."""
        self.evidence.group = replace(self.group) if self.group else None
        self.evidence.pods = tuple(replace(item) for item in self.members)

    def wait_made(self) -> bool:
        """Wait for group and pods, and touch the job once when an operator that does not watch groups makes no pod."""
        until, timing = self.record.until, self.evidence.timing
        deadline = Deadline(timing.made_seconds)
        if not self.evidence.watches:
            until(lambda: self.made() or self._may_run(), deadline.remaining)
            if self._may_run() and not until(lambda: bool(self.members), timing.nudge_seconds):
                self.evidence.nudged = True
                self.session.cluster.patch(self.evidence.job, {"metadata": {"annotations": {_PROBE_LABEL: "nudged"}}})
        until(self.made, deadline.remaining)
        return self.made()

    def _may_run(self) -> bool:
        """Whether nothing keeps the operator from making pods; where groups do not tell, it waits for none."""
        return self.group is not None and not (self.group.tells and self.group.phase in _HELD)


def placed(following: Following) -> None:
    """Give the pods some time to be placed."""
    following.record.until(
        lambda: all(item.node for item in following.members), following.evidence.timing.placed_seconds
    )
    following.keep()


def observe(
    session: Session,
    evidence: OperatorEvidence,
    make: Callable[[Session, str, str], Object],
    selector: Callable[[str], str],
    level: Level = Level.RESTRICTED,
    *,
    then: Callable[[Following], None] = placed,
) -> OperatorEvidence:
    """Create the job that `make` describes, given namespace and name, and follow the pods of `selector` of its name.

    `then` goes on with a job whose group and pods were made.
    """
    try:
        namespace, name = session.namespace(level), evidence.job.name
        evidence.job = Ref(evidence.job.api_version, evidence.job.kind, namespace, name)
        _follow(session, evidence, session.create(make(session, namespace, name)), selector(name), then)
    except ProbeRefused as refusal:
        evidence.refused = str(refusal)
    except (ApiError, TimeoutError) as error:
        evidence.failure = str(error)
    return evidence


def _follow(
    session: Session, evidence: OperatorEvidence, job: Object, labels: str, then: Callable[[Following], None]
) -> None:
    ref = evidence.job
    named = f"metadata.name={ref.name}"
    subjects = [
        Subject("v1", "Pod", ref.namespace, labels),
        Subject(*evidence.gang.podgroup, ref.namespace, fields=named),
        Subject(ref.api_version, ref.kind, ref.namespace, fields=named),
    ]
    with Observer(session.cluster, subjects, Deadline(_SUITE_SECONDS)) as observer:
        changes = _noted(session, evidence, observer.changes(_TICK))
        following = Following(session, evidence, Recorder(session.cluster, ref.namespace, labels, changes))
        made = following.wait_made()
        following.keep()
        if any(item.scheduler != evidence.gang.scheduler for item in evidence.pods):
            evidence.rescheduling = rescheduling(session.cluster, _like_a_member(evidence))
        if made and not evidence.rescheduling:
            then(following)
        elif not made:
            evidence.refused = session.with_extent(_like_a_member(evidence), kept_out(session, ref))
    uids = {item.uid for item in following.record.members.values()}
    session.delete(job)
    own = [
        item
        for item in session.tracked
        if item.ref.namespace == ref.namespace and (item.ref.name == ref.name or item.uid in uids)
    ]
    if not wait_gone(session.cluster, own, Deadline(_GONE_SECONDS)):
        session.gone(*(item.uid for item in own))


def _like_a_member(evidence: OperatorEvidence) -> Object:
    """A pod of the gang scheduler, as those of the job are."""
    spec = {"schedulerName": evidence.gang.scheduler}
    return probe_pod(evidence.job.name, evidence.job.namespace, {"image": "pause"}, spec=spec)


def _noted(session: Session, evidence: OperatorEvidence, changes: Iterator[Change | None]) -> Iterator[Change | None]:
    """The changes of pods and groups; what controllers made is adopted, and the job's state kept."""
    for change in changes:
        if change is None:
            yield None
            continue
        subject = change.subject
        for obj in change.objects if change.type != "DELETED" else ():
            session.adopt({"apiVersion": subject.api_version, "kind": subject.kind, **obj})
        if subject.kind == evidence.job.kind:
            evidence.state = next((_state(obj) for obj in change.objects), evidence.state)
        else:
            yield change


def _state(job: Object) -> str:
    """The condition of a job that says how it ended, else the last that holds, as type and message; '' without any."""
    held = [item for item in conditions(job).values() if item.get("status") == "True"]
    ends = [item for item in held if item["type"] in {"Succeeded", "Failed"}]
    return next((f"{item['type']}: {item.get('message', '')}".rstrip(": ") for item in (ends or held)[-1:]), "")
