"""One Kubernetes API server over kept-alive connections: plain dicts in and out, typed errors, bounded retries."""

from __future__ import annotations

import contextlib
import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

import urllib3
import yaml
from kubernetes import client as kubernetes_client
from kubernetes import config as kubernetes_config
from kubernetes.config import kube_config

from kubeflow_volcano.cluster.deadline import Deadline
from kubeflow_volcano.cluster.errors import ApiError, NotServed, from_response
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem, Unreachable

__all__ = ["Cluster", "Listing", "Resource"]

_CONNECT_SECONDS = 5.0
_READ_SECONDS = 35.0  # above the server's own limit for mutating requests (34 s), so that its answer is seen
_RETRY_SECONDS = 60.0
_FIRST_DELAY, _LONGEST_DELAY = 0.1, 5.0
_PAGE = 500
_WHOLE = "application/json"
_BRIEF = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json"


@dataclass(frozen=True, slots=True)
class Resource:
    """How a kind is addressed."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool

    def path(self, namespace: str = "", name: str = "") -> str:
        """URL path of the collection, or of one object of it."""
        root = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{root}{scope}/{self.plural}" + (f"/{name}" if name else "")


@dataclass(frozen=True, slots=True)
class Listing:
    """The objects of a collection, all as of one resourceVersion."""

    items: tuple[Object, ...]
    resource_version: str


class Cluster:
    """A connection to one API server. Safe to use from several threads."""

    def __init__(self, load: Callable[[], Any], origin: str, user_agent: str) -> None:
        """`load` makes a fresh client configuration; it is called again once when a token is no longer accepted."""
        self.origin = origin
        self.retries = 0
        self.trouble = ""
        """What the last answer that heals said; empty again after a good one."""
        self._load = load
        self._user_agent = user_agent
        self._lock = threading.Lock()
        self._discovered: dict[str, Mapping[str, Resource]] = {}
        self._configure()

    @classmethod
    def connect(
        cls, kubeconfig: Path | None = None, context: str | None = None, user_agent: str = "kubeflow-volcano"
    ) -> Self:
        """Load credentials (kubeconfig, else $KUBECONFIG, else in-cluster) and see that the server answers.

        Raises:
            Unreachable: no usable credentials, or the server does not answer.
        """
        origin = f"kubeconfig {kubeconfig or 'from the environment'}, context {context or 'current'}"

        def load() -> Any:
            config = kubernetes_client.Configuration()
            if kubeconfig is None and context is None:
                with contextlib.suppress(kubernetes_config.ConfigException):
                    kubernetes_config.load_incluster_config(client_configuration=config)
                    return config
            kubernetes_config.load_kube_config(
                config_file=str(kubeconfig) if kubeconfig else None,
                context=context,
                client_configuration=config,
                persist_config=False,
            )
            return config

        try:
            cluster = cls(load, origin, user_agent)
            cluster.version  # noqa: B018  asking is the test
        except (kubernetes_config.ConfigException, yaml.YAMLError, ValueError, OSError) as error:
            raise Unreachable(_no_credentials(origin, " ".join(str(error).split()))) from error
        except ApiError as error:
            raise Unreachable(
                Problem(
                    f"the API server of {origin} answered: {error}.",
                    "an API server that answers /version.",
                    "check that it runs, the address and authority in the kubeconfig, and the proxy variables.",
                )
            ) from error
        return cluster

    def _configure(self) -> None:
        self._config = self._load()
        # The client library writes keys to temporary files and removes them by atexit, which forked workers don't run.
        Finalize(None, kube_config._cleanup_temp_files, exitpriority=0)  # noqa: SLF001  it has no public name
        self._config.connection_pool_maxsize = 32
        self._pool: urllib3.PoolManager = kubernetes_client.ApiClient(self._config).rest_client.pool_manager

    @cached_property
    def version(self) -> Mapping[str, str]:
        """Answer of /version; `gitVersion` is the one to trust, major and minor may be empty."""
        return dict(self.request("GET", "/version", deadline=Deadline(10)))

    # requests

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        accept: str = _WHOLE,
        deadline: Deadline | None = None,
    ) -> Any:
        """Send one request, again while the trouble is transient, and return the parsed answer.

        Raises:
            ApiError: the server's refusal, or the last transient trouble when `deadline` (default 60 s) is over.
        """
        deadline = deadline or Deadline(_RETRY_SECONDS)
        delay = _FIRST_DELAY
        reloaded = False
        while True:
            try:
                answer = self._send(
                    method, path, deadline, query=query, body=body, content_type=content_type, accept=accept
                )
                self.trouble = ""
                return json.loads(answer.data or b"null")
            except ApiError as error:
                if error.status == HTTPStatus.UNAUTHORIZED and not reloaded:  # a token may expire in mid-run
                    reloaded = True
                    with self._lock:
                        self._configure()
                    continue
                jitter = delay * random.uniform(0.5, 1.5)  # noqa: S311  no secret
                pause = error.retry_after + min(jitter, 1.0) if error.retry_after else jitter
                outdated = method == "PUT" and error.status == HTTPStatus.CONFLICT  # and stays so
                if not error.transient or outdated or pause > deadline.remaining:
                    raise
                self.trouble = str(error)
                with self._lock:
                    self.retries += 1
                time.sleep(pause)
                delay = min(delay * 2, _LONGEST_DELAY)

    def stream(self, path: str, query: Mapping[str, str], deadline: Deadline) -> urllib3.BaseHTTPResponse:
        """Open a response whose body is still to come (watches, logs). The caller closes it."""
        return self._send("GET", path, deadline, query=query, stream=True)

    def _send(
        self,
        method: str,
        path: str,
        deadline: Deadline,
        *,
        query: Mapping[str, str] | None,
        body: Any = None,
        content_type: str = "",
        accept: str = _WHOLE,
        stream: bool = False,
    ) -> urllib3.BaseHTTPResponse:
        headers = {"Accept": accept, "User-Agent": self._user_agent}
        if body is not None:
            headers["Content-Type"] = content_type
        for setting in self._config.auth_settings().values():
            headers[setting["key"]] = setting["value"]
        url = self._config.host.rstrip("/") + path + (f"?{urlencode(query)}" if query else "")
        read = deadline.remaining + _CONNECT_SECONDS if stream else min(_READ_SECONDS, deadline.remaining + 1)
        try:
            response = self._pool.request(
                method,
                url,
                body=None if body is None else json.dumps(body).encode(),
                headers=headers,
                timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=read),
                retries=False,
                preload_content=not stream,
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ApiError(0, "NoAnswer", f"no answer from {self._config.host} ({error})") from error
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise from_response(response.status, response.headers, response.data)
        return response

    # discovery

    def resource(self, api_version: str, kind: str, *, refresh: bool = False) -> Resource:
        """How `kind` is served; asks the server once per group version, and again with `refresh`.

        Raises:
            NotServed: the group version or the kind is not served (yet).
        """
        kinds = self.kinds(api_version) if refresh else self.kinds_once(api_version)
        if kind not in kinds:
            raise NotServed(api_version, kind)
        return kinds[kind]

    def kinds_once(self, api_version: str) -> Mapping[str, Resource]:
        """What the server served in that group version when it was asked first."""
        return self._discovered.get(api_version) or self.kinds(api_version)

    def kinds(self, api_version: str) -> Mapping[str, Resource]:
        """What the server serves in that group version just now; nothing when it does not know it."""
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        try:
            answer = self.request("GET", root)
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

    def list(self, api_version: str, kind: str, *, namespace: str = "", labels: str = "", fields: str = "") -> Listing:
        """All objects of a kind, paged; `labels` and `fields` are selectors.

        Raises:
            NotServed: the kind is not served.
        """
        items: dict[tuple[str, str], Object] = {}
        version = ""
        for page in self.pages(api_version, kind, namespace=namespace, labels=labels, fields=fields):
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
        deadline: Deadline | None = None,
    ) -> Iterator[Listing]:
        """The objects of a kind page by page; one that takes too long to read (410 Gone) comes again from the start.

        Raises:
            NotServed: the kind is not served.
        """
        path = self.resource(api_version, kind).path(namespace)
        query = {"limit": str(size)} | _selectors(labels, fields)
        while True:
            try:
                page = self.request("GET", path, query=query, deadline=deadline)
            except ApiError as error:
                if error.status != HTTPStatus.GONE or "continue" not in query:
                    raise
                query = _selectors(labels, fields)  # as a whole, which cannot become too old
                continue
            for item in page["items"]:
                # The items of a list carry neither; every reader wants both.
                item["apiVersion"], item["kind"] = api_version, kind
            yield Listing(tuple(page["items"]), page["metadata"]["resourceVersion"])
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

        With `brief` only its metadata, which saves sending and reading the rest.
        """
        ref = Ref.of(obj)
        query = {"fieldManager": manager, "force": str(force).lower()} | _dry(dry_run)
        path = self.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name)
        applied: Object = self.request(
            "PATCH",
            path,
            query=query,
            body=obj,
            content_type="application/apply-patch+yaml",
            accept=_BRIEF if brief else _WHOLE,
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
        grace_seconds: int | None = None,
        propagation: str = "Background",
        deadline: Deadline | None = None,
    ) -> bool:
        """Delete the object that has this very `uid`; False when it is gone or is another one by now."""
        body: dict[str, Any] = {"preconditions": {"uid": uid}, "propagationPolicy": propagation}
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


def _no_credentials(origin: str, cause: str) -> Problem:
    return Problem(
        f"no usable credentials ({origin}): {cause.rstrip('.')}.",
        "a kubeconfig that can be read and whose context exists.",
        "name the file with --kubeconfig (or the variable kubeflow_kubeconfig) and the context with --context.",
    )
