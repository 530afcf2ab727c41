"""A mutating webhook of somebody else: a program beside the cluster that changes pods, and its configuration."""

from __future__ import annotations

import base64
import contextlib
import json
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from tests.integration.breaking import made
from tests.serving import Handler, listen, serving
from tests.waiting import until

Change = Callable[[Object], Sequence[Mapping[str, Any]]]
"""The operations of a JSON Patch that a webhook answers for a pod."""


def self_signed(host: str | IPv4Address, of: bytes = b"") -> tuple[bytes, bytes]:
    """Certificate and key, in PEM, of a server that is its own authority; `of` is its key if it has one."""
    key = serialization.load_pem_private_key(of, None) if of else ec.generate_private_key(ec.SECP256R1())
    assert isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey)
    now = datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, str(host))])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    names = [x509.DNSName(host) if isinstance(host, str) else x509.IPAddress(host)]
    certificate = builder.add_extension(x509.SubjectAlternativeName(names), critical=False).sign(key, hashes.SHA256())
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    return certificate.public_bytes(pem), key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)


@contextlib.contextmanager
def injecting(cluster: Cluster, name: str, change: Change, chosen: Object, **hook: Any) -> Iterator[None]:
    """A MutatingWebhookConfiguration whose only webhook, `name`, makes this change to pods, as long as the block runs.

    It serves at this machine's address in the network of the rehearsal's node. `chosen` is a pod that it changes: it is
    tried until the API server calls the webhook. `hook` has further fields of the webhook.
    """
    (subset,) = (cluster.get(Ref("v1", "Endpoints", "default", "kubernetes")) or {})["subsets"]
    address = IPv4Address(subset["addresses"][0]["ip"]) - 1
    certificate, key = self_signed(address)
    with _serving(address, certificate, key, change) as (url, called):
        webhook = {
            "name": name,
            "clientConfig": {"url": url, "caBundle": base64.b64encode(certificate).decode()},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
            "failurePolicy": "Fail",
            "timeoutSeconds": 5,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **hook,
        }
        body = new_object("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", name, webhooks=[webhook])
        with made(cluster, body):
            until(lambda: cluster.create(chosen, dry_run=True) and called.is_set())
            yield


@contextlib.contextmanager
def _serving(
    address: IPv4Address, certificate: bytes, key: bytes, change: Change
) -> Iterator[tuple[str, threading.Event]]:
    """Its URL, and what is set once it was called."""
    called = threading.Event()

    class Injector(Handler):
        def do_POST(self) -> None:
            called.set()
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            patch = json.dumps(change(review["request"]["object"])).encode()
            response = {"uid": review["request"]["uid"], "allowed": True, "patchType": "JSONPatch"}
            review["response"] = response | {"patch": base64.b64encode(patch).decode()}
            self.answer(review, Content_Type="application/json")

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as pair:
        Path(pair.name).write_bytes(certificate + key)
        context.load_cert_chain(pair.name)
    with serving(listen(Injector, context, str(address))) as port:
        yield f"https://{address}:{port}/", called
