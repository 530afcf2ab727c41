"""An API client that records every request that changes something."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.objects import Object

USER_AGENT = "kubeflow-volcano-validators"
"""The API server takes the field manager of what a validation writes from this user agent."""

_QUESTIONS = "/apis/authorization.k8s.io/"
_TOKENS = re.compile(r"/api/v1/namespaces/[^/]+/serviceaccounts/[^/]+/token")


@dataclass(slots=True, eq=False)  # two requests to one path are two, also when one of them is refused
class Write:
    """One request to change something that the server did not refuse.

    `uid` is the object's, empty until an answer arrives; `run` is the run label with which it was created.
    """

    method: str
    path: str
    uid: str = ""
    run: str = ""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Acting(Cluster):
    """Records requests other than dry runs, access reviews and those for tokens, which leave nothing behind."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.writes: list[Write] = []

    def request(self, method: str, path: str, **how: Any) -> Any:
        """Send a request; one that changes something is recorded before it is sent.

        Raises:
            ApiError: the server refused, or the last error was still transient at the deadline.
        """
        leaves_nothing = path.startswith(_QUESTIONS) or _TOKENS.fullmatch(path)
        if method == "GET" or leaves_nothing or (how.get("query") or {}).get("dryRun"):
            return super().request(method, path, **how)
        write = _of(method, path, how.get("body"))
        self.writes.append(write)
        try:
            answer = super().request(method, path, **how)
        except ApiError as error:
            if not error.transient:  # otherwise it may have been done
                self.writes.remove(write)
            raise
        if method != "DELETE" and isinstance(answer, dict):
            write.uid = answer.get("metadata", {}).get("uid", "")
        return answer


def _of(method: str, path: str, body: Object | None) -> Write:
    body = body if isinstance(body, dict) else {}
    labels = (body.get("metadata") or {}).get("labels") or {}
    return Write(method, path, (body.get("preconditions") or {}).get("uid", ""), labels.get(RUN_LABEL, ""))
