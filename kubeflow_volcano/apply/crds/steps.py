"""The steps of a `CrdChange` on a cluster. Each is found from the live CRD, so that a run resumes where one ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from http import HTTPStatus

from kubeflow_volcano.apply.crds.change import CrdChange, change_of, intermediate, storage_hash, storage_version
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.edit import edit
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import counted, few

__all__ = ["CrdSteps"]

_PARALLEL = 8
_PAGE = 500
_POLL_SECONDS = 0.2
_SERVED_SECONDS = 60.0
_OTHER_SERVERS_SECONDS = 2.0
"""How long other API servers of the same cluster may take to see a change of a CRD."""
_PASS_SECONDS = 2.0
_REWRITE_SECONDS = 300.0
"""How long objects may be refused, by a webhook without an answer, after the last one that was stored again."""
_MOST_SHOWN = 5


class CrdSteps:
    """The steps for all CRDs of one run; used by several threads at once."""

    def __init__(self, cluster: Cluster, deadline: Deadline, progress: Progress) -> None:
        self._cluster = cluster
        self._deadline = deadline
        self._progress = progress

    def run(self, declared: Object, live: Object, send: Callable[[Object, Object], None]) -> None:
        """Prepare the live CRD for the declared one; nothing happens where nothing is needed.

        Args:
            declared: the normalized CRD.
            live: the CRD as it was found.
            send: applies the first of two CRDs instead of the second; raises ApiError where it is refused.

        Raises:
            ApiError: a step was refused, or objects could not be stored again; the next run resumes.
        """
        change = change_of(declared, live, FIELD_MANAGER)
        if change is None:
            return
        ref = Ref.of(declared)
        if change.stored:
            if change.moves:
                self._progress(f"{ref}: objects are stored in {change.storage} from now on")
                send(intermediate(declared, live), live)
            self._await_storage(declared, change.storage)
            if change.moves:
                self._deadline.pause(_OTHER_SERVERS_SECONDS)
            self._rewrite_all(declared, change)
            self._forget(ref, change)
        if change.drops_conversion:
            self._drop_conversion(ref)
            self._progress(f"{ref}: conversion by webhook removed, as the new version declares none")

    def count(self, declared: Object, live: Object, change: CrdChange) -> int | None:
        """How many objects would be stored again; None where the API server cannot list them."""
        served = [item["name"] for item in live["spec"]["versions"] if item["served"]]
        version = change.storage if change.storage in served else served[0] if served else ""
        try:
            pages = self._cluster.pages(*_kind(declared, version), size=_PAGE, brief=True, deadline=self._deadline)
            return sum(len(page.items) for page in pages)
        except ApiError:
            return None

    def _await_storage(self, crd: Object, version: str) -> None:
        """Wait until the API server serves the version, and stores objects in it.

        Raises:
            ApiError: it does not in time.
        """
        api_version, kind = _kind(crd, version)
        wanted = storage_hash(crd, version)
        for _ in self._deadline.at_most(_SERVED_SECONDS).every(_POLL_SECONDS):
            try:
                answer = self._cluster.request("GET", f"/apis/{api_version}", deadline=self._deadline)
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
                continue
            found = [item for item in answer["resources"] if item["kind"] == kind and "/" not in item["name"]]
            if found and found[0].get("storageVersionHash", wanted) == wanted:
                self._cluster.resource(api_version, kind, refresh=True)
                return
        raise ApiError(0, "NotStored", f"objects of kind {kind} are not stored in {api_version} yet")

    def _rewrite_all(self, crd: Object, change: CrdChange) -> None:
        """Store every object again, until a pass over all of them finds none in another version.

        Raises:
            ApiError: objects were refused.
        """
        ref, total = Ref.of(crd), 0
        limit = self._deadline.at_most(_REWRITE_SECONDS)
        for _ in limit.every(_PASS_SECONDS):
            stored, refused = self._rewrite(crd, change.storage, total)
            total += stored
            lasting = [error for _, error in refused if not (error.webhook_unanswered or error.transient)]
            if lasting or (refused and limit.passed):
                raise _refusal(ref, change.storage, refused)
            if stored:
                limit.renew()
            elif not refused:
                self._progress(f"{ref}: stored versions migrated: {counted(total, 'object')} to {change.storage}")
                return
        raise ApiError(0, "NotStored", f"{ref}: objects are still written in {', '.join(change.stored)}")

    def _rewrite(self, crd: Object, version: str, before: int) -> tuple[int, Sequence[tuple[Ref, ApiError]]]:
        """One pass: how many objects were stored in another version, and which were refused."""
        api_version, kind = _kind(crd, version)
        stored, refused = 0, list[tuple[Ref, ApiError]]()

        def rewrite(item: Object) -> bool | tuple[Ref, ApiError]:
            """An empty patch: the API server writes the object only if its stored form differs."""
            ref = Ref(api_version, kind, item["metadata"].get("namespace", ""), item["metadata"]["name"])
            try:
                after = self._cluster.patch(ref, {}, brief=True, deadline=self._deadline)
            except ApiError as error:
                return False if error.status == HTTPStatus.NOT_FOUND else (ref, error)
            return bool(after["metadata"]["resourceVersion"] != item["metadata"]["resourceVersion"])

        for page in self._cluster.pages(api_version, kind, size=_PAGE, brief=True, deadline=self._deadline):
            answers = in_parallel(rewrite, page.items, _PARALLEL)
            stored += sum(answer is True for answer in answers)
            refused += [answer for answer in answers if isinstance(answer, tuple)]
            if stored:
                self._deadline.renew()
                self._progress(f"{Ref.of(crd)}: {counted(before + stored, 'object')} stored in {version}")
        return stored, refused

    def _forget(self, ref: Ref, change: CrdChange) -> None:
        """Remove the versions from status.storedVersions, in which no object is stored any more."""

        def reduce(live: Object) -> bool:
            storage = storage_version(live)
            if storage != change.storage:
                raise ApiError(0, "Changed", f"{ref} was changed by others meanwhile, and stores in {storage} again")
            stored = live["status"]["storedVersions"]
            live["status"]["storedVersions"] = [name for name in stored if name not in change.stored]
            return True

        edit(self._cluster, ref, reduce, manager=FIELD_MANAGER, deadline=self._deadline, subresource="status")

    def _drop_conversion(self, ref: Ref) -> None:
        """Remove the conversion as a whole, with what injectors added to it."""

        def drop(live: Object) -> bool:
            live["spec"]["conversion"] = {"strategy": "None"}
            return True

        edit(self._cluster, ref, drop, manager=FIELD_MANAGER, deadline=self._deadline)


def _kind(crd: Object, version: str) -> tuple[str, str]:
    return f"{crd['spec']['group']}/{version}", crd["spec"]["names"]["kind"]


def _refusal(crd: Ref, version: str, refused: Sequence[tuple[Ref, ApiError]]) -> ApiError:
    ref, error = refused[0]
    names = few([f"{item.namespace}/{item.name}".lstrip("/") for item, _ in refused], _MOST_SHOWN)
    return ApiError(
        error.status,
        error.reason,
        f"{counted(len(refused), 'object')} of {crd.name} cannot be stored in {version}: {names}. {error.message} "
        f"Correct or delete them (kubectl edit {ref.for_kubectl(crd.name)})",
    )
