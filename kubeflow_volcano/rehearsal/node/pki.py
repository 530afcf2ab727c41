"""The cluster's authorities, certificates and kubeconfig files.

Authorities and the service account key are kept as long as the cluster's directory, so that tokens in etcd stay valid;
leaf certificates are reissued at every start of the node.
"""

from __future__ import annotations

import base64
import ipaddress
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kubeflow_volcano.files import write_file

_AUTHORITY_LIFE = timedelta(days=3650)
_LEAF_LIFE = timedelta(days=365)
_CLOCK_SKEW = timedelta(hours=1)
_SERVER, _CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH

USERS = {
    "admin": ("kubernetes-admin", "system:masters"),
    "controller-manager": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
    "proxy": ("system:kube-proxy", ""),
    "kwok": ("rehearsal:kwok", "system:masters"),
    "webhook-stub": ("rehearsal:webhook-stub", ""),
}
"""Client certificate per kubeconfig: user name and group. The kubelet's is added with the node's name.

Sources: kubernetes.io/docs/setup/best-practices/certificates. KWOK acts on nodes and pods of every namespace.
"""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def issue_all(directory: Path, *, node_name: str, node_address: str, service_address: str) -> None:
    """Fill `directory` with the certificates and keys of the control plane, the kubelet and the webhook.

    Existing authorities and the service account key are kept. Only root can read the keys.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = _authority(directory, "ca", "rehearsal-ca")
    _authority(directory, "webhook-stub-ca", "rehearsal-webhook-stub-ca")  # it signs while the node runs
    front_proxy = _authority(directory, "front-proxy-ca", "rehearsal-front-proxy-ca")
    _service_account_key(directory)
    clients = USERS | {
        "kubelet": (f"system:node:{node_name}", "system:nodes"),
        "apiserver-kubelet": ("kube-apiserver-kubelet-client", "system:masters"),
    }
    for name, (user, group) in clients.items():
        _store(directory, name, _leaf(authority, user, group, usage=_CLIENT))
    _store(directory, "front-proxy", _leaf(front_proxy, "front-proxy-client", usage=_CLIENT))
    services = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"]
    api_names = [*services, "localhost", "127.0.0.1", service_address, node_address]
    _store(directory, "apiserver", _leaf(authority, "kube-apiserver", names=api_names, usage=_SERVER))
    _store(directory, "kubelet-serving", _leaf(authority, node_name, names=[node_name, node_address], usage=_SERVER))
    _store(directory, "placement", _leaf(authority, "rehearsal-placement", names=["127.0.0.1"], usage=_SERVER))


def kubeconfig(directory: Path, user: str, *, server: str, cluster: str) -> str:
    """Text of a kubeconfig for `user`, with the certificates that `issue_all` wrote to `directory` embedded."""

    def embedded(name: str) -> str:
        return base64.b64encode((directory / name).read_bytes()).decode()

    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": cluster,
        "clusters": [
            {"name": cluster, "cluster": {"server": server, "certificate-authority-data": embedded("ca.crt")}}
        ],
        "users": [
            {
                "name": user,
                "user": {
                    "client-certificate-data": embedded(f"{user}.crt"),
                    "client-key-data": embedded(f"{user}.key"),
                },
            }
        ],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": user}}],
    }
    return json.dumps(content, indent=2) + "\n"


def _authority(directory: Path, name: str, common_name: str) -> Pair:
    certificate, key = directory / f"{name}.crt", directory / f"{name}.key"
    if certificate.exists() and key.exists():
        loaded = serialization.load_pem_private_key(key.read_bytes(), password=None)
        if isinstance(loaded, ec.EllipticCurvePrivateKey):
            return Pair(x509.load_pem_x509_certificate(certificate.read_bytes()), loaded)
    fresh = _sign(_name(common_name), None, _AUTHORITY_LIFE, ())
    _store(directory, name, fresh)
    return fresh


def _service_account_key(directory: Path) -> None:
    if (directory / "sa.key").exists() and (directory / "sa.pub").exists():
        return
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    write_file(directory / "sa.key", _pem(key), 0o600)
    write_file(directory / "sa.pub", public.decode())


def _leaf(
    issuer: Pair, common_name: str, organization: str = "", *, names: Sequence[str] = (), usage: x509.ObjectIdentifier
) -> Pair:
    extensions: list[x509.ExtensionType] = [x509.ExtendedKeyUsage([usage])]
    if names:
        extensions.append(x509.SubjectAlternativeName([_general_name(name) for name in names]))
    return _sign(_name(common_name, organization), issuer, _LEAF_LIFE, extensions)


def _sign(subject: x509.Name, issuer: Pair | None, life: timedelta, extensions: Sequence[x509.ExtensionType]) -> Pair:
    """Certify a new key; without an issuer the certificate is a self-signed authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    authority = issuer is None
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + life)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(_key_usage(authority=authority), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key((issuer.key if issuer else key).public_key()),
            critical=False,
        )
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return Pair(builder.sign(issuer.key if issuer else key, hashes.SHA256()), key)


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common_name: str, organization: str = "") -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)] if organization else []
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def _store(directory: Path, name: str, pair: Pair) -> None:
    write_file(directory / f"{name}.key", _pem(pair.key), 0o600)
    write_file(directory / f"{name}.crt", pair.certificate.public_bytes(serialization.Encoding.PEM).decode())
