"""`examples/object-store.yaml` against an S3 server that is no stand-in, in the place of the one that upstream brings.

Real: Volcano, the server (Versity's gateway 1.8.0) behind the name of MinIO's Service, and the script of the example.
A stand-in: the image of the job, which has the Python of this machine and nothing of TensorFlow.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.examples import load_example
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, conditions, new_object
from kubeflow_volcano.rollout.account.sign_in import encoded
from kubeflow_volcano.validators.probes.acceptance.examples import renamed
from tests.integration.breaking import made
from tests.integration.real_stores import ROOT_KEY, ROOT_SECRET, gateway
from tests.node_image import on_the_node, write_image
from tests.samples.certificates import CA, SERVERS, named, pem, signer
from tests.waiting import until
from tests.wheel_image import python_files

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(900)]

SPACE = "kfv-object-store"
STORE, PYTHON = "registry.example/s3:test", "registry.example/python-stand-in:test"
SERVICE, BUCKET = Ref("v1", "Service", "kubeflow", "minio-service"), "mlpipeline"
PORT = 9000
LABELS = {"app": "kfv-object-store"}


@pytest.fixture(scope="module")
def images(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    scratch, name = tmp_path_factory.mktemp("images"), kubeconfig.parent.name
    write_image(scratch / "store.tar", STORE, {"versitygw": gateway()})
    write_image(
        scratch / "python.tar", PYTHON, {**python_files(), "usr/local/bin/python": Path(sys.executable).resolve()}
    )
    with on_the_node(name, scratch / "store.tar", STORE), on_the_node(name, scratch / "python.tar", PYTHON):
        yield


def server(*, tls: Object | None) -> list[Object]:
    """The Service of MinIO with the other server behind it; the directory of its bucket is a volume."""
    words = ["/versitygw", "--access", ROOT_KEY, "--secret", ROOT_SECRET, "--port", f":{PORT}"]
    volumes: list[Any] = [{"name": "bucket", "emptyDir": {}}]
    mounts = [{"name": "bucket", "mountPath": f"/buckets/{BUCKET}"}]
    if tls:
        words += ["--cert", "/tls/tls.crt", "--key", "/tls/tls.key"]
        volumes += [{"name": "tls", "secret": {"secretName": tls["metadata"]["name"]}}]
        mounts += [{"name": "tls", "mountPath": "/tls"}]
    container = {
        "name": "store",
        "image": STORE,
        "imagePullPolicy": "Never",
        "command": [*words, "posix", "/buckets"],
        "volumeMounts": mounts,
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
    }
    spec = {"terminationGracePeriodSeconds": 0, "containers": [container], "volumes": volumes}
    ports = {"selector": LABELS, "ports": [{"port": PORT}]}
    return [
        *([tls] if tls else []),
        new_object("v1", "Service", SERVICE.name, SERVICE.namespace, spec=ports),
        new_object("v1", "Pod", SERVICE.name, SERVICE.namespace, meta={"labels": LABELS}, spec=spec),
    ]


@contextmanager
def space(cluster: Cluster, *objects: Object) -> Iterator[None]:
    """A namespace with the Secret that a profile has, and the server, ready."""
    login = {"accesskey": ROOT_KEY, "secretkey": ROOT_SECRET}
    secret = new_object("v1", "Secret", "mlpipeline-minio-artifact", SPACE, type="Opaque", data=encoded(login))
    kubeflow = new_object("v1", "Namespace", SERVICE.namespace)
    absent = [] if cluster.get(Ref.of(kubeflow)) else [kubeflow]
    with made(cluster, *absent, new_object("v1", "Namespace", SPACE)):
        accounts = [Ref("v1", "ServiceAccount", namespace, "default") for namespace in (SPACE, SERVICE.namespace)]
        until(lambda: all(map(cluster.get, accounts)))
        with made(cluster, secret, *objects):
            pod = Ref("v1", "Pod", SERVICE.namespace, SERVICE.name)
            until(lambda: conditions(cluster.get(pod) or {}).get("Ready", {}).get("status") == "True")
            yield


def log_of(cluster: Cluster, job: Object) -> str:
    """What its pod wrote until it completed."""
    with made(cluster, job):
        until(lambda: phase(cluster, job) in {"Completed", "Failed", "Aborted", "Terminated"})
        (pod,) = cluster.list("v1", "Pod", namespace=SPACE).items
        log = cluster.logs(SPACE, pod["metadata"]["name"])
        assert phase(cluster, job) == "Completed", log
        assert pod["spec"]["schedulerName"] == "volcano"
        return log


def phase(cluster: Cluster, job: Object) -> str:
    return str(((cluster.get(Ref.of(job)) or {}).get("status") or {}).get("state", {}).get("phase"))


def example() -> Object:
    """The job as the file has it, with another image."""
    (job,) = load_example("object-store").objects
    (task,) = job["spec"]["tasks"]
    (container,) = task["template"]["spec"]["containers"]
    job = renamed(job, {container["image"]: PYTHON})
    return {**job, "metadata": {**job["metadata"], "namespace": SPACE}}


@pytest.mark.usefixtures("images")
def test_the_example_writes_and_reads(cluster: Cluster) -> None:
    with space(cluster, *server(tls=None)):
        assert log_of(cluster, example()).splitlines()[-1] == "read again: 11 bytes"


@pytest.mark.usefixtures("images")
def test_with_tls_it_takes_the_file_with_the_authority(cluster: Cluster) -> None:
    authority = signer("store", CA, now=datetime.now(UTC))
    host = f"{SERVICE.name}.{SERVICE.namespace}"
    certificate = authority.signs(host, named(host), SERVERS, now=datetime.now(UTC))
    data = {"tls.crt": pem(certificate.certificate).decode(), "tls.key": certificate.private.decode()}
    tls = new_object("v1", "Secret", "store-tls", SERVICE.namespace, type="kubernetes.io/tls", data=encoded(data))
    trusted = new_object("v1", "ConfigMap", "authority", SPACE, data={"ca.crt": pem(authority.certificate).decode()})
    job = example()
    pod = job["spec"]["tasks"][0]["template"]["spec"]
    (container,) = pod["containers"]
    (address,) = [item for item in container["env"] if item["name"] == "AWS_ENDPOINT_URL"]
    address["value"] = address["value"].replace("http:", "https:")
    without = copy.deepcopy(job)
    container["env"].append({"name": "SSL_CERT_FILE", "value": "/authority/ca.crt"})
    container["volumeMounts"] = [{"name": "authority", "mountPath": "/authority"}]
    pod["volumes"] = [{"name": "authority", "configMap": {"name": "authority"}}]
    with space(cluster, trusted, *server(tls=tls)):
        assert log_of(cluster, job).splitlines()[-1] == "read again: 11 bytes"
        with pytest.raises(AssertionError, match="CERTIFICATE_VERIFY_FAILED"):
            log_of(cluster, without)
