"""The API of Pipelines, by its published description (kubeflow/pipelines, backend/api/*/swagger).

Two versions: v1beta1 takes pipelines as Workflows of Argo, v2beta1 those of Pipelines 2. It is HTTP and not kfp: kfp 1
speaks the first version only and kfp 2 the second, and neither can be installed beside this project. kfp 2.17.3 wants
kubernetes below 31, where this project needs 37; kfp 1.8.22 wants kubernetes below 26, pydantic below 2, protobuf below
4 and urllib3 below 2. A test compares the requests with theirs (tests/unit/validators/probes/acceptance/test_kfp.py).
"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

import yaml
from urllib3.filepost import encode_multipart_formdata

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.exchange import PlainConnection
from kubeflow_volcano.experiment.acting import USER_AGENT
from kubeflow_volcano.experiment.remains import Tracked
from kubeflow_volcano.experiment.session import ProbeRefused
from kubeflow_volcano.foreign import Dumper, read_json

_SECONDS = 15.0
_MOST_BYTES = 8 << 20
_MOST_CHARACTERS = 500
_MESSAGES = ("message", "error_message", "error", "error_details")
"""Where a refusal says why: of the gateway of gRPC, and of the server of uploads."""

Connect = Callable[[float], Any]
"""A way to the API server: given seconds, a socket or what an HTTP client uses of one."""


class NotDoneError(Exception):
    """The API refused, with the status of its answer, or there was no answer: 0."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}" if status else message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: the word of the API in capitals, empty before there is one, and what it says of an error."""

    state: str
    said: str = ""


class PipelinesApi:
    """What both versions have in common. Each method makes one thing known by its ID, or removes one.

    All of them raise NotDoneError, or ApiError where the API server of Kubernetes does not lead there.
    """

    version = ""

    def __init__(self, connect: Connect, token: str = "") -> None:
        self._connect = connect
        self._token = token

    def health(self) -> Mapping[str, Any]:
        """What it says of itself, without credentials."""
        return self.ask("GET", "healthz")

    def experiment(self, name: str, namespace: str) -> str:
        """Make an experiment; its ID."""
        raise NotImplementedError

    def upload(self, name: str, namespace: str, documents: Sequence[Object]) -> str:
        """Make a pipeline with one version; its ID."""
        text = yaml.dump_all(documents, Dumper=Dumper, sort_keys=False, explicit_start=True)
        form, kind = encode_multipart_formdata({"uploadfile": ("pipeline.yaml", text.encode(), "application/yaml")})
        answer = self.ask("POST", "pipelines/upload", form, kind, query={"name": name, "namespace": namespace})
        return _text(answer, self._own("pipeline"))

    def run(self, name: str, experiment: str, pipeline: str, parameters: Mapping[str, str]) -> str:
        """Start a run of the pipeline's version; its ID."""
        raise NotImplementedError

    def progress(self, run: str) -> Progress:
        """How far the run is."""
        raise NotImplementedError

    def end(self, run: str) -> None:
        """Delete a run with its Workflow, whether it has ended or not."""
        self.ask("DELETE", f"runs/{quote(run)}")

    def remove_pipeline(self, pipeline: str) -> None:
        """Delete a pipeline with its version; that first: a pipeline that has one stays."""
        if version := self._version(pipeline):
            self.ask("DELETE", self._path(pipeline, version))
        self.ask("DELETE", f"pipelines/{quote(pipeline)}")

    def remove_experiment(self, experiment: str) -> None:
        """Delete an experiment, which has no run any more."""
        self.ask("DELETE", f"experiments/{quote(experiment)}")

    def _own(self, kind: str) -> str:
        """The key of an object's own ID."""
        raise NotImplementedError

    def _version(self, pipeline: str) -> str:
        """The only version of a pipeline; empty where it is gone."""
        raise NotImplementedError

    def _path(self, pipeline: str, version: str) -> str:
        """Where a version of a pipeline is."""
        raise NotImplementedError

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | Mapping[str, Any] | None = None,
        content_type: str = "application/json",
        *,
        query: Mapping[str, str] | None = None,
    ) -> Mapping[str, Any]:
        """The answer to one request, which is an object.

        Raises:
            NotDoneError: it is a refusal, or none came.
            ApiError: the API server of Kubernetes does not lead there.
        """
        url = f"/apis/{self.version}/{path}{f'?{urlencode(query)}' if query else ''}"
        headers = {"Accept": "application/json", "User-Agent": USER_AGENT, "Connection": "close"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if body is not None:
            headers["Content-Type"] = content_type
        data = json.dumps(body).encode() if isinstance(body, Mapping) else body
        try:
            status, text = self._exchange(method, url, data, headers)
        except (OSError, http.client.HTTPException) as error:
            raise NotDoneError(
                0, f"no answer from the API of Pipelines ({str(error) or type(error).__name__})"
            ) from error
        try:
            answer = read_json(text or b"{}")
        except ValueError:
            answer = None
        if status >= HTTPStatus.MULTIPLE_CHOICES:
            raise NotDoneError(status, _why(answer, text))
        if not isinstance(answer, dict):
            raise NotDoneError(status, f"the answer to {method} {path} is no JSON object: {_short(text)}")
        return answer

    def _exchange(self, method: str, url: str, data: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        way = self._connect(_SECONDS)
        try:
            connection = PlainConnection("ml-pipeline")
            connection.sock = way
            connection.request(method, url, data, headers)
            with connection.getresponse() as answer:
                return answer.status, answer.read(_MOST_BYTES)
        except BaseException:
            way.shutdown()
            raise


class OfWorkflows(PipelinesApi):
    """v1beta1, with pipelines that are Workflows of Argo."""

    version = "v1beta1"

    def experiment(self, name: str, namespace: str) -> str:
        """As described above."""
        owner = {"key": {"type": "NAMESPACE", "id": namespace}, "relationship": "OWNER"}
        return _text(self.ask("POST", "experiments", {"name": name, "resource_references": [owner]}), "id")

    def run(self, name: str, experiment: str, pipeline: str, parameters: Mapping[str, str]) -> str:
        """As described above."""
        references = [
            {"key": {"type": "EXPERIMENT", "id": experiment}, "relationship": "OWNER"},
            {"key": {"type": "PIPELINE_VERSION", "id": self._version(pipeline)}, "relationship": "CREATOR"},
        ]
        given = [{"name": key, "value": value} for key, value in parameters.items()]
        body = {"name": name, "pipeline_spec": {"parameters": given}, "resource_references": references}
        return _text(self.ask("POST", "runs", body).get("run"), "id")

    def progress(self, run: str) -> Progress:
        """As described above."""
        found = self.ask("GET", f"runs/{quote(run)}").get("run") or {}
        return Progress(f"{found.get('status') or ''}".upper(), f"{found.get('error') or ''}")

    def _own(self, kind: str) -> str:  # noqa: ARG002  all are called so
        return "id"

    def _version(self, pipeline: str) -> str:
        of_pipeline = {"resource_key.type": "PIPELINE", "resource_key.id": pipeline}
        versions = self.ask("GET", "pipeline_versions", query=of_pipeline).get("versions") or ()
        return next((_text(item, "id") for item in versions), "")

    def _path(self, pipeline: str, version: str) -> str:  # noqa: ARG002  as above
        return f"pipeline_versions/{quote(version)}"


class OfPipelines2(PipelinesApi):
    """v2beta1, with pipelines of Pipelines 2."""

    version = "v2beta1"

    def experiment(self, name: str, namespace: str) -> str:
        """As described above."""
        return _text(self.ask("POST", "experiments", {"display_name": name, "namespace": namespace}), "experiment_id")

    def run(self, name: str, experiment: str, pipeline: str, parameters: Mapping[str, str]) -> str:
        """As described above."""
        body = {
            "display_name": name,
            "experiment_id": experiment,
            "pipeline_version_reference": {"pipeline_id": pipeline, "pipeline_version_id": self._version(pipeline)},
            "runtime_config": {"parameters": dict(parameters)},
        }
        return _text(self.ask("POST", "runs", body), "run_id")

    def progress(self, run: str) -> Progress:
        """As described above."""
        found = self.ask("GET", f"runs/{quote(run)}")
        error = found.get("error") or {}
        return Progress(f"{found.get('state') or ''}".upper(), f"{error.get('message') or ''}")

    def _version(self, pipeline: str) -> str:
        versions = self.ask("GET", f"pipelines/{quote(pipeline)}/versions").get("pipeline_versions") or ()
        return next((_text(item, "pipeline_version_id") for item in versions), "")

    def _path(self, pipeline: str, version: str) -> str:
        return f"pipelines/{quote(pipeline)}/versions/{quote(version)}"

    def _own(self, kind: str) -> str:
        return f"{kind}_id"


class Made:
    """What was made through the API, to be removed once, however the run ends. Safe to use from several threads."""

    def __init__(self, api: PipelinesApi, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self._made: list[tuple[str, str, Callable[[str], None]]] = []
        self._making = threading.Lock()
        self._over = False

    def make(self, kind: str, create: Callable[[], str], remove: Callable[[str], None]) -> str:
        """The ID of what `create` makes; `remove` is given it.

        Raises:
            NotDoneError: the API refused.
            ProbeRefused: the run is ending.
        """
        with self._making:
            if self._over:
                raise ProbeRefused("the run is ending")
            id_ = create()
            self._made.append((kind, id_, remove))
        return id_

    def remove(self) -> tuple[Tracked, ...]:
        """Remove everything, the latest first; what is left, with the reason. A later call tries that again."""
        with self._making:
            self._over = True
            left = tuple(self._left())
            self._made = [item for item in self._made if item[1] in {one.uid for one in left}]
        return left

    def _left(self) -> Iterator[Tracked]:
        for kind, id_, remove in reversed(self._made):
            try:
                remove(id_)
            except (NotDoneError, ApiError) as error:
                if error.status != HTTPStatus.NOT_FOUND or isinstance(error, ApiError):
                    ref = Ref(f"pipelines.kubeflow.org/{self._api.version}", kind, self._namespace, id_)
                    yield Tracked(ref, id_, f"the API of Pipelines does not delete it ({error})")


def _text(answer: Any, key: str) -> str:
    """A text of an answer.

    Raises:
        NotDoneError: it has none.
    """
    value = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(value, str) or not value:
        raise NotDoneError(HTTPStatus.OK, f"an answer without {key}")
    return value


def _why(answer: Any, text: bytes) -> str:
    """What a refusal says: without the stack that Pipelines adds line by line."""
    said = (answer.get(key) for key in _MESSAGES) if isinstance(answer, dict) else ()
    found = next((item for item in said if isinstance(item, str) and item), "")
    return found.partition("\n")[0][:_MOST_CHARACTERS] or _short(text) or "without a word"


def _short(text: bytes) -> str:
    return " ".join(text[:_MOST_CHARACTERS].decode("utf-8", "replace").split())
