"""The steps of a `CrdChange` on a cluster. Each is found from the live CRD, so that a run resumes where one ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus

from kubeflow_volcano.apply.crds.change import MARK, CrdChange, intermediate
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.connection import TABLE
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.edit import edit
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.stored_versions import lost_version, readable_version, storage_version
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import counted, few

_PAGE = 500
_POLL_SECONDS = 0.2
_EFFECT_SECONDS = 60.0
_OTHER_SERVERS_SECONDS = 2.0
"""How long other API servers of the same cluster may take to see a change of a CRD."""
_PASS_SECONDS = 2.0
_UNMOVED_SECONDS = 60.0
"""How long objects may stay as they were stored, after the last one that was stored again."""
_REWRITE_SECONDS = 300.0
"""How long objects may be refused, by a webhook without an answer, after the last one that was stored again."""
_MOST_TIMES = 3
"""Passes that count an object as stored again: one that others change all the time must not keep a run from its end."""
_MOST_SHOWN = 5


class CrdSteps:
    """The steps of `change` for one CRD, from `live`, as it was found, to `declared`, the normalized one."""

    def __init__(
        self,
        cluster: Cluster,
        declared: Object,
        live: Object,
        change: CrdChange,
        *,
        deadline: Deadline,
        progress: Progress,
    ) -> None:
        self._cluster = cluster
        self._declared = declared
        self._live = live
        self.change = change
        self._deadline = deadline
        self._progress = progress
        self._ref = Ref.of(declared)
        self._before: Mapping[str, Object] = {}
        self._times = Counter[str]()

    def count(self) -> int | None:
        """How many objects would be stored again; None where no version of them is served.

        Raises:
            ApiError: they cannot be listed.
        """
        version = readable_version(self._live)
        return len(self._objects(version)) if version else None

    def prepare(self, send: Callable[[Object, Object], None]) -> None:
        """Take all steps before the declared CRD is sent.

        Args:
            send: applies the first of two CRDs instead of the second; raises ApiError where it is refused.

        Raises:
            ApiError: a step was refused, objects could not be listed or stored again, or some that were there are
                missing; the old versions stay in the CRD, and the next run resumes.
        """
        change = self.change
        if change.stored:
            if version := readable_version(self._live):
                self._before = self._objects(version)
            self._progress(f"{self._ref}: objects are stored in {change.storage} from now on")
            send(intermediate(self._declared, self._live), self._live)
            self._await(change.storage, marked=True)
            self._deadline.pause(_OTHER_SERVERS_SECONDS)
            self._rewrite_all()
            self._forget()
        if change.drops_conversion:
            self._drop_conversion()
            self._progress(f"{self._ref}: conversion by webhook removed, as the new version declares none")

    def unreadable(self) -> str:
        """Once the API server goes by the declared CRD: why it cannot read every object; empty if it can.

        Raises:
            ApiError: that is unknown, or objects are missing.
        """
        version = readable_version(self._declared)
        if not (self.change.stored and version):
            return ""
        try:
            self._await(version, marked=False)
            objects = self._objects(version)
        except ApiError as error:
            if lost_version(error.message):
                return str(error)
            raise
        self._compare(objects)
        return ""

    def put_back(self, send: Callable[[Object, Object], None]) -> None:
        """Bring the old versions back, so that every object can be read; `send` is as in `prepare`.

        Raises:
            ApiError: the API server refused it.
        """

        def remember(live: Object) -> bool:
            stored = live["status"]["storedVersions"]
            live["status"]["storedVersions"] = [*dict.fromkeys((*self.change.stored, *stored))]
            return True

        send(intermediate(self._declared, self._live), self._live)
        edit(self._cluster, self._ref, remember, deadline=self._deadline, subresource="status")

    def _await(self, version: str, *, marked: bool) -> None:
        """Wait until the API server goes by a CRD that has `MARK`, or by one that does not.

        Raises:
            ApiError: it does not in time.
        """
        api_version, kind = self._kind(version)
        for _ in self._deadline.at_most(_EFFECT_SECONDS).every(_POLL_SECONDS):
            try:
                path = self._cluster.resource(api_version, kind, refresh=True).path()
                answer = self._cluster.request("GET", path, query={"limit": "1"}, accept=TABLE, deadline=self._deadline)
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
                continue
            if (MARK in {column["name"] for column in answer["columnDefinitions"]}) is marked:
                return
        missing = "does not store them in that version yet" if marked else "goes by an earlier CRD still"
        raise ApiError(0, "NotStored", f"objects of kind {kind} in {api_version}: the API server {missing}")

    def _rewrite_all(self) -> None:
        """Store every object again, until a pass over all of them finds none in another version.

        Raises:
            ApiError: objects were refused, are as they were stored before, or are missing.
        """
        storage = self.change.storage
        limit, unmoved_limit = (self._deadline.at_most(each) for each in (_REWRITE_SECONDS, _UNMOVED_SECONDS))
        for _ in limit.every(_PASS_SECONDS):
            rewritten, stored, refused = self._rewrite()
            lasting = [error for _, error in refused if not (error.webhook_unanswered or error.transient)]
            if lasting or (refused and limit.passed):
                raise _refusal(self._ref, storage, refused)
            if stored:
                limit.renew()
                unmoved_limit.renew()
            elif not refused:
                unmoved = self._unmoved(rewritten)
                if not unmoved:
                    self._compare(rewritten)
                    self._before = rewritten
                    number = counted(len(self._times), "object")
                    self._progress(f"{self._ref}: stored versions migrated: {number} to {storage}")
                    return
                if unmoved_limit.passed:
                    raise ApiError(0, "NotStored", f"{self._ref}: {self._words(unmoved)} not stored again in {storage}")
        raise ApiError(0, "NotStored", f"{self._ref}: objects are still written in {', '.join(self.change.stored)}")

    def _rewrite(self) -> tuple[Mapping[str, Object], int, Sequence[tuple[Ref, ApiError]]]:
        """One pass: the objects by UID as they are now, how many of them were stored again, and which were refused."""
        api_version, kind = self._kind(self.change.storage)
        rewritten, stored, refused = dict[str, Object](), 0, list[tuple[Ref, ApiError]]()

        def rewrite(item: Object) -> Object | tuple[Ref, ApiError] | None:
            """An empty patch: the API server writes the object only if its stored form differs."""
            ref = Ref.of(item)
            try:
                patched = self._cluster.patch(ref, {}, brief=True, deadline=self._deadline)
            except ApiError as error:
                return None if error.status == HTTPStatus.NOT_FOUND else (ref, error)
            return {**item, "metadata": patched["metadata"]}

        for page in self._cluster.pages(api_version, kind, size=_PAGE, brief=True, deadline=self._deadline):
            for item, answer in zip(page.items, in_parallel(rewrite, page.items), strict=True):
                if isinstance(answer, tuple):
                    refused.append(answer)
                elif answer:
                    uid = item["metadata"]["uid"]
                    rewritten[uid] = answer
                    if _version(answer) != _version(item) and self._times[uid] < _MOST_TIMES:
                        stored += 1
                        self._times[uid] += 1
            if stored:
                self._deadline.renew()
                number = counted(len(self._times), "object")
                self._progress(f"{self._ref}: {number} stored in {self.change.storage}")
        return rewritten, stored, refused

    def _unmoved(self, objects: Mapping[str, Object]) -> list[Ref]:
        """Objects that must have been stored in another version before, and have not been written since."""
        if not self.change.moves:
            return []
        both = self._before.keys() & objects.keys()
        return sorted(Ref.of(objects[uid]) for uid in both if _version(objects[uid]) == _version(self._before[uid]))

    def _compare(self, objects: Mapping[str, Object]) -> None:
        """Check that every object is found that was there before the first step, but for those that others deleted.

        Raises:
            ApiError: some exist, and are not found.
        """
        missing = [self._before[uid] for uid in self._before.keys() - objects.keys()]
        api_version, kind = self._kind(readable_version(self._declared) or self.change.storage)
        lost = []
        for item in missing:
            meta = item["metadata"]
            ref = Ref(api_version, kind, meta.get("namespace", ""), meta["name"])
            live = self._cluster.get(ref, deadline=self._deadline)
            if live and live["metadata"]["uid"] == meta["uid"]:
                lost.append(ref)
        if lost:
            raise ApiError(0, "Missing", f"{self._ref}: {self._words(sorted(lost))} not listed any more")
        if missing:
            self._before = {uid: item for uid, item in self._before.items() if uid in objects}
            self._progress(f"{self._ref}: {counted(len(missing), 'object')} deleted by others meanwhile")

    def _words(self, refs: Sequence[Ref]) -> str:
        names = few([f"{ref.namespace}/{ref.name}".lstrip("/") for ref in refs], _MOST_SHOWN)
        number = f"{len(refs)} of {counted(len(self._before), 'object')}"
        return f"{number} ({names}) {'is' if len(refs) == 1 else 'are'}"

    def _objects(self, version: str) -> Mapping[str, Object]:
        """The metadata of all objects of the kind, by UID."""
        objects: dict[str, Object] = {}
        api_version, kind = self._kind(version)
        self._cluster.resource(api_version, kind, refresh=True)
        for page in self._cluster.pages(api_version, kind, size=_PAGE, brief=True, deadline=self._deadline):
            if page.restarted:
                objects.clear()
            objects |= {item["metadata"]["uid"]: item for item in page.items}
        return objects

    def _forget(self) -> None:
        """Remove the versions from status.storedVersions, in which no object is stored any more."""

        def reduce(live: Object) -> bool:
            storage = storage_version(live)
            if storage != self.change.storage:
                raise ApiError(
                    0, "Changed", f"{self._ref} was changed by others meanwhile, and stores in {storage} again"
                )
            stored = live["status"]["storedVersions"]
            live["status"]["storedVersions"] = [name for name in stored if name not in self.change.stored]
            return True

        edit(self._cluster, self._ref, reduce, deadline=self._deadline, subresource="status")

    def _drop_conversion(self) -> None:
        """Remove the conversion as a whole, with what injectors added to it."""

        def drop(live: Object) -> bool:
            live["spec"]["conversion"] = {"strategy": "None"}
            return True

        edit(self._cluster, self._ref, drop, deadline=self._deadline)

    def _kind(self, version: str) -> tuple[str, str]:
        return f"{self._declared['spec']['group']}/{version}", self._declared["spec"]["names"]["kind"]


def _version(item: Object) -> str:
    return str(item["metadata"]["resourceVersion"])


def _refusal(crd: Ref, version: str, refused: Sequence[tuple[Ref, ApiError]]) -> ApiError:
    ref, error = refused[0]
    names = few([f"{item.namespace}/{item.name}".lstrip("/") for item, _ in refused], _MOST_SHOWN)
    return ApiError(
        error.status,
        error.reason,
        f"{counted(len(refused), 'object')} of {crd.name} cannot be stored in {version}: {names}. {error.message} "
        f"Correct or delete them (kubectl edit {ref.for_kubectl(crd.name)})",
    )
