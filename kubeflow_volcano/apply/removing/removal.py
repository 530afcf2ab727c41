"""Removing objects that this project brought, wave by wave: by UID, never a CRD whose objects others still have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from kubeflow_volcano.apply.graph import CRD_KIND
from kubeflow_volcano.apply.removing import wording
from kubeflow_volcano.apply.removing.ending import drop_finalizers, wait_for_end
from kubeflow_volcano.apply.removing.order import PRUNING, Wave, waves
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.stored_versions import storage_version
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import counted, few

_CRDS = "apiextensions.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Rules:
    """How one removal goes.

    `explain` words the problem of a held object. `patience_seconds` limits the time in which no object disappears.
    `holds_back` returns which of the other objects stay while these are held; by default all that come later.
    `ignored` are objects, given by their metadata, that keep no CRD. `finalize` names held objects, as `Kind name` or
    `Kind namespace/name`, whose finalizers are stripped.
    """

    explain: Callable[[Object], Problem]
    order: Sequence[Wave] = PRUNING
    patience_seconds: float = 120.0
    holds_back: Callable[[Wave, Collection[Ref], Collection[Ref]], Collection[Ref]] = lambda _wave, _held, later: later
    ignored: Callable[[Object], bool] = lambda _live: False
    finalize: Collection[str] = ()


class Removal:
    """One removal of live objects, given with their metadata. In check mode nothing is deleted, only judged.

    `run` fills `outcomes`, `problems` and `kept`, which has the CRDs that stay because objects of their kind do, with
    the reason, and `waiting`: the objects that stay because others are held.
    """

    def __init__(self, cluster: Cluster, deadline: Deadline, progress: Progress, rules: Rules, *, check: bool) -> None:
        """`deadline` is renewed whenever an object disappears."""
        self.outcomes: list[ObjectOutcome] = []
        self.problems: list[Problem] = []
        self.kept: dict[Ref, Problem] = {}
        self.waiting: set[Ref] = set()
        self._cluster = cluster
        self._deadline = deadline
        self._progress = progress
        self._check = check
        self._rules = rules
        self._refused: dict[Ref, str] = {}

    def run(self, objects: Mapping[Ref, Object]) -> None:
        """Remove these.

        Raises:
            ApiError: the API server does not answer which CRDs there are, or whether an object exists.
        """
        if not objects:
            return
        crds = self._cluster.list(_CRDS, CRD_KIND, brief=True).items
        groups = {item["metadata"]["name"].partition(".")[2] for item in crds}
        later = set(objects)
        for wave, members in waves(objects, groups, self._rules.order):
            later.difference_update(members)
            chosen = [ref for ref in members if ref not in self.waiting]
            if wave is Wave.CRDS:
                chosen = self._unused(chosen, objects)
            held = self._remove(wave, {ref: objects[ref] for ref in chosen})
            self._hold_back(wave, held, later)
            if wave is Wave.INTERCEPTING and self._refused:
                # A webhook without a backend refuses what it intercepts; the custom resources before it can go now.
                again = {ref: objects[ref] for ref in self._refused}
                self._refused.clear()
                held = self._remove(Wave.CUSTOM, again)
                self._hold_back(Wave.CUSTOM, held | set(self._refused), later)
            if self._deadline.passed:
                self.waiting |= later
                break
        self.problems += [wording.refused(ref, text) for ref, text in self._refused.items()]

    def _hold_back(self, wave: Wave, held: Collection[Ref], later: Collection[Ref]) -> None:
        if held:
            self.waiting |= set(self._rules.holds_back(wave, held, later))

    def _remove(self, wave: Wave, objects: Mapping[Ref, Object]) -> set[Ref]:
        """Delete these, and wait until they are gone; returns those that are held."""
        if self._check:
            going = {ref: live for ref, live in objects.items() if "deletionTimestamp" not in live["metadata"]}
            self.outcomes += [ObjectOutcome(ref, Action.REMOVED, live, None) for ref, live in going.items()]
            return set()
        if not objects:
            return set()
        number = counted(len(objects), "object")
        self._progress(f"removing {wave.value}, {number}: {few(list(map(str, objects)), 3)}")
        answers = in_parallel(lambda ref: self._delete(ref, objects[ref]["metadata"]["uid"]), objects)
        self._refused |= {ref: text for ref, text in zip(objects, answers, strict=True) if text}
        sent = {ref: objects[ref]["metadata"]["uid"] for ref in objects if ref not in self._refused}
        left = self._left(sent)
        self.problems += [self._rules.explain(live) for live in left.values()]
        self.outcomes += [ObjectOutcome(ref, Action.REMOVED, objects[ref], None) for ref in sent if ref not in left]
        if len(left) < len(sent):
            self._deadline.renew()
        return set(left)

    def _delete(self, ref: Ref, uid: str) -> str:
        """Delete one object; returns why that was refused."""
        try:
            self._cluster.delete(ref, uid=uid, deadline=self._deadline.at_most(self._rules.patience_seconds))
        except ApiError as error:
            return str(error)
        return ""

    def _left(self, uids: Mapping[Ref, str]) -> Mapping[Ref, Object]:
        """Those that do not disappear, also when the finalizers of the named ones are stripped."""
        patience = self._deadline.at_most(self._rules.patience_seconds)
        left = wait_for_end(self._cluster, uids, patience, self._progress)
        named = {ref: live for ref, live in left.items() if str(ref) in self._rules.finalize}
        for ref, live in named.items():
            self._progress(f"{ref}: stripping its finalizers, as named")
            try:
                drop_finalizers(self._cluster, live)
            except ApiError as error:
                if error.status not in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}:
                    self.problems.append(wording.refused(ref, str(error)))
        if not named:
            return left
        patience = self._deadline.at_most(self._rules.patience_seconds)
        still = wait_for_end(self._cluster, {ref: uids[ref] for ref in named}, patience, self._progress)
        return {ref: live for ref, live in left.items() if ref not in named or ref in still}

    def _unused(self, crds: Sequence[Ref], objects: Mapping[Ref, Object]) -> list[Ref]:
        """The CRDs of which no objects are left, apart from `objects`, what they own, and what keeps no CRD."""
        answers = dict(zip(crds, in_parallel(self._objects_of, crds), strict=True))
        listed = [item for answer in answers.values() if not isinstance(answer, str) for item in answer]
        removed = _with_owned({live["metadata"]["uid"] for live in objects.values()}, listed)
        unused = []
        for ref, answer in answers.items():
            if isinstance(answer, str):
                self.kept[ref] = wording.unread(ref, answer)
            elif others := [
                Ref.of(item)
                for item in answer
                if item["metadata"]["uid"] not in removed and not self._rules.ignored(item)
            ]:
                self.kept[ref] = wording.in_use(ref, others)
            else:
                unused.append(ref)
        return unused

    def _objects_of(self, crd: Ref) -> Sequence[Object] | str:
        """The objects of that kind, or why they cannot be listed."""
        try:
            live = self._cluster.get(crd)
            if live is None:
                return ()
            spec = live["spec"]
            version = f"{spec['group']}/{storage_version(live)}"
            return self._cluster.list(version, spec["names"]["kind"], brief=True).items
        except ApiError as error:
            return str(error)


def _with_owned(uids: Iterable[str], listed: Iterable[Object]) -> set[str]:
    """`uids`, and the UIDs of the objects that they own, which the garbage collector deletes."""
    found, rest = set(uids), list(listed)
    while owned := [item for item in rest if item["metadata"]["uid"] not in found and _owners(item) & found]:
        found |= {item["metadata"]["uid"] for item in owned}
    return found


def _owners(item: Object) -> set[str]:
    return {owner["uid"] for owner in item["metadata"].get("ownerReferences") or ()}
