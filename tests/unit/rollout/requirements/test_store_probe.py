"""Stores outside of the cluster are tried before the first change, against a server that checks what it is sent."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from kubeflow_volcano.catalog import read
from kubeflow_volcano.cluster.objects import Ref, named
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.requirements.store_probe import probe_object_store, signed
from kubeflow_volcano.rollout.settings.pods.stores import ObjectStoreSettings
from kubeflow_volcano.rollout.settings.settings import parse
from tests.samples.certificates import pem, signer
from tests.unit.releases import WholeRelease

STORE = ObjectStoreSettings(
    access_key="AKIAIOSFODNN7EXAMPLE",
    secret_key="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",  # noqa: S106  published in that documentation
)


def test_requests_are_signed_as_in_the_example_of_amazon() -> None:
    """GET Bucket Lifecycle of docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html."""
    given = replace(STORE, endpoint="https://examplebucket.s3.amazonaws.com")
    headers = signed(given, "GET", "/?lifecycle=", b"", datetime(2013, 5, 24, tzinfo=UTC))
    assert headers["Authorization"].endswith("=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")


@dataclass
class Bucket:
    """A stand-in for S3 on loopback: keeps objects, and refuses methods with the code that a store would give."""

    refuses: dict[str, str] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    endpoint: str = ""

    def answer(self, method: str, path: str, headers: Any, body: bytes) -> tuple[int, bytes]:
        self.seen.append(f"{method} {path.rpartition('/')[0]}")
        given = replace(STORE, endpoint=self.endpoint)
        time = datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        assert headers["Authorization"] == signed(given, method, path, body, time)["Authorization"]
        if code := self.refuses.get(method):
            return 403, f"<Error><Code>{code}</Code></Error>".encode()
        if method == "PUT":
            self.objects[path] = body
        elif method == "DELETE":
            del self.objects[path]
        return 200, self.objects.get(path, b"")


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    made = Bucket()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, text = made.answer(self.command, self.path, self.headers, body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_PUT = do_DELETE = answer

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        made.endpoint = f"http://127.0.0.1:{server.server_port}"
        yield made
        server.shutdown()


def tried(endpoint: str, *, gateway: bool = False) -> tuple[list[str], list[str]]:
    lines: list[str] = []
    given = replace(STORE, endpoint=endpoint)
    found = [item.found for item in probe_object_store(given, lines.append, gateway=gateway)]
    assert STORE.secret_key not in f"{lines} {found}"
    return found, lines


def test_an_object_of_its_own_is_written_read_and_removed(bucket: Bucket) -> None:
    assert tried(bucket.endpoint)[0] == []
    assert (bucket.seen, bucket.objects) == (["PUT /mlpipeline", "GET /mlpipeline", "DELETE /mlpipeline"], {})


@pytest.mark.parametrize("method", ["PUT", "GET", "DELETE"])
def test_what_the_key_may_not_is_told_and_what_was_written_is_removed(bucket: Bucket, method: str) -> None:
    bucket.refuses = {method: "AccessDenied"}
    (found,) = tried(bucket.endpoint)[0]
    assert "AccessDenied" in found
    assert bool(bucket.objects) is (method == "DELETE")


def test_the_gateway_lists_buckets_and_a_bucket_to_be_made_is_no_problem(bucket: Bucket) -> None:
    tried(bucket.endpoint, gateway=True)
    assert bucket.seen[0] == "GET "
    bucket.refuses = {"PUT": "NoSuchBucket"}
    found, lines = tried(bucket.endpoint)
    assert (found, len(lines)) == ([], 1)


def test_a_store_that_is_not_reached_from_here_is_told_not_refused(bucket: Bucket) -> None:
    del bucket
    found, lines = tried("http://127.0.0.1:9")
    assert (found, len(lines)) == ([], 1)


def test_the_authority_is_mounted_where_minio_alone_asks(whole_release: WholeRelease) -> None:
    given = {"endpoint": "https://s3.example.org", "access_key": "a", "secret_key": "b"}
    authority = pem(signer("store", now=datetime.now(UTC)).certificate).decode()
    upstream = whole_release("1.9.1").only(["pipelines"])
    with_ca, without = (
        upstream.changed(kubeflow_object_store=given | more)["pipelines"] for more in ({"ca": authority}, {})
    )
    before = {Ref.of(obj) for obj in without}
    (made,) = [obj for obj in with_ca if Ref.of(obj) not in before]
    assert made["data"] == {"ca.crt": authority}
    minio = named(with_ca, "Deployment", "minio")
    assert minio is not None
    pod = minio["spec"]["template"]["spec"]
    (mount,) = pod["containers"][0]["volumeMounts"]
    assert pod["volumes"] == [{"name": mount["name"], "configMap": {"name": made["metadata"]["name"]}}]
    assert {"name": "SSL_CERT_FILE", "value": f"{mount['mountPath']}/ca.crt"} in pod["containers"][0]["env"]
    assert minio != named(without, "Deployment", "minio")


AUTHORITY = "-----BEGIN CERTIFICATE-----\n" + base64.b64encode(b"none").decode() + "\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    ("release", "variable", "words"),
    [
        (read.releases()[0], "kubeflow_database", "kubeflow_database.ca"),
        ("26.03.1", "kubeflow_object_store", "kubeflow_object_store.ca is set"),
        ("1.9.1", "kubeflow_object_store", "kubeflow_object_store.ca cannot be read"),
    ],
)
def test_an_authority_that_no_program_would_take_is_refused(release: str, variable: str, words: str) -> None:
    given = {
        "kubeflow_database": {"host": "db.example.org", "user": "kf", "password": "a"},
        "kubeflow_object_store": {"endpoint": "https://s3.example.org", "access_key": "a", "secret_key": "b"},
    }[variable]
    with pytest.raises(InvalidInput, match=words):
        parse({"kubeflow_release": release, "kubeflow_profile": "full", variable: {**given, "ca": AUTHORITY}})
