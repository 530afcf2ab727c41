"""Removing objects that this project brought, wave by wave: by UID, never a CRD whose objects others still have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kubeflow_volcano.apply.crds.change import storage_version
from kubeflow_volcano.apply.graph import CRD_KIND
from kubeflow_volcano.apply.removing.order import waves
from kubeflow_volcano.apply.replace import wait_for_deletion
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import counted, few

__all__ = ["Removal"]

_PARALLEL = 8
_CRDS = "apiextensions.k8s.io/v1"


class Removal:
    """One removal of live objects, given with their metadata. In check mode nothing is deleted, only judged.

    `run` fills `outcomes`, `problems` and `kept`. A CRD of whose kind objects are left stays: `kept` names them. An
    object that does not disappear is a problem that names its finalizers, which are never stripped.
    """

    def __init__(self, cluster: Cluster, deadline: Deadline, progress: Progress, *, check: bool) -> None:
        self.outcomes: list[ObjectOutcome] = []
        self.problems: list[Problem] = []
        self.kept: list[Problem] = []
        self._cluster = cluster
        self._deadline = deadline
        self._progress = progress
        self._check = check

    def run(self, objects: Mapping[Ref, Object]) -> None:
        """Remove these.

        Raises:
            ApiError: the API server does not answer which CRDs there are.
        """
        if not objects:
            return
        crds = self._cluster.list(_CRDS, CRD_KIND, brief=True).items
        groups = {item["metadata"]["name"].partition(".")[2] for item in crds}
        for members in waves(objects, groups):
            chosen = self._unused(members, objects) if members[0].kind == CRD_KIND else members
            self._remove({ref: objects[ref] for ref in chosen})
            if self._deadline.passed:
                return

    def _remove(self, objects: Mapping[Ref, Object]) -> None:
        if self._check:
            self.outcomes += [ObjectOutcome(ref, Action.REMOVED, live, None) for ref, live in objects.items()]
            return
        if objects:
            self._progress(f"removing {few(list(map(str, objects)), 3)}")
        answers = in_parallel(lambda ref: self._delete(ref, objects[ref]["metadata"]["uid"]), objects, _PARALLEL)
        sent = [ref for ref, text in zip(objects, answers, strict=True) if not text]
        refused = [(ref, text) for ref, text in zip(objects, answers, strict=True) if text]
        self.problems += [_refused(ref, text) for ref, text in refused]
        left = self._left({ref: objects[ref]["metadata"]["uid"] for ref in sent})
        self.problems += [_held(live) for live in left.values()]
        self.outcomes += [ObjectOutcome(ref, Action.REMOVED, objects[ref], None) for ref in sent if ref not in left]

    def _delete(self, ref: Ref, uid: str) -> str:
        """Delete one object; returns why that was refused."""
        try:
            self._cluster.delete(ref, uid=uid, deadline=self._deadline)
        except ApiError as error:
            return str(error)
        return ""

    def _left(self, uids: Mapping[Ref, str]) -> Mapping[Ref, Object]:
        """Those that are still there at the deadline."""
        gone = in_parallel(
            lambda ref: wait_for_deletion(self._cluster, ref, uids[ref], self._deadline), uids, _PARALLEL
        )
        late = [ref for ref, is_gone in zip(uids, gone, strict=True) if not is_gone]
        found = in_parallel(self._cluster.get, late, _PARALLEL)
        return {ref: live for ref, live in zip(late, found, strict=True) if live is not None}

    def _unused(self, crds: Sequence[Ref], objects: Mapping[Ref, Object]) -> Sequence[Ref]:
        """The CRDs of which no objects are left, apart from `objects`, which go with this removal."""
        unused = []
        for ref, answer in zip(crds, in_parallel(self._objects_of, crds, _PARALLEL), strict=True):
            if isinstance(answer, str):
                self.kept.append(_unread(ref, answer))
            elif others := [item for item in answer if item not in objects]:
                self.kept.append(_in_use(ref, others))
            else:
                unused.append(ref)
        return unused

    def _objects_of(self, crd: Ref) -> Sequence[Ref] | str:
        """The objects of that kind, or why they cannot be listed."""
        try:
            live = self._cluster.get(crd, deadline=self._deadline)
            if live is None:
                return ()
            spec = live["spec"]
            version = f"{spec['group']}/{storage_version(live)}"
            return [Ref.of(item) for item in self._cluster.list(version, spec["names"]["kind"], brief=True).items]
        except ApiError as error:
            return str(error)


def _kubectl(ref: Ref) -> str:
    return ref.for_kubectl(ref.full_kind.lower())


def _in_use(crd: Ref, others: Iterable[Ref]) -> Problem:
    names = sorted(others)
    return Problem(
        f"{crd} stays: {counted(len(names), 'object')} of its kind, which no roll-out brought: "
        f"{few(list(map(str, names)), 3)}.",
        "a CRD without objects; they would be deleted with it.",
        f"save those that you need (kubectl get {crd.name} -A -o yaml), delete them (kubectl delete "
        f"{_kubectl(names[0])}), and run again.",
    )


def _unread(crd: Ref, why: str) -> Problem:
    return Problem(
        f"{crd} stays: its objects cannot be listed: {why}.",
        "an answer to whether objects of its kind are left; they would be deleted with it.",
        f"remove the cause until kubectl get {crd.name} -A answers, and run again.",
    )


def _refused(ref: Ref, why: str) -> Problem:
    return Problem(
        f"{ref} could not be deleted: {why}.",
        "an API server that deletes it.",
        f"remove the cause that the message names; kubectl delete {_kubectl(ref)} shows it again. Then run again.",
    )


def _held(live: Object) -> Problem:
    ref, finalizers = Ref.of(live), live["metadata"].get("finalizers") or ()
    names = f" by the finalizers {', '.join(finalizers)}" if finalizers else ""
    return Problem(
        f"{ref} is being deleted, but is held{names}.",
        "the controller that acts on them and then takes them away; they are never stripped here.",
        f"start that controller and run again; kubectl get {_kubectl(ref)} -o yaml shows its conditions.",
    )
