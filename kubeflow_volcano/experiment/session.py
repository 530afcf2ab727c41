"""Lifecycle of probe objects: one run ID, own namespaces, everything recorded and deleted by UID."""

from __future__ import annotations

import contextlib
import copy
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus

from kubeflow_volcano.catalog.images.probes import BUSYBOX, PAUSE
from kubeflow_volcano.cluster.admission.alterations import Alteration, added, altered_by, changed
from kubeflow_volcano.cluster.admission.denials import denied_elsewhere
from kubeflow_volcano.cluster.admission.pod_security import violated
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.namespaces import Obstacle, obstacles
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.pull_secrets import pull_secret
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.closing import remove, remove_helpers
from kubeflow_volcano.experiment.fitting import Bounds, bounds, fitted
from kubeflow_volcano.experiment.interruption import postponed
from kubeflow_volcano.experiment.leftovers import EXPIRES, OWNER, expired, this_process
from kubeflow_volcano.experiment.pods import probe_pod, with_pull_secret
from kubeflow_volcano.experiment.remains import Cleanup, Tracked, delete_all, wait_gone
from kubeflow_volcano.experiment.spaces import USABLE_SECONDS, Level, space, wait_usable
from kubeflow_volcano.progress import Progress, silent
from kubeflow_volcano.text import counted

EVERYWHERE = "namespaces that deny the same without the probe's labels"
"""Part of the text of a refusal that does not concern the probe alone."""

_NAMESPACE = ("v1", "Namespace")
_LIFE = timedelta(minutes=15)
_NO_DRY_RUN = "does not support dry run"  # apiserver, admission/plugin/webhook/errors/statuserror.go
_CREATE_SECONDS = 30.0
_UNKNOWN_CONTAINERS = {"pods": "12"}
"""Quota of a namespace to whose pods others add containers: these may have no requests."""
_DELETE_SECONDS = 30.0
_PATIENCE_SECONDS = 120.0  # as long as B8 lets a namespace take


@dataclass(frozen=True, slots=True)
class Options:
    """Options of probes. `namespace` is an existing one to use instead of new ones; it is never deleted.

    `registry_logins` is the text of a Docker configuration with logins that pods need for their images.
    """

    namespace: str = ""
    queue: str = "default"
    pause_image: str = PAUSE
    busybox_image: str = BUSYBOX
    registry_logins: str = field(default="", repr=False)


class ProbeRefused(Exception):  # noqa: N818  reads as what it states
    """The API server or the session refused a probe object; the text is the server's."""


@dataclass(slots=True)
class _Spaces:
    """Namespaces of one part of a session, by the Pod Security level that they admit."""

    part: str = ""
    names: dict[Level, str] = field(default_factory=dict)
    opening: threading.Lock = field(default_factory=threading.Lock)


@dataclass(slots=True)
class _Ground:
    """What is known about namespaces of this cluster; shared by all parts of a session.

    Until the first one is usable and would be deleted, no other is made. `refusal`: why it is not.
    """

    asking: threading.Lock = field(default_factory=threading.Lock)
    obstacles: tuple[Obstacle, ...] | None = None
    first: threading.Lock = field(default_factory=threading.Lock)
    proved: bool = False
    refusal: str = ""


class Session:
    """One run's probe objects. Safe to use from several threads; `close` ends it, also after an interruption.

    What acts at the same time uses a `part` each: all parts have one account, and namespaces of their own.
    """

    def __init__(
        self,
        cluster: Cluster,
        progress: Progress = silent,
        options: Options | None = None,
        tolerated: Sequence[Mapping[str, str]] = (),
    ) -> None:
        """`tolerated` are the tolerations of pods that a scheduler places."""
        self.cluster = cluster
        self.progress = progress
        self.options = options or Options()
        self._tolerated = tolerated
        self._bounds: dict[str, Bounds] = {}
        self._altered: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        """By UID of a pod, what admission changed of it, and what it added that keeps it from no node."""
        self._logins: set[str] = set()
        """Namespaces that have the Secret with the logins."""
        self._sharing_logins = threading.Lock()
        self.run = secrets.token_hex(4)
        self._expires = (datetime.now(UTC) + _LIFE).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._owner = this_process()
        self.spaces = _Spaces()
        self._ground = _Ground()
        self._state = threading.Condition()
        self._stopped = threading.Event()
        self._sending: set[Ref] = set()
        self._unsure: set[Ref] = set()
        self._tracked: dict[str, Tracked] = {}
        self._gone: set[str] = set()
        self._swept: list[Tracked] = []
        self._outside: list[Callable[[], tuple[Tracked, ...]]] = []
        self.account: Cleanup | None = None

    def part(self, name: str) -> Session:
        """The same run for what acts beside others: one account, but namespaces that no other part sees.

        Where the session stays in a namespace that exists, that is the same for all parts.
        """
        part = copy.copy(self)  # which shares everything that is not replaced here
        part.spaces = _Spaces(name)
        return part

    @property
    def stopped(self) -> bool:
        """Whether the session is ending: nothing more is created, and waits should end."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Refuse whatever is still to be created; ends the waits of probes in other threads."""
        self._stopped.set()

    @property
    def tracked(self) -> tuple[Tracked, ...]:
        """Everything that this session created, deleted or not."""
        with self._state:
            return tuple(self._tracked.values())

    # namespaces

    def namespace(self, level: Level = Level.RESTRICTED, hard: Mapping[str, str] | None = None) -> str:
        """The name of a namespace that admits pods of this Pod Security level, ready for its first pod.

        `hard` is its quota, if the level has no namespace yet; by default that of a few small pods.

        Raises:
            ProbeRefused: the API server refused it, or kube-controller-manager did not prepare it.
        """
        if self.options.namespace:
            return self.options.namespace
        with self.spaces.opening:
            if level not in self.spaces.names:
                name = self._in_turn(level, hard)
                if level is not Level.PRIVILEGED and self._refuses_what_is_injected(name):
                    if Level.PRIVILEGED not in self.spaces.names:
                        self.spaces.names[Level.PRIVILEGED] = self._in_turn(Level.PRIVILEGED, _UNKNOWN_CONTAINERS)
                    name = self.spaces.names[Level.PRIVILEGED]
                self.spaces.names[level] = name
            return self.spaces.names[level]

    def _refuses_what_is_injected(self, namespace: str) -> bool:
        """Whether Pod Security refuses even a restricted pod there: webhooks of others add containers to every pod.

        The level is this session's own, so that a pod which it refuses for what others add says nothing about them.
        """
        pod = probe_pod("kfv-dry-run", namespace, {"image": self.options.pause_image})
        try:
            self.cluster.create(pod, dry_run=True, deadline=Deadline(_CREATE_SECONDS))
        except ApiError as error:
            return bool(violated(error.message))
        return False

    def obstacles(self) -> tuple[Obstacle, ...]:
        """What would keep namespaces of this session from being deleted; none where it makes none. Asked once."""
        if self.options.namespace:
            return ()
        with self._ground.asking:
            if self._ground.obstacles is None:
                namespace, _ = space(self.cluster, self.run, Level.RESTRICTED)
                self._ground.obstacles = obstacles(self.cluster, [self._marked(namespace)])
            return self._ground.obstacles

    def _in_turn(self, level: Level, hard: Mapping[str, str] | None) -> str:
        """Open a namespace; while none is proved to be usable, only one at a time."""
        with self._ground.first:
            if not self._ground.proved:
                return self._open(level, hard)
        return self._open(level, hard)

    def _open(self, level: Level, hard: Mapping[str, str] | None) -> str:
        namespace, quota = space(self.cluster, "-".join(filter(None, (self.run, self.spaces.part))), level, hard)
        self.create(namespace)
        self.create(quota)
        name: str = namespace["metadata"]["name"]
        if not wait_usable(self.cluster, name, lambda: self.stopped):
            text = (
                f"namespace {name} has no default ServiceAccount or no counted ResourceQuota after "
                f"{USABLE_SECONDS:.0f} s; kube-controller-manager makes both."
            )
            if not self._ground.proved:
                self._ground.refusal = text
            raise ProbeRefused(text)
        self._ground.proved = True
        return name

    def _require_deletable(self, namespace: Object) -> None:
        """Refuse a namespace that could not be deleted again.

        Raises:
            ProbeRefused: something keeps namespaces from being deleted.
        """
        if self._ground.refusal:
            raise ProbeRefused(self._ground.refusal)
        if held := self.obstacles():
            why = "; ".join(item.found for item in held)
            name = namespace["metadata"]["name"]
            raise ProbeRefused(f"namespace {name} is not created, because it could not be deleted: {why}")

    def _try_deletion(self, namespace: Object) -> None:
        """A dry run, which finds what refuses the deletion of namespaces in ways that nothing announces.

        Raises:
            ProbeRefused: something does.
        """
        meta = namespace["metadata"]
        try:
            self.cluster.delete(Ref.of(namespace), uid=meta["uid"], dry_run=True, deadline=Deadline(_DELETE_SECONDS))
        except ApiError as error:
            if error.transient or _NO_DRY_RUN in error.message:
                return
            self._ground.refusal = f"namespace {meta['name']} cannot be deleted: {error.message}"
            raise ProbeRefused(self._ground.refusal) from error

    # objects

    def create(self, obj: Object, *, seconds: float = _CREATE_SECONDS) -> Object:
        """Create a probe object under this run's label and expiry, and record its UID.

        Raises:
            ProbeRefused: admission (quota, LimitRange, Pod Security, webhook) or authorization refused it.
            ApiError: the server did not answer within `seconds`.
        """
        obj = self._with_logins(obj)
        obj = fitted(self._marked(obj), self._bounds_of(obj["metadata"].get("namespace", "")), self._tolerated)
        ref = Ref.of(obj)
        is_namespace = (ref.api_version, ref.kind) == _NAMESPACE
        if is_namespace:
            self._require_deletable(obj)
        with self._state:
            if self.stopped:
                raise ProbeRefused("the run is ending")
            self._sending.add(ref)
        unsure = True
        try:
            created = self._send(obj, ref, Deadline(seconds))
            self.adopt(created)
            if ref.kind == "Pod" and any(found := (changed(obj, created), added(obj, created))):
                self._altered[created["metadata"]["uid"]] = found
            unsure = False
        except ApiError as error:
            unsure = error.transient
            if error.transient:
                raise
            raise ProbeRefused(self.with_extent(obj, f"{ref}: {error.message}")) from error
        finally:  # a signal may have come between the request and its answer
            with self._state:
                self._sending.discard(ref)
                if unsure:
                    self._unsure.add(ref)
                self._state.notify_all()
        if is_namespace and not self._ground.proved:
            self._try_deletion(created)
        return created

    def _with_logins(self, obj: Object) -> Object:
        """The object with the pull secret in its pods, which its namespace then has."""
        namespace = obj["metadata"].get("namespace", "")
        name = f"kfv-{self.run}-registries"
        if not self.options.registry_logins or (made := with_pull_secret(obj, name)) is obj:
            return obj
        with self._sharing_logins:
            if namespace not in self._logins:
                self.create(pull_secret(name, namespace, self.options.registry_logins))
                self._logins.add(namespace)
        return made

    def with_extent(self, obj: Object, text: str) -> str:
        """Why an object was denied, and whether ordinary namespaces deny it as well, which `EVERYWHERE` then says."""
        names = denied_elsewhere(self.cluster, obj, text)
        return f"{text} ({EVERYWHERE}: {', '.join(names)})" if names else text

    def _send(self, obj: Object, ref: Ref, deadline: Deadline) -> Object:
        try:
            return self.cluster.create(obj, deadline=deadline)
        except ApiError as error:
            if error.status == HTTPStatus.CONFLICT and error.reason == "AlreadyExists":
                own = self._own(ref)  # an earlier try whose answer was lost
                if own:
                    return own
            raise

    def _own(self, ref: Ref) -> Object | None:
        """The live object if this run created it."""
        live = self.cluster.get(ref, deadline=Deadline(5))
        labels = live["metadata"].get("labels") or {} if live else {}
        return live if labels.get(RUN_LABEL) == self.run else None

    def _bounds_of(self, namespace: str) -> Bounds:
        """The bounds of the namespace's LimitRanges, read once; none without permission to read them."""
        if namespace and namespace not in self._bounds:
            ranges: tuple[Object, ...] = ()
            with contextlib.suppress(ApiError):  # admission then reports what it refuses
                ranges = self.cluster.list("v1", "LimitRange", namespace=namespace).items
            self._bounds[namespace] = bounds(ranges)
        return self._bounds.get(namespace, Bounds())

    def _marked(self, obj: Object) -> Object:
        meta = obj["metadata"]
        labels = {**(meta.get("labels") or {}), RUN_LABEL: self.run}
        annotations = {**(meta.get("annotations") or {}), EXPIRES: self._expires, OWNER: self._owner}
        return obj | {"metadata": meta | {"labels": labels, "annotations": annotations}}

    def altered(self, pod: Object) -> Alteration | None:
        """What admission changed of a pod of this session, and which webhooks may have; None where nothing."""
        found = self._altered.get(pod["metadata"]["uid"])
        return altered_by(self.cluster, pod, *found) if found else None

    def adopt(self, obj: Object) -> None:
        """Record an object that a controller created for a probe, so that `close` waits for its deletion."""
        item = Tracked.of(obj)
        with self._state:
            self._tracked.setdefault(item.uid, item)

    def delete(self, *objects: Object, seconds: float = _DELETE_SECONDS) -> None:
        """Delete objects of this session, without waiting for it.

        Raises:
            ProbeRefused: the server refuses one of them.
        """
        refused = delete_all(self.cluster, [Tracked.of(item) for item in objects], Deadline(seconds))
        for item, text in refused.items():
            raise ProbeRefused(f"{item.ref} cannot be deleted: {text}")

    def at_close(self, remove: Callable[[], tuple[Tracked, ...]]) -> None:
        """Let `close` call this first: it removes what another API than that of Kubernetes made, and returns the rest.

        It raises nothing, and waits for what the probe, which may still run, has just asked that API for.
        """
        self._outside.append(remove)

    def gone(self, *uids: str) -> None:
        """Record that a probe has seen the deletion of these objects."""
        with self._state:
            self._gone.update(uids)

    # the end

    def sweep(self, kinds: Sequence[tuple[str, str]] = ()) -> None:
        """Delete what earlier runs left; `close` waits for it.

        Besides namespaces and what is in them, this deletes the cluster-scoped `kinds`.
        """
        try:
            leftovers = expired(self.cluster, self.run, self.options.namespace, kinds)
        except ApiError as error:
            self.progress(f"leftovers of earlier runs cannot be listed: {error}")
            return
        if leftovers:
            self.progress(f"removing {counted(len(leftovers), 'leftover')} of earlier runs")
            delete_all(self.cluster, leftovers, Deadline(_DELETE_SECONDS))
            self._swept.extend(leftovers)

    def close(self, patience_seconds: float = _PATIENCE_SECONDS) -> Cleanup:
        """Delete everything by UID and wait for that, until nothing happens for some time. May be called again.

        A signal takes effect after that; `account` then has the result.
        """
        with postponed():
            started = time.monotonic()
            patience = Deadline(patience_seconds)
            self.stop()
            outside = tuple(item for remove_all in self._outside for item in remove_all())
            self._recover()
            here = self._present()
            if here or self._swept:
                self.progress(f"removing {counted(len(here), 'probe object')}")
            left, volumes = remove(self.cluster, here, self._swept, patience)
            left += outside
            # A probe that a signal cut off may have seen more objects in the meantime; they go with their owners.
            known = {item.uid for item in (*here, *volumes)}
            left += wait_gone(self.cluster, [item for item in self._present() if item.uid not in known], patience)
            stuck = {item.uid for item in left}
            with self._state:
                self._tracked.update({item.uid: item for item in volumes})
            helpers = remove_helpers(self.cluster, self._without_volume(), patience)
            with self._state:
                self._tracked.update({item.uid: item for item in helpers})
                created = tuple(self._tracked.values())
                self._gone.update(item.uid for item in created if item.uid not in stuck)
            self.account = Cleanup(
                created=created,
                removed=tuple(item for item in created if item.uid not in stuck),
                left=left,
                swept=tuple(item for item in self._swept if item.uid not in stuck),
                seconds=time.monotonic() - started,
            )
        return self.account

    def _present(self) -> list[Tracked]:
        """Objects whose deletion was not seen; probes in other threads may still add some."""
        with self._state:
            return [item for uid, item in self._tracked.items() if uid not in self._gone]

    def _without_volume(self) -> set[str]:
        """UIDs of claims for which no volume of their name was ever seen."""
        volumes = {item.ref.name for item in self.tracked if item.ref.kind == "PersistentVolume"}
        claims = {item.uid for item in self.tracked if item.ref.kind == "PersistentVolumeClaim"}
        return {uid for uid in claims if f"pvc-{uid}" not in volumes}

    def _recover(self) -> None:
        """Find the UIDs of created objects whose answer did not arrive because of a signal or an outage."""
        with self._state:
            self._state.wait_for(lambda: not self._sending, timeout=3)
            unknown = self._unsure | self._sending
        for ref in unknown:
            with contextlib.suppress(ApiError):
                if own := self._own(ref):
                    self.adopt(own)
