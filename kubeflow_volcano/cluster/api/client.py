"""One Kubernetes API server: its kinds and objects as plain dicts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

from kubeflow_volcano.cluster.api import credentials
from kubeflow_volcano.cluster.api.connection import BRIEF, BRIEF_LIST, WHOLE, Connection
from kubeflow_volcano.cluster.api.discovery import AGGREGATED, Kinds, Resource, aggregated, root
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem, Unreachable

__all__ = ["Cluster", "Listing", "Trim"]

_PAGE = 500
_VERSION_SECONDS = 10.0

Trim = Callable[[Object], object]
"""Takes away from an object what its reader does not need, before the next page is read."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The objects of a collection, or of a page of it, all as of one resourceVersion.

    A page that is `anew` is the first of another reading: the pages before it are out of date.
    """

    items: tuple[Object, ...]
    resource_version: str
    anew: bool = False


class Cluster(Connection):
    """What one API server serves. Safe to use from several threads."""

    def __init__(self, load: Callable[[], credentials.Credentials], origin: str, user_agent: str) -> None:
        super().__init__(load, origin, user_agent)
        self._discovered: dict[str, Mapping[str, Resource]] = {}

    @classmethod
    def connect(
        cls, kubeconfig: Path | None = None, context: str | None = None, user_agent: str = "kubeflow-volcano"
    ) -> Self:
        """Load credentials (kubeconfig, else $KUBECONFIG, else in-cluster) and see that the server answers.

        Raises:
            Unreachable: no usable credentials, or the server does not answer.
        """
        origin = f"kubeconfig {kubeconfig or 'from the environment'}, context {context or 'current'}"
        try:
            cluster = cls(lambda: credentials.load(kubeconfig, context, origin), origin, user_agent)
            cluster.version  # noqa: B018  asking is the test
        except ApiError as error:
            raise Unreachable(
                Problem(
                    f"the API server of {origin} answered: {error}.",
                    "an API server that answers /version.",
                    "check that it runs, the kubeconfig (address, authority, credentials) and the proxy variables.",
                )
            ) from error
        return cluster

    @cached_property
    def version(self) -> Mapping[str, str]:
        """Answer of /version; `gitVersion` is the one to trust, major and minor may be empty."""
        return dict(self.request("GET", "/version", deadline=Deadline(_VERSION_SECONDS)))

    # discovery

    def resource(self, api_version: str, kind: str, *, refresh: bool = False) -> Resource:
        """How `kind` is served; asks the server once per group version, and again with `refresh`.

        Raises:
            NotServed: the group version or the kind is not served (yet).
        """
        known = None if refresh else self._discovered.get(api_version)
        kinds = known or self.kinds(api_version)
        if kind not in kinds:
            raise NotServed(api_version, kind)
        return kinds[kind]

    def kinds(self, api_version: str, *, deadline: Deadline | None = None) -> Mapping[str, Resource]:
        """What the server serves in that group version just now; nothing when it does not know it."""
        try:
            answer = self.request("GET", root(api_version), deadline=deadline)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return {}
            raise
        found = {
            item["kind"]: Resource(api_version, item["kind"], item["name"], item["namespaced"])
            for item in answer["resources"]
            if "/" not in item["name"]
        }
        self._discovered[api_version] = found
        return found

    def all_kinds(self) -> Kinds | None:
        """What the server serves just now in all groups but the core one; None when it tells that only by version."""
        found = aggregated(self.request("GET", "/apis", accept=AGGREGATED))
        self._discovered |= found or {}
        return found

    # objects

    def get(self, ref: Ref, *, deadline: Deadline | None = None) -> Object | None:
        """The live object, or None when there is none, or its kind is not served."""
        try:
            path = self.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name)
            found: Object = self.request("GET", path, deadline=deadline)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        return found

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
        """All objects of a kind, paged; `labels` and `fields` are selectors. With `brief` only their metadata.

        Raises:
            NotServed: the kind is not served.
        """
        items: dict[tuple[str, str], Object] = {}
        version = ""
        for page in self.pages(
            api_version, kind, namespace=namespace, labels=labels, fields=fields, brief=brief, trim=trim
        ):
            if page.anew:
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
        trim: Trim | None = None,
        deadline: Deadline | None = None,
    ) -> Iterator[Listing]:
        """The objects of a kind page by page; one that takes too long to read (410 Gone) comes again from the start.

        Raises:
            NotServed: the kind is not served.
        """
        path = self.resource(api_version, kind).path(namespace)
        accept = BRIEF_LIST if brief else WHOLE
        query = {"limit": str(size)} | _selectors(labels, fields)
        anew = False
        while True:
            try:
                page = self.request("GET", path, query=query, accept=accept, deadline=deadline)
            except ApiError as error:
                if error.status != HTTPStatus.GONE or "continue" not in query:
                    raise
                query, anew = _selectors(labels, fields), True  # as a whole, which cannot become too old
                continue
            items = page["items"] or ()  # null where a list of metadata alone is empty
            for item in items:
                # The items of a list carry neither; every reader wants both.
                item["apiVersion"], item["kind"] = api_version, kind
                if trim:
                    trim(item)
            yield Listing(tuple(items), page["metadata"]["resourceVersion"], anew)
            anew = False
            token = page["metadata"].get("continue")
            if not token:
                return
            query["continue"] = token

    def create(self, obj: Object, *, dry_run: bool = False, deadline: Deadline | None = None) -> Object:
        """Create an object. After a retried connection an 'already exists' may be this very call's own doing."""
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
        """Server-side apply: the object's fields become owned by `manager`; returns what the server now holds.

        With `brief` only its metadata, and unknown fields are not warned of: both save the server work.
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

    def replace(self, obj: Object, *, deadline: Deadline | None = None) -> Object:
        """Replace the object by this text; with its resourceVersion, only if it is still that one."""
        ref = Ref.of(obj)
        path = self.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name)
        replaced: Object = self.request("PUT", path, body=obj, deadline=deadline)
        return replaced

    def patch(self, ref: Ref, body: Any, *, content_type: str = "application/merge-patch+json") -> Object:
        """Merge `body` into the live object."""
        path = self.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name)
        patched: Object = self.request("PATCH", path, body=body, content_type=content_type)
        return patched

    def delete(
        self,
        ref: Ref,
        *,
        uid: str,
        version: str = "",
        grace_seconds: int | None = None,
        propagation: str = "Background",
        deadline: Deadline | None = None,
    ) -> bool:
        """Delete the object that has this very `uid`; False when it is gone or is another one by now.

        With a `version` (metadata.resourceVersion) also False when anything of it has changed since.
        """
        wanted = {"uid": uid, **({"resourceVersion": version} if version else {})}
        body: dict[str, Any] = {"preconditions": wanted, "propagationPolicy": propagation}
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        try:
            path = self.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name)
            self.request("DELETE", path, body=body, deadline=deadline)
        except ApiError as error:
            if error.status in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}:
                return False
            raise
        return True

    def logs(self, namespace: str, pod: str, container: str = "", *, previous: bool = False, tail: int = 50) -> str:
        """The last lines that a container wrote."""
        query = {"tailLines": str(tail), "previous": str(previous).lower()}
        if container:
            query["container"] = container
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log"
        with contextlib.closing(self.stream(path, query, Deadline(10))) as response:
            return response.read(1 << 20).decode("utf-8", "replace")


def _selectors(labels: str, fields: str) -> dict[str, str]:
    return {key: text for key, text in (("labelSelector", labels), ("fieldSelector", fields)) if text}


def _dry(dry_run: bool) -> dict[str, str]:  # noqa: FBT001  private, one caller's flag
    return {"dryRun": "All"} if dry_run else {}
