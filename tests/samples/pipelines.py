"""A stand-in for the API of Pipelines, written from its published description (kubeflow/pipelines, backend/api).

A real one is not to be had by tests: it needs MySQL, an object store and images. What is refused here is what its
source refuses: requests without a token of the audience, and the deletion of a pipeline that has a version.
"""

from __future__ import annotations

import email
import json
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

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
    requests: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)
    """What exists: kind by ID."""
    experiment: Any = None
    run: Any = None
    documents: list[Any] = field(default_factory=list)
    polls: int = 0

    def connect(self, *_: Any, **__: Any) -> Way:
        """A connection to it."""
        way = Way()
        way.connect(("127.0.0.1", self.port))
        return way

    def knows(self, authorization: str) -> bool:
        """Whether the header is one of a user."""
        return authorization == f"Bearer {TOKEN}"

    def answer(self, method: str, path: str, token: str, kind: str, body: bytes) -> tuple[int, Any]:
        """Status and body of the answer to one request."""
        version, _, rest = path.removeprefix("/apis/").partition("/")
        self.requests.append(f"{method} {rest}")
        if version != self.version:
            return 404, {"error": "Not Found", "code": 5}
        for (refused, begin), answer in self.refused.items():
            if method == refused and rest.startswith(begin):
                return answer
        if rest == "healthz":
            return 200, {"multi_user": self.multi_user}
        if not self.knows(token):
            return 401, UNKNOWN
        return self._delete(rest) if method == "DELETE" else self._made_or_shown(method, rest, kind, body)

    def _made_or_shown(self, method: str, rest: str, kind: str, body: bytes) -> tuple[int, Any]:
        place = rest.partition("?")[0]
        known = {
            "POST experiments": lambda: self._experiment(body),
            "POST pipelines/upload": lambda: self._upload(kind, body),
            "POST runs": lambda: self._run(body),
            "GET runs/r": self._state,
            "GET pipelines/p": lambda: {"id": "p", "default_version": {"id": "v"}},
            "GET pipelines/p/versions": self._versions,
        }
        answer = known.get(f"{method} {place}")
        return (200, answer()) if answer else (404, {"error": f"{rest} not found", "code": 5})

    def _versions(self) -> Any:
        return {"pipeline_versions": [{"pipeline_version_id": "v"}]} if "v" in self.kept else {}

    def _id(self, kind: str, id_: str) -> dict[str, str]:
        return {"id" if self.version == "v1beta1" else f"{kind}_id": id_}

    def _experiment(self, body: bytes) -> Any:
        self.experiment = json.loads(body)
        self.kept["e"] = "experiment"
        return self._id("experiment", "e")

    def _upload(self, kind: str, body: bytes) -> Any:
        form: Any = email.message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
        (part,) = form.get_payload()
        assert part.get_filename() == "pipeline.yaml"
        self.documents = [*yaml.safe_load_all(part.get_payload(decode=True))]
        self.kept |= {"p": "pipeline", "v": "version"}
        return self._id("pipeline", "p")

    def _run(self, body: bytes) -> Any:
        self.run = json.loads(body)
        self.kept["r"] = "run"
        return {"run": {"id": "r"}} if self.version == "v1beta1" else {"run_id": "r", "state": "PENDING"}

    def _state(self) -> Any:
        state = self.states[min(self.polls, len(self.states) - 1)]
        self.polls += 1
        if self.version == "v1beta1":
            return {"run": {"id": "r", "status": state.capitalize(), "error": self.error}}
        return {"run_id": "r", "state": state, "error": {"code": 2, "message": self.error}}

    def _delete(self, rest: str) -> tuple[int, Any]:
        id_ = rest.rpartition("/")[2]
        if id_ not in self.kept:
            return 404, {"error": f"{rest} not found", "code": 5}
        if id_ == "p" and self.version == "v2beta1" and "v" in self.kept:
            return 400, {"error": "Failed to delete pipeline with id p as it has existing pipeline versions", "code": 3}
        del self.kept[id_]
        if id_ == "p":
            self.kept.pop("v", None)
        return 200, {}


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
