"""A pipeline through the API of Pipelines: uploaded, run and followed as its users do, and removed with its claim.

The server is reached by a port-forward, so that its token goes to no proxy, and as the profile's ServiceAccount, whose
pods use the API in the same way (kubeflow/pipelines, sdk: ServiceAccountTokenVolumeCredentials).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus

from kubeflow_volcano.catalog.examples import ARGO_PIPELINE, PIPELINE, load_upload
from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.catalog.symptoms.logs import last_words
from kubeflow_volcano.catalog.symptoms.read import Symptom, recognise
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.port_forward import PortForward, port_forward
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.remains import Tracked
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.validators.core.facts import Facts, Probe
from kubeflow_volcano.validators.core.resources import NAMESPACES, NODES, PODS, SERVICES, STORAGE_CLASSES
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.probes.acceptance.examples import (
    OF_CLAIMS,
    Acceptance,
    Attempt,
    cannot_start,
    in_profile,
    provisioned,
    renamed,
    waiting,
)
from kubeflow_volcano.validators.probes.acceptance.pipelines_api import (
    Made,
    NotDoneError,
    OfPipelines2,
    OfWorkflows,
    PipelinesApi,
)
from kubeflow_volcano.validators.probes.acceptance.states import State, state_of
from kubeflow_volcano.validators.probes.acting import ACTING, ProbeOptions, forwarding, noting
from kubeflow_volcano.validators.subjects.services import pod_behind
from kubeflow_volcano.validators.subjects.storage_classes import default_classes

SERVICE = Ref("v1", "Service", "kubeflow", "ml-pipeline")
"""The API server of Pipelines in every release."""

_COMPONENT = "pipelines"
_ACCOUNT = "default-editor"
_AUDIENCE = "pipelines.kubeflow.org"
_TOKEN_SECONDS = 3600
_PORT = 8888
_POLL_SECONDS = 3.0
_FIRST_OF_PIPELINES_2 = "1.9"
"""From this release on the pipeline is uploaded as one of Pipelines 2. Those before take it as a Workflow, too."""
_OF_RUN = "pipeline/runid"
"""Label of a run's Workflow and pods: the run's ID (kubeflow/pipelines, backend/src/common/util/consts.go)."""
_WORKFLOW = ("argoproj.io/v1alpha1", "Workflow")
_STATES = {
    "RUNNING": State.RUNNING,
    "SUCCEEDED": State.COMPLETED,
    "SKIPPED": State.COMPLETED,
    "OMITTED": State.COMPLETED,
    "FAILED": State.FAILED,
    "ERROR": State.FAILED,
    "CANCELED": State.FAILED,
    "TERMINATED": State.FAILED,
}
"""Of v2beta1's RuntimeState, and the phases of Argo that v1beta1 has."""
_MOST_LOGS = 4


def run(session: Session, facts: Facts, progress: Progress) -> Acceptance:
    """Upload and run the pipeline of the release; at most `pipeline_seconds`."""
    evidence = Acceptance(State.COMPLETED, facts.timing.pipeline_seconds)
    if _COMPONENT not in facts.expectations.components:
        return evidence
    early = version_key(facts.expectations.release) < version_key(_FIRST_OF_PIPELINES_2)
    attempt = Attempt(ARGO_PIPELINE if early else PIPELINE)
    evidence.attempts.append(attempt)
    started = time.monotonic()
    with noting(evidence):
        try:
            _try(session, facts, attempt, progress, OfWorkflows if early else OfPipelines2)
        except NotDoneError as refusal:
            if not refusal.status:
                evidence.failure = "ProbeInterrupted", str(refusal)
            attempt.state, attempt.said = State.FAILED, f"the API of Pipelines answered {refusal}"
            _explain(attempt, recognise(str(refusal), "exit"))
        except ApiError as error:
            if error.status != HTTPStatus.FORBIDDEN:
                raise
            evidence.failure = "Forbidden", str(error)
    attempt.seconds = round(time.monotonic() - started, 1)
    return evidence


def _try(session: Session, facts: Facts, attempt: Attempt, progress: Progress, version: type[PipelinesApi]) -> None:
    """Run it, unless something that it needs is absent.

    Raises:
        NotDoneError: the API refused something.
        ApiError: the API server of Kubernetes did.
    """
    found = pod_behind(facts, SERVICE, _port)
    attempt.absent = in_profile(session, facts) or provisioned(facts)
    if not (attempt.absent or found):
        attempt.absent = f"{SERVICE} has no ready pod that is a real one"
    if attempt.absent or found is None:
        return
    pod, port = found
    namespace, cluster = session.options.namespace, session.cluster

    def connect(seconds: float) -> PortForward:
        return port_forward(cluster, SERVICE.namespace, pod["metadata"]["name"], port, seconds=seconds)

    progress(f"example {attempt.example} by the API of Pipelines, {version.version}")
    if not version(connect).health().get("multi_user"):
        attempt.absent = "this Pipelines serves one user: its runs would be among its own pods"
        return
    api = version(connect, _token(cluster, namespace))
    traces = _Traces(session, api, f"kfv-{session.run}-pipeline")
    session.at_close(traces.remove)
    try:
        _run(traces, facts, attempt)
    finally:
        traces.remove()  # what is left is tried again at the end, and told there


class _Traces:
    """What comes of one run, in Pipelines and in the namespace; all names have that of the run."""

    def __init__(self, session: Session, api: PipelinesApi, name: str) -> None:
        self.session = session
        self.api = api
        self.name = name
        self.made = Made(api, session.options.namespace)
        self.run = ""
        self.workflow: Object | None = None

    def start(self, documents: Sequence[Object], parameters: Mapping[str, str]) -> None:
        """Make experiment, pipeline and run.

        Raises:
            NotDoneError: the API refused one of them.
        """
        api, name, namespace = self.api, self.name, self.session.options.namespace
        experiment = self.made.make("Experiment", lambda: api.experiment(name, namespace), api.remove_experiment)
        pipeline = self.made.make("Pipeline", lambda: api.upload(name, namespace, documents), api.remove_pipeline)
        self.run = self.made.make("Run", lambda: api.run(name, experiment, pipeline, parameters), api.end)

    def pods(self) -> list[Object]:
        """The pods of the run; they, its Workflow and its claim are the session's from now on.

        Raises:
            ApiError: they cannot be listed.
        """
        of_run = f"{_OF_RUN}={self.run}"
        pods = self._listed("v1", "Pod", of_run)
        workflows: tuple[Object, ...] = ()
        with contextlib.suppress(NotServed):  # then the run itself says why it has no pods
            workflows = self._listed(*_WORKFLOW, of_run)
        claims = self._listed("v1", "PersistentVolumeClaim")
        own = [item for item in claims if item["metadata"]["name"].endswith(f"-{self.name}")]
        for obj in (*pods, *workflows, *own):
            self.session.adopt(obj)
        self.workflow = next(iter(workflows), self.workflow)
        return [*pods]

    def remove(self) -> tuple[Tracked, ...]:
        """Remove what is in Pipelines, and leave the rest to the session; what could not be removed."""
        left = self.made.remove()
        with contextlib.suppress(ApiError):
            if self.run:
                self.pods()
        return left

    def _listed(self, api_version: str, kind: str, labels: str = "") -> tuple[Object, ...]:
        cluster, namespace = self.session.cluster, self.session.options.namespace
        return cluster.list(api_version, kind, namespace=namespace, labels=labels).items


def _run(traces: _Traces, facts: Facts, attempt: Attempt) -> None:
    """Start a run, and follow it to its end.

    Raises:
        NotDoneError: the API refused something.
        ApiError: the API server of Kubernetes did.
    """
    session = traces.session
    images = session.options.images if isinstance(session.options, ProbeOptions) else {}
    documents: list[Object] = renamed(list(load_upload(attempt.example)), images)
    # By name, so that the claim gets the class also where several are default ones.
    storage_class = next(iter(default_classes(facts)))
    traces.start(documents, {"storage_class": storage_class, "suffix": f"-{traces.name}"})
    pods: list[Object] = []
    for _ in Deadline(facts.timing.pipeline_seconds).every(_POLL_SECONDS):
        try:
            found = traces.api.progress(traces.run)
            attempt.state = _STATES.get(found.state, State.PENDING)
            attempt.said = ": ".join(filter(None, (found.state or "no state", found.said)))
        except NotDoneError as error:
            if error.status in range(HTTPStatus.BAD_REQUEST, HTTPStatus.INTERNAL_SERVER_ERROR):
                raise
            attempt.said = str(error)  # it may answer again
        pods = traces.pods()
        attempt.object = Ref.of(traces.workflow) if traces.workflow else SERVICE
        if attempt.state > State.RUNNING or cannot_start(pods) or session.stopped:
            break
    attempt.reached = attempt.state is State.COMPLETED
    if not attempt.reached:
        if traces.workflow:  # which says of quotas and accounts what the run does not
            attempt.said += f"; its Workflow: {state_of(traces.workflow)[1]}"
        _explain(attempt, recognise(attempt.said, "condition"))
        attempt.waiting = "; ".join((*waiting(pods), *_last_words(session.cluster, attempt, pods)))


def _last_words(cluster: Cluster, attempt: Attempt, pods: Iterable[Object]) -> Iterator[str]:
    """What the containers said that failed, with the cause where it is known."""
    failed = [(pod, item["name"]) for pod in pods for item in _ended_badly(pod)]
    for pod, container in failed[:_MOST_LOGS]:
        name = pod["metadata"]["name"]
        try:
            line, symptom = last_words(cluster.logs(pod["metadata"]["namespace"], name, container))
        except ApiError:
            continue
        if line:
            yield f"{name}: {line}"
        _explain(attempt, symptom)


def _ended_badly(pod: Object) -> Iterator[Object]:
    status = pod.get("status") or {}
    for item in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        if ((item.get("state") or {}).get("terminated") or {}).get("exitCode"):
            yield item


def _explain(attempt: Attempt, symptom: Symptom | None) -> None:
    """Say the cause of the first message that is known."""
    if symptom and not attempt.todo:
        attempt.said = f"{attempt.said}; cause: {symptom.cause}"
        attempt.todo = symptom.todo


def _token(cluster: Cluster, namespace: str) -> str:
    """A token by which Pipelines knows the profile's account.

    Raises:
        ApiError: the API server makes none.
    """
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": [_AUDIENCE], "expirationSeconds": _TOKEN_SECONDS},
    }
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{_ACCOUNT}/token"
    token: str = cluster.request("POST", path, body=body)["status"]["token"]
    return token


def _port(service: Object) -> Object:
    return next((item for item in service["spec"].get("ports", ()) if item["port"] == _PORT), {})


PIPELINE_RUN = Probe[Acceptance](
    "acceptance-pipelines",
    run,
    "acceptance",
    reads=(NAMESPACES, STORAGE_CLASSES, SERVICES, PODS, NODES),
    needs=(
        *ACTING,
        *forwarding(SERVICE.namespace),
        Rule("create", "", "serviceaccounts/token", names=(_ACCOUNT,)),
        Rule("get", "", "pods/log"),
        *(Rule(verb, "argoproj.io", "workflows") for verb in ("delete", "list", "watch")),
        *(Rule(verb, "", "persistentvolumeclaims") for verb in ("delete", "list", "watch")),
        *OF_CLAIMS,
    ),
)
