"""A client that keeps an account of every request by which it changes something."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.objects import Object

__all__ = ["USER_AGENT", "Acting", "Write"]

USER_AGENT = "kubeflow-volcano-validators"
"""By which the API server calls the fields that a validation writes: it takes its manager from the user agent."""

_QUESTIONS = "/apis/authorization.k8s.io/"


@dataclass(slots=True)
class Write:
    """One request that was to change something, and that the server did not refuse.

    `uid` is that of the object, empty while no answer has come; `run` is the run label under which it was created.
    """

    method: str
    path: str
    uid: str = ""
    run: str = ""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Acting(Cluster):
    """Dry runs and access reviews leave nothing behind and are not accounted for."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.writes: list[Write] = []

    def request(self, method: str, path: str, **how: Any) -> Any:
        """As any cluster does; what changes something is written down before it is sent.

        Raises:
            ApiError: the server's refusal, or the last transient trouble when the time is over.
        """
        if method == "GET" or path.startswith(_QUESTIONS) or (how.get("query") or {}).get("dryRun"):
            return super().request(method, path, **how)
        write = _of(method, path, how.get("body"))
        self.writes.append(write)
        try:
            answer = super().request(method, path, **how)
        except ApiError as error:
            if not error.transient:  # otherwise nobody knows whether it was done
                self.writes.remove(write)
            raise
        if method != "DELETE" and isinstance(answer, dict):
            write.uid = answer.get("metadata", {}).get("uid", "")
        return answer


def _of(method: str, path: str, body: Object | None) -> Write:
    body = body if isinstance(body, dict) else {}
    labels = (body.get("metadata") or {}).get("labels") or {}
    return Write(method, path, (body.get("preconditions") or {}).get("uid", ""), labels.get(RUN_LABEL, ""))
