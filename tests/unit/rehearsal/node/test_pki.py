"""The certificates, verified by `cryptography`'s own verifier."""

from __future__ import annotations

import base64
import json
import stat
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509 import verification
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kubeflow_volcano.rehearsal.node.pki import USERS, issue_all, kubeconfig

NODE, ADDRESS, SERVICE = "rehearsal-1", "10.213.0.2", "10.96.0.1"


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("pki")
    issue_all(directory, node_name=NODE, node_address=ADDRESS, service_address=SERVICE)
    return directory


def certificate(directory: Path, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate((directory / f"{name}.crt").read_bytes())


def verifier(directory: Path, authority: str) -> verification.PolicyBuilder:
    return verification.PolicyBuilder().store(verification.Store([certificate(directory, authority)]))


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        ("apiserver", ADDRESS),
        ("apiserver", SERVICE),
        ("apiserver", "kubernetes.default.svc"),
        ("kubelet-serving", ADDRESS),
        ("kubelet-serving", NODE),
        ("placement", "127.0.0.1"),
    ],
)
def test_servers_are_who_they_say(issued: Path, name: str, subject: str) -> None:
    try:
        asked: x509.IPAddress | x509.DNSName = x509.IPAddress(ip_address(subject))
    except ValueError:
        asked = x509.DNSName(subject)

    chain = verifier(issued, "ca").build_server_verifier(asked).verify(certificate(issued, name), [])

    assert chain[-1] == certificate(issued, "ca")


def test_a_server_is_nobody_else(issued: Path) -> None:
    policy = verifier(issued, "ca").build_server_verifier(x509.DNSName("example.invalid"))

    with pytest.raises(verification.VerificationError):
        policy.verify(certificate(issued, "apiserver"), [])


@pytest.mark.parametrize("name", [*USERS, "kubelet", "apiserver-kubelet"])
def test_clients_are_certified_for_authentication_by_the_cluster_s_authority(issued: Path, name: str) -> None:
    leaf = certificate(issued, name)

    leaf.verify_directly_issued_by(certificate(issued, "ca"))

    usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_the_kubelet_is_the_user_that_node_authorization_expects(issued: Path) -> None:
    subject = certificate(issued, "kubelet").subject

    assert subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == f"system:node:{NODE}"
    assert subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)[0].value == "system:nodes"


def test_the_front_proxy_has_an_authority_of_its_own(issued: Path) -> None:
    certificate(issued, "front-proxy").verify_directly_issued_by(certificate(issued, "front-proxy-ca"))

    with pytest.raises((ValueError, TypeError)):
        certificate(issued, "front-proxy").verify_directly_issued_by(certificate(issued, "ca"))


def test_keys_are_readable_by_their_owner_alone_and_fit_their_certificates(issued: Path) -> None:
    keys = list(issued.glob("*.key"))

    assert {stat.S_IMODE(key.stat().st_mode) for key in keys} == {0o600}
    for key in keys:
        loaded = serialization.load_pem_private_key(key.read_bytes(), password=None)
        if key.stem != "sa":
            assert loaded.public_key() == certificate(issued, key.stem).public_key()


def test_leaves_live_a_year_and_authorities_ten(issued: Path) -> None:
    now = datetime.now(UTC)

    assert certificate(issued, "apiserver").not_valid_after_utc - now > timedelta(days=364)
    assert certificate(issued, "ca").not_valid_after_utc - now > timedelta(days=3649)
    assert certificate(issued, "apiserver").not_valid_before_utc < now - timedelta(minutes=59)


def test_a_second_issue_keeps_authorities_and_tokens_valid(tmp_path: Path) -> None:
    issue_all(tmp_path, node_name=NODE, node_address=ADDRESS, service_address=SERVICE)
    kept = {name: (tmp_path / name).read_bytes() for name in ("ca.crt", "ca.key", "front-proxy-ca.key", "sa.key")}
    former = (tmp_path / "apiserver.crt").read_bytes()

    issue_all(tmp_path, node_name=NODE, node_address="10.213.0.6", service_address=SERVICE)

    assert {name: (tmp_path / name).read_bytes() for name in kept} == kept
    assert (tmp_path / "apiserver.crt").read_bytes() != former
    policy = verifier(tmp_path, "ca").build_server_verifier(x509.IPAddress(ip_address("10.213.0.6")))
    assert policy.verify(certificate(tmp_path, "apiserver"), [])


def test_a_kubeconfig_carries_everything_that_a_client_needs(issued: Path) -> None:
    content = json.loads(kubeconfig(issued, "admin", server="https://10.213.0.2:6443", cluster="rehearsal-x"))

    assert content["current-context"] == content["contexts"][0]["name"] == "rehearsal-x"
    user = content["users"][0]["user"]
    assert base64.b64decode(user["client-certificate-data"]) == (issued / "admin.crt").read_bytes()
    assert base64.b64decode(user["client-key-data"]) == (issued / "admin.key").read_bytes()
    assert content["clusters"][0]["cluster"]["server"] == "https://10.213.0.2:6443"
