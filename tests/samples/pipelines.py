"""A stand-in for the API of Pipelines, written from its published description (kubeflow/pipelines, backend/api).

A real one is not to be had by tests: it needs MySQL, an object store and images. What is refused here is what its
source refuses: requests without a token of the audience, and the deletion of a pipeline that has a version (from 2.0.0
on, in both versions of the API). kfp reads its answers as those of a real one (test_kfp.py of the probe).
"""

from __future__ import annotations

import email
import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

from tests import serving

TOKEN = "a.profile.token"  # noqa: S105  of a stand-in
UNKNOWN = {
    "error": "Internal error: Unauthenticated: Request header error: there is no user identity header.\n"
    "github.com/kubeflow/pipelines/backend/src/common/util.Wrap\n\t/go/src/error.go:275",
    "code": 16,
}


class Way(socket.socket):
    """A connection on loopback in place of a port-forward."""

    def shutdown(self, how: int = socket.SHUT_RDWR) -> None:
        """End it."""
        super().shutdown(how)


@dataclass(slots=True)
class Asked:
    """A request: its path below the version, its body as JSON, and the answer to it.

    The body of an upload is the documents of the file by the name of their part.
    """

    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    answer: Any = None


@dataclass
class StandIn:
    """One API server. `states` are what a run is in, one after the other; the last one stays.

    `refused` are answers, by method and the beginning of a path below the version.
    """

    version: str
    states: Sequence[str] = ("PENDING", "RUNNING", "SUCCEEDED")
    error: str = ""
    multi_user: bool = True
    refused: dict[tuple[str, str], tuple[int, Any]] = field(default_factory=dict)
    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    kept: dict[str, Any] = field(default_factory=dict)
    """What exists, as it is answered, by ID: one experiment e, pipeline p with version v, and run r."""
    polls: int = 0

    def connect(self, *_: Any, **__: Any) -> Way:
        """A connection to it."""
        way = Way()
        way.connect(("127.0.0.1", self.port))
        return way

    @property
    def requests(self) -> list[str]:
        """Methods and paths of what was asked for."""
        return [f"{item.method} {item.path}" for item in self.asked]

    def sent(self, request: str) -> Any:
        """The body of the last of these requests."""
        return next(item.body for item in reversed(self.asked) if f"{item.method} {item.path}" == request)

    def knows(self, authorization: str) -> bool:
        """Whether the header is one of a user."""
        return authorization == f"Bearer {TOKEN}"

    def answer(self, method: str, url: str, token: str, kind: str, body: bytes) -> tuple[int, Any]:
        """Status and body of the answer to one request."""
        whole = urlsplit(url)
        version, _, path = whole.path.removeprefix("/apis/").partition("/")
        read = None if not body else _uploaded(kind, body) if kind.startswith("multipart/") else json.loads(body)
        asked = Asked(method, path, dict(parse_qsl(whole.query)), read)
        status, asked.answer = self._answer(version, token, asked)
        self.asked.append(asked)
        return status, asked.answer

    def _answer(self, version: str, token: str, asked: Asked) -> tuple[int, Any]:
        method, path, body = asked.method, asked.path, asked.body
        if version != self.version:
            return 404, {"error": "Not Found", "code": 5}
        for (refused, begin), answer in self.refused.items():
            if method == refused and path.startswith(begin):
                return answer
        if path == "healthz":
            return 200, {"multi_user": self.multi_user}
        if not self.knows(token):
            return 401, UNKNOWN
        if method == "DELETE":
            return self._delete(path)
        known = {
            "GET experiments": lambda: self._list("experiments", "e"),
            "POST experiments": lambda: self._keep("experiment", "e", body),
            "POST pipelines/upload": lambda: self._upload(asked.query, body),
            f"GET {self._versions}": lambda: self._list("pipeline_versions" if self.later else "versions", "v"),
            "POST runs": lambda: self._run(body),
            "GET runs/r": self._state,
        }
        made = known.get(f"{method} {path}")
        return (200, made()) if made else (404, {"error": f"{path} not found", "code": 5})

    @property
    def later(self) -> bool:
        """Whether it is the later version of the API."""
        return self.version == "v2beta1"

    @property
    def _versions(self) -> str:
        return "pipelines/p/versions" if self.later else "pipeline_versions"

    def _list(self, key: str, id_: str) -> Any:
        return {key: [self.kept[id_]], "total_size": 1} if id_ in self.kept else {}

    def _keep(self, kind: str, id_: str, fields: Mapping[str, Any]) -> Any:
        """What was asked for, with its ID and the time."""
        key = f"{kind}_id" if self.later else "id"
        self.kept[id_] = {**fields, key: id_, "created_at": "2024-05-01T10:00:00Z"}
        return self.kept[id_]

    def _upload(self, query: Mapping[str, str], documents: Mapping[str, Any]) -> Any:
        name, namespace = query["name"], query.get("namespace", "")
        (content,) = documents["uploadfile"].values()
        if self.later:
            spec = (
                content[0] if len(content) == 1 else dict(zip(("pipeline_spec", "platform_spec"), content, strict=True))
            )
            self._keep("pipeline_version", "v", {"pipeline_id": "p", "display_name": name, "pipeline_spec": spec})
            return self._keep("pipeline", "p", {"display_name": name, "namespace": namespace})
        references = [{"key": {"type": "PIPELINE", "id": "p"}, "relationship": "OWNER"}]
        version = self._keep("pipeline_version", "v", {"name": name, "resource_references": references})
        owners = [{"key": {"type": "NAMESPACE", "id": namespace}, "relationship": "OWNER"}] if namespace else []
        return self._keep("pipeline", "p", {"name": name, "default_version": version, "resource_references": owners})

    def _run(self, body: Mapping[str, Any]) -> Any:
        self._keep("run", "r", {**body, "state": "PENDING"} if self.later else body)
        return self.kept["r"] if self.later else {"run": self.kept["r"]}

    def _state(self) -> Any:
        state = self.states[min(self.polls, len(self.states) - 1)]
        self.polls += 1
        if self.later:
            error: Mapping[str, Any] = {"error": {"code": 2, "message": self.error}} if self.error else {}
            return {**self.kept["r"], "state": state, **error}
        error = {"error": self.error} if self.error else {}
        return {"run": {**self.kept["r"], "status": state.capitalize(), **error}}

    def _delete(self, path: str) -> tuple[int, Any]:
        id_ = path.rpartition("/")[2]
        if id_ not in self.kept or (id_ == "v" and path != f"{self._versions}/v"):
            return 404, {"error": f"{path} not found", "code": 5}
        if id_ == "p" and "v" in self.kept:
            return 400, {"error": "Failed to delete pipeline with id p as it has existing pipeline versions", "code": 3}
        del self.kept[id_]
        return 200, {}


def _uploaded(kind: str, body: bytes) -> dict[str, dict[str, list[Any]]]:
    """The documents of each part of a form, by its name and that of the file, which has to end as one of YAML."""
    form: Any = email.message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    parts = {part.get_param("name", header="content-disposition"): part for part in form.get_payload()}
    assert all(part.get_filename().endswith((".yaml", ".yml")) for part in parts.values())
    return {
        name: {part.get_filename(): [*yaml.safe_load_all(part.get_payload(decode=True))]}
        for name, part in parts.items()
    }


def handler_of(made: StandIn) -> type[serving.Handler]:
    """What serves its answers."""

    class Handler(serving.Handler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, answer = made.answer(
                self.command,
                self.path,
                self.headers.get("Authorization", ""),
                self.headers.get("Content-Type", ""),
                body,
            )
            self.answer(answer, status)

        do_GET = do_POST = do_DELETE = _serve

    return Handler


@contextmanager
def pipelines(version: str, **how: Any) -> Iterator[StandIn]:
    """A stand-in on loopback for the time of a block."""
    made = StandIn(version, **how)
    with serving.serving(handler_of(made)) as made.port:
        yield made
