"""The stand-in for the API of Pipelines as a program in a pod: tokens are judged, and runs are pods, by the cluster.

The API server of Pipelines asks for a TokenReview in the same way (kubeflow/pipelines, backend/src/apiserver/auth).
A run is one pod and one claim, made in the profile's namespace by the pod's own account.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from tests import serving
from tests.samples.pipelines import StandIn, handler_of

AUDIENCE = "pipelines.kubeflow.org"
PORT = 8888
PHASES = {"Running": "RUNNING", "Succeeded": "SUCCEEDED", "Failed": "FAILED"}


class InPod(StandIn):
    """Its runs are pods; users are the accounts of `space`."""

    def __init__(self, version: str, space: str, image: str) -> None:
        super().__init__(version)
        self.space = space
        self.image = image
        self.cluster = Cluster.connect()
        self.pod = Ref("v1", "Pod", space, "run-r")

    def knows(self, authorization: str) -> bool:
        """Whether it is a token of the profile's account for this audience."""
        spec = {"token": authorization.removeprefix("Bearer "), "audiences": [AUDIENCE]}
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
        status = self.cluster.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body=review)["status"]
        name = f"system:serviceaccount:{self.space}:default-editor"
        return bool(status.get("authenticated")) and status["user"]["username"] == name

    def _run(self, body: Mapping[str, Any]) -> Any:
        answer = super()._run(body)
        given = [] if self.later else body["pipeline_spec"]["parameters"]
        parameters = {item["name"]: item["value"] for item in given} or body["runtime_config"]["parameters"]
        claim = f"run-r{parameters['suffix']}"
        requests = {"requests": {"storage": "1Mi"}}
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "resources": requests,
            "storageClassName": parameters["storage_class"],
        }
        self.cluster.create(new_object("v1", "PersistentVolumeClaim", claim, self.space, spec=spec))
        self.cluster.create(self._pod(claim))
        return answer

    def _pod(self, claim: str) -> Object:
        mounts = [{"name": "data", "mountPath": "/data"}]
        command = ["sh", "-c", "echo trained > /data/model && sleep 3 && cat /data/model"]
        limits = {"cpu": "50m", "memory": "32Mi"}
        container = {"name": "main", "image": self.image, "command": command, "volumeMounts": mounts}
        spec = {
            "restartPolicy": "Never",
            "containers": [{**container, "resources": {"limits": limits}}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
        }
        labels = {"pipeline/runid": "r"}
        return new_object("v1", "Pod", self.pod.name, self.space, meta={"labels": labels}, spec=spec)

    def _state(self) -> Any:
        pod = self.cluster.get(self.pod)
        self.states = [PHASES.get((pod or {"status": {}})["status"].get("phase", ""), "PENDING")]
        return super()._state()

    def _delete(self, path: str) -> tuple[int, Any]:
        if path == "runs/r" and (pod := self.cluster.get(self.pod)):
            self.cluster.delete(self.pod, uid=pod["metadata"]["uid"])
        return super()._delete(path)

    def answer(self, method: str, url: str, token: str, kind: str, body: bytes) -> tuple[int, Any]:
        """As in tests; what was asked for is in the pod's log once the experiment is gone, which is last."""
        found = super().answer(method, url, token, kind, body)
        if self.requests[-1] == "DELETE experiments/e":
            self.print_requests()
        return found

    def print_requests(self) -> None:
        """Into the pod's log, which the test reads."""
        for line in self.requests:
            print(line, flush=True)  # noqa: T201  a program's log


def main(version: str, space: str, image: str) -> None:
    """Serve until the pod ends."""
    server = serving.Server(("", PORT), handler_of(InPod(version, space, image)))
    with server:
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
