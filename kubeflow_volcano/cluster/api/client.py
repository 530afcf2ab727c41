"""Client of one Kubernetes API server: discovery, and objects as plain dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

from kubeflow_volcano.cluster.api import credentials
from kubeflow_volcano.cluster.api.connection import BRIEF, BRIEF_LIST, WHOLE, Connection
from kubeflow_volcano.cluster.api.discovery import AGGREGATED, Kinds, Resource, aggregated, root, stale_versions
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed, odd_answers
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.parallel import begun
from kubeflow_volcano.problems import Unreachable

_NO_LOGS = ("unable to retrieve container logs for ", "failed to try resolving symlinks in path ")
_PAGE = 500
_VERSION_SECONDS = 10.0
_LOG_SECONDS = 10.0

Trim = Callable[[Object], object]
"""Removes fields that the reader does not need from an object, before the next page is read."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The objects of a collection or of one page of it, at one resourceVersion.

    If `restarted`, the listing begins again with this page, and the pages before it are outdated.
    """

    items: tuple[Object, ...]
    resource_version: str
    restarted: bool = False


class Cluster(Connection):
    """A client of one API server. Safe to use from several threads."""

    def __init__(self, load: Callable[[], credentials.Credentials], origin: str, user_agent: str) -> None:
        super().__init__(load, origin, user_agent)
        self._discovered: dict[str, Mapping[str, Resource]] = {}

    @classmethod
    def connect(
        cls, kubeconfig: Path | None = None, context: str | None = None, user_agent: str = "kubeflow-volcano"
    ) -> Self:
        """Load credentials (kubeconfig, else $KUBECONFIG, else in-cluster) and check that the server answers.

        Raises:
            Unreachable: the credentials are unusable, or the server does not answer.
        """
        origin = f"kubeconfig {kubeconfig or 'from the environment'}, context {context or 'current'}"
        try:
            cluster = cls(lambda: credentials.load(kubeconfig, context, origin), origin, user_agent)
            cluster.version  # noqa: B018  the request is the test
        except ApiError as error:
            raise Unreachable.problem(
                f"the API server of {origin} answered: {error}.",
                "an API server that answers /version.",
                "check that it runs; check the kubeconfig (server, CA, credentials) and the proxy variables.",
            ) from error
        return cluster

    @cached_property
    def version(self) -> Mapping[str, str]:
        """Answer of /version. Use `gitVersion`: major and minor may be empty."""
        answer = self.request("GET", "/version", deadline=Deadline(_VERSION_SECONDS))
        with odd_answers("its version"):
            return dict(answer)

    # discovery

    def resource(self, api_version: str, kind: str, *, refresh: bool = False) -> Resource:
        """How `kind` is served. One request per group version; `refresh` repeats it.

        Raises:
            NotServed: the server does not serve the group version or the kind (yet).
        """
        known = None if refresh else self._discovered.get(api_version)
        kinds = known or self.kinds(api_version)
        if kind not in kinds:
            raise NotServed(api_version, kind)
        return kinds[kind]

    def kinds(self, api_version: str, *, deadline: Deadline | None = None) -> Mapping[str, Resource]:
        """The kinds that the server serves now in a group version; empty if it does not serve the group version."""
        try:
            answer = self.request("GET", root(api_version), deadline=deadline)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return {}
            raise
        with odd_answers("discovery"):
            kinds = {
                item["kind"]: Resource(
                    api_version, item["kind"], item["name"], item["namespaced"], frozenset(item.get("verbs") or ())
                )
                for item in answer["resources"]
                if "/" not in item["name"]
            }
        self._discovered[api_version] = kinds
        return kinds

    def all_kinds(self) -> Kinds | None:
        """The kinds that the server serves now in all groups but core; None if it lacks aggregated discovery."""
        answer = self.request("GET", "/apis", accept=AGGREGATED)
        with odd_answers("discovery"):
            kinds = aggregated(answer)
        self._discovered |= kinds or {}
        return kinds

    def unanswered_versions(self) -> tuple[str, ...]:
        """The group versions of other servers that do not answer now; none if the server lacks aggregated discovery."""
        return stale_versions(self.request("GET", "/apis", accept=AGGREGATED))

    @property
    def known_kinds(self) -> Kinds:
        """The kinds that discovery has found so far."""
        return dict(self._discovered)

    # objects

    def get(self, ref: Ref, *, deadline: Deadline | None = None) -> Object | None:
        """The live object; None if it does not exist or its kind is not served."""
        try:
            path = self.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name)
            answer = self.request("GET", path, deadline=deadline)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        with odd_answers(str(ref)):
            return _mapping(answer)

    def list(
        self,
        api_version: str,
        kind: str,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        brief: bool = False,
        trim: Trim | None = None,
    ) -> Listing:
        """All objects of a kind, read in pages. `labels` and `fields` are selectors; `brief` reads metadata only.

        Raises:
            NotServed: the server does not serve the kind.
        """
        items: dict[tuple[str, str], Object] = {}
        version = ""
        for page in self.pages(
            api_version, kind, namespace=namespace, labels=labels, fields=fields, brief=brief, trim=trim
        ):
            if page.restarted:
                items.clear()
            version = page.resource_version
            items |= {(item["metadata"].get("namespace", ""), item["metadata"]["name"]): item for item in page.items}
        return Listing(tuple(items.values()), version)

    def pages(
        self,
        api_version: str,
        kind: str,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        size: int = _PAGE,
        brief: bool = False,
        cached: bool = False,
        trim: Trim | None = None,
        deadline: Deadline | None = None,
    ) -> Iterator[Listing]:
        """The objects of a kind in pages. If the continue token expires (410 Gone), the listing begins again.

        `cached` accepts what the server's watch cache holds, which may lag behind etcd: one page, whatever the `size`.
        The next page is on its way while one is trimmed.

        Raises:
            NotServed: the server does not serve the kind.
        """
        path = self.resource(api_version, kind).path(namespace)
        accept = BRIEF_LIST if brief else WHOLE
        selectors, limit = _selectors(labels, fields), {"limit": str(size)}

        def asking(query: Mapping[str, str]) -> Callable[[], Any]:
            return partial(self.request, "GET", path, query=query, accept=accept, deadline=deadline)

        answer, token = asking(limit | selectors | ({"resourceVersion": "0"} if cached else {})), ""
        restarts, restarted = 0, False
        while True:
            try:
                page = answer()
            except ApiError as error:
                if error.status != HTTPStatus.GONE or not token:
                    raise
                restarts, restarted = restarts + 1, True
                # A list that is too slow for its tokens comes in one page, which needs none.
                answer, token = asking(selectors if restarts > 1 else limit | selectors), ""
                continue
            with odd_answers(f"{kind} objects"):
                version, token = page["metadata"]["resourceVersion"], page["metadata"].get("continue")
                if token:
                    answer = asking(limit | selectors | {"continue": token})  # which names the resourceVersion
                    answer = begun(answer) if trim else answer
                items = page["items"] or ()  # null in an empty list of metadata
                for item in items:
                    _require_metadata(item["metadata"])
                    # The items of a list carry neither, and every reader needs both.
                    item["apiVersion"], item["kind"] = api_version, kind
                    if trim:
                        trim(item)
            yield Listing(tuple(items), version, restarted)
            if not token:
                return
            restarted = False

    def create(self, obj: Object, *, dry_run: bool = False, deadline: Deadline | None = None) -> Object:
        """Create an object. After a retry, AlreadyExists may mean that this call created it."""
        ref = Ref.of(obj)
        path = self.resource(ref.api_version, ref.kind).path(ref.namespace)
        created: Object = self.request("POST", path, query=_dry(dry_run), body=obj, deadline=deadline)
        return created

    def apply(
        self,
        obj: Object,
        *,
        manager: str,
        force: bool = False,
        dry_run: bool = False,
        brief: bool = False,
        deadline: Deadline | None = None,
    ) -> Object:
        """Server-side apply with `manager` as the field manager; returns the live object.

        `brief` returns metadata only and skips the validation of fields: both save the server work.
        """
        ref = Ref.of(obj)
        query = {"fieldManager": manager, "force": str(force).lower()} | _dry(dry_run)
        if brief:
            query["fieldValidation"] = "Ignore"
        path = self.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name)
        applied: Object = self.request(
            "PATCH",
            path,
            query=query,
            body=obj,
            content_type="application/apply-patch+yaml",
            accept=BRIEF if brief else WHOLE,
            deadline=deadline,
        )
        return applied

    def replace(
        self, obj: Object, *, subresource: str = "", manager: str = "", deadline: Deadline | None = None
    ) -> Object:
        """Replace the object, or its `subresource`; if `obj` has a resourceVersion, only while it is the current one.

        `manager` is the field manager; by default the API server takes the name of the client.
        """
        ref = Ref.of(obj)
        path = self.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name)
        path += f"/{subresource}" if subresource else ""
        query = {"fieldManager": manager} if manager else {}
        replaced: Object = self.request("PUT", path, query=query, body=obj, deadline=deadline)
        return replaced

    def patch(
        self,
        ref: Ref,
        body: Any,
        *,
        content_type: str = "application/merge-patch+json",
        brief: bool = False,
        deadline: Deadline | None = None,
    ) -> Object:
        """Patch the live object; by default with a JSON merge patch. `brief` returns metadata only."""
        path = self.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name)
        accept = BRIEF if brief else WHOLE
        patched: Object = self.request(
            "PATCH", path, body=body, content_type=content_type, accept=accept, deadline=deadline
        )
        return patched

    def delete(
        self,
        ref: Ref,
        *,
        uid: str,
        version: str = "",
        grace_seconds: int | None = None,
        propagation: str = "Background",
        dry_run: bool = False,
        deadline: Deadline | None = None,
    ) -> bool:
        """Delete the object with this `uid`; False if it does not exist any more or was recreated.

        With a `version` (metadata.resourceVersion) also False if it has changed since.
        """
        preconditions = {"uid": uid, **({"resourceVersion": version} if version else {})}
        body: dict[str, Any] = {"preconditions": preconditions, "propagationPolicy": propagation}
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        if dry_run:  # with a body, the server reads the options there and nowhere else (endpoints/handlers/delete.go)
            body["dryRun"] = ["All"]
        try:
            path = self.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name)
            self.request("DELETE", path, query=_dry(dry_run), body=body, deadline=deadline)
        except ApiError as error:
            if error.status in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}:
                return False
            raise
        return True

    def logs(self, namespace: str, pod: str, container: str = "", *, previous: bool = False, tail: int = 50) -> str:
        """The last `tail` lines of a container's log; empty if the kubelet has none any more.

        It then answers 200 with a sentence of its own, which is no log (ReadLogs in pkg/kubelet/kuberuntime;
        kubernetes/kubernetes#107243).
        """
        query = {"tailLines": str(tail), "previous": str(previous).lower()}
        if container:
            query["container"] = container
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log"
        text = self.text(path, query, Deadline(_LOG_SECONDS), most=1 << 20)
        return "" if text.startswith(_NO_LOGS) else text


_OF_METADATA: Mapping[str, type] = {
    "namespace": str,
    "labels": dict,
    "annotations": dict,
    "finalizers": list,
    "ownerReferences": list,
}


def _require_metadata(meta: Any) -> None:
    """Refuse metadata of other types: an API server decodes those of every kind (apimachinery, meta/v1: ObjectMeta).

    Raises:
        TypeError: they are of other types.
        LookupError: there is no name.
    """
    if not isinstance(meta["name"], str):
        raise TypeError(f"metadata.name is {meta['name']!r:.80}")
    for key, kind in _OF_METADATA.items():
        value = meta.get(key)
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"metadata.{key} of {meta['name']} is {value!r:.80}")
    for owner in meta.get("ownerReferences") or ():
        _mapping(owner)


def _mapping(value: Any) -> Object:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.80} is no object")
    return value


def _selectors(labels: str, fields: str) -> dict[str, str]:
    return {key: text for key, text in (("labelSelector", labels), ("fieldSelector", fields)) if text}


def _dry(dry_run: bool) -> dict[str, str]:  # noqa: FBT001  private
    return {"dryRun": "All"} if dry_run else {}
