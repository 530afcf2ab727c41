"""Create on a cluster what a backup has and the cluster lacks; what exists is never changed."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from kubeflow_volcano.apply.problems import refusal
from kubeflow_volcano.apply.removing.managed import own_crds
from kubeflow_volcano.apply.result import Action, ApplyResult, ObjectOutcome
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.discovery import Resource
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.volcano import parent_queue
from kubeflow_volcano.cluster.watch.waiting import wait_ready
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.ref import group_of
from kubeflow_volcano.rollout.backup.admitted import Platform, Spaces, access_given, refused
from kubeflow_volcano.rollout.backup.choice import Choice
from kubeflow_volcano.rollout.backup.files import Backup
from kubeflow_volcano.rollout.backup.selection import has_ended, sendable, stage_of
from kubeflow_volcano.rollout.state.lock import Lock
from kubeflow_volcano.rollout.state.store import create_once, ensure_namespace
from kubeflow_volcano.text import counted, few

_SPACE_SECONDS = 120.0
_MOST_SHOWN = 12
_PROFILE = ("kubeflow.org/v1", "Profile")


def restore(
    cluster: Cluster, backup: Backup, platform: Platform, choice: Choice, *, check: bool, progress: Progress
) -> ApplyResult:
    """Create the saved objects of the choice that the cluster lacks, in order.

    Jobs that had ended are not created, because they would run once more. A run may be interrupted and repeated.

    Raises:
        InvalidInput: the cluster does not serve a saved kind in its saved version, the backup has what no backup has,
            or the choice fits nothing; nothing was changed, and all of it is named.
        Busy: a roll-out holds the lock.
        ProblemsError: the API server refused a request before the first change.
    """
    try:
        return _restore(cluster, backup, platform, choice, progress, check=check)
    except ApiError as error:
        raise ProblemsError(refusal(cluster, error)) from error


def _restore(
    cluster: Cluster, backup: Backup, platform: Platform, choice: Choice, progress: Progress, *, check: bool
) -> ApplyResult:
    chosen = choice.select(backup.objects)
    objects = [obj for obj in chosen if not has_ended(obj)]
    served, unserved = _served(cluster, objects)
    present = [obj for obj in objects if (obj["apiVersion"], obj["kind"]) not in unserved]
    problems = [
        *_unserved(unserved, objects, platform),
        *_refused(cluster, backup, present, served, platform, allow_rights=choice.allow_rights),
        *choice.unknown(backup.objects),
    ]
    if problems:
        raise InvalidInput(problems)
    if ended := [obj for obj in chosen if has_ended(obj)]:
        progress(f"not restored, because they have ended and would run once more: {_kinds(ended)}")
    for line in access_given(objects):
        progress(f"gives access: {line}")
    run = _Run(cluster, progress, check=check)
    if check:
        return run.everything(objects)
    ensure_namespace(cluster)
    with Lock(cluster, progress) as lock:
        run.lost = lock.lost.is_set
        return run.everything(objects)


class _Run:
    """One restoration: what became of each object, and the new UID of each old one."""

    def __init__(self, cluster: Cluster, progress: Progress, *, check: bool) -> None:
        self._cluster, self._progress, self._check = cluster, progress, check
        self._started = time.monotonic()
        self._uids: dict[str, str] = {}
        self._outcomes: list[ObjectOutcome] = []
        self._problems: list[Problem] = []
        self._different: list[Ref] = []
        self.lost: Callable[[], bool] = lambda: False

    def everything(self, objects: Sequence[Object]) -> ApplyResult:
        """Restore the objects stage by stage, owners before what they own."""
        for members in _layers(objects):
            if self.lost():
                break
            self._progress(f"restoring {_kinds(members)}")
            for obj, outcome in zip(members, in_parallel(self._one, members), strict=True):
                self._outcomes.append(outcome)
                if outcome.uid and "uid" in obj["metadata"]:
                    self._uids[obj["metadata"]["uid"]] = outcome.uid
            self._await_namespaces(members)
        return ApplyResult(
            tuple(self._outcomes), tuple(self._problems), time.monotonic() - self._started, tuple(self._warnings())
        )

    def _one(self, obj: Object) -> ObjectOutcome:
        ref = Ref.of(obj)
        made = sendable(obj, self._uids)
        try:
            live = self._cluster.get(ref)
            if live is None and self._check:
                return ObjectOutcome(ref, Action.CREATED, None, made)
            if live is None and (created := create_once(self._cluster, made)):
                return ObjectOutcome(ref, Action.CREATED, None, created, uid=created["metadata"]["uid"])
            live = live or self._cluster.get(ref) or made
        except ApiError as error:
            self._problems.append(
                Problem(
                    f"{ref} cannot be restored: {error}.",
                    "an API server and webhooks that take it.",
                    "remove the cause, and run the same command again: it restores what is missing.",
                )
            )
            return ObjectOutcome(ref, Action.FAILED, None, None, str(error))
        if obj["kind"] != "Namespace" and _content(sendable(live, {})) != _content(sendable(obj, {})):
            self._different.append(ref)
        return ObjectOutcome(ref, Action.UNCHANGED, None, None, uid=live["metadata"].get("uid", ""))

    def _await_namespaces(self, members: Sequence[Object]) -> None:
        """Wait for the namespaces of profiles, which their controller makes."""
        spaces = [Ref("v1", "Namespace", "", obj["metadata"]["name"]) for obj in members if obj["kind"] == "Profile"]
        if not spaces or self._check:
            return
        deadline = Deadline(_SPACE_SECONDS)
        answers = wait_ready(self._cluster, spaces, deadline, self._progress, renew=True)
        if missing := [ref.name for ref, answer in answers.items() if not answer.ready]:
            self._problems.append(
                Problem(
                    f"no namespace for {counted(len(missing), 'profile')}: {few(missing, _MOST_SHOWN)}.",
                    "a profile controller that makes the namespaces of restored profiles.",
                    "see its pods: kubectl -n kubeflow get pods -l kustomize.component=profiles; then run again.",
                )
            )

    def _warnings(self) -> Iterator[Problem]:
        if self._different:
            names = [str(ref) for ref in sorted(self._different)]
            yield Problem(
                f"{counted(len(names), 'object')} on the cluster with other content than in the backup: "
                f"{few(names, _MOST_SHOWN)}.",
                "your decision: a restoration changes nothing that exists.",
                "keep them, or delete one and run the same command again.",
            )


def _served(cluster: Cluster, objects: Sequence[Object]) -> tuple[Sequence[Resource], set[tuple[str, str]]]:
    """The kinds of the objects as the cluster serves them; the others by version and kind."""
    served: list[Resource] = []
    missing: set[tuple[str, str]] = set()
    for api_version, kind in {(obj["apiVersion"], obj["kind"]) for obj in objects}:
        try:
            served.append(cluster.resource(api_version, kind))
        except NotServed:
            missing.add((api_version, kind))
    return served, missing


def _unserved(missing: Collection[tuple[str, str]], objects: Sequence[Object], platform: Platform) -> Iterator[Problem]:
    """One problem about the kinds that the cluster does not serve in the saved version."""
    if not missing:
        return
    numbers = Counter((obj["apiVersion"], obj["kind"]) for obj in objects)
    texts, parts = [], set[str]()
    for api_version, kind in sorted(missing):
        bringing = platform.bringing(kind, group_of(api_version))
        parts |= {*bringing}
        texts.append(f"{kind} of {api_version} ({counted(numbers[api_version, kind], 'object')})")
    words = ", ".join(sorted({f"{kind}.{group_of(version)}".rstrip(".") for version, kind in missing}))
    install = f"install {', '.join(sorted(parts))} first" if parts else "install what brings them first"
    yield Problem(
        f"the cluster does not serve {'; '.join(texts)}.",
        "the CRDs of the backup's components (versions in its manifest) before their objects.",
        f"{install}, or leave them out: restore_exclude: [{words}].",
    )


def _refused(
    cluster: Cluster,
    backup: Backup,
    objects: Sequence[Object],
    served: Sequence[Resource],
    platform: Platform,
    *,
    allow_rights: bool,
) -> Iterator[Problem]:
    """Problems about objects that no backup of this inventory has."""
    ours = own_crds(cluster)
    titles = {item.key: item.title for item in served if item.title in ours or item.title in platform.crds}
    present = {item["metadata"]["name"]: item for item in cluster.list("v1", "Namespace", brief=True).items}
    # The profile controller takes no namespace without its annotation (Reconcile in profile_controller.go), and a
    # contributor of such a profile would get rights in it all the same.
    profiles = {obj["metadata"]["name"] for obj in backup.objects if obj["kind"] == "Profile"} - {
        name for name, item in present.items() if "owner" not in (item["metadata"].get("annotations") or {})
    }
    with contextlib.suppress(NotServed):
        profiles |= {item["metadata"]["name"] for item in cluster.list(*_PROFILE, brief=True).items}
    saved = frozenset(obj["metadata"].get("namespace") or "" for obj in backup.objects)
    others = frozenset(name for name, item in present.items() if not _made_here(item))
    spaces = Spaces(saved, frozenset(profiles), others)
    yield from refused(objects, titles, spaces, platform, allow_rights=allow_rights)


def _made_here(space: Object) -> bool:
    """Whether a roll-out or a restoration made or changed a namespace: one that is repeated finds its own."""
    return any(entry["manager"] == FIELD_MANAGER for entry in space["metadata"].get("managedFields") or ())


def _layers(objects: Sequence[Object]) -> Iterator[Sequence[Object]]:
    """The stages, each in layers: owners before what they own, queues before their children."""
    ordered = sorted(objects, key=lambda obj: (stage_of(obj), Ref.of(obj)))
    for _, stage in itertools.groupby(ordered, key=stage_of):
        left = [*stage]
        while left:
            names = {_identity(obj) for obj in left}
            free = [obj for obj in left if names.isdisjoint(_before(obj))] or left
            left = [obj for obj in left if obj not in free]
            yield free


def _identity(obj: Object) -> str:
    return f"Queue {obj['metadata']['name']}" if obj["kind"] == "Queue" else str(obj["metadata"].get("uid", ""))


def _before(obj: Object) -> set[str]:
    """Identities of the objects that must exist before it."""
    parent = parent_queue(obj)
    owners = {str(owner["uid"]) for owner in obj["metadata"].get("ownerReferences") or ()}
    return owners | ({f"Queue {parent}"} if parent else set())


def _kinds(objects: Sequence[Object]) -> str:
    numbers = Counter(obj["kind"] for obj in objects)
    return ", ".join(f"{number} {kind}" for kind, number in sorted(numbers.items()))


def _content(obj: Object) -> Mapping[str, object]:
    return {key: value for key, value in obj.items() if key != "metadata"}
