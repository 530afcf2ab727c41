"""A certificate that nobody knows yet, and the authority that signed it."""

from __future__ import annotations

import ipaddress
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_SIGNS = x509.KeyUsage(
    key_cert_sign=True,
    crl_sign=True,
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


def write_certificates(host: str, ca: Path, days: tuple[int, int] = (-1, 30), name: str = "") -> Path:
    """Write an authority of this registry's own; returns the file with the server's certificate and key.

    Args:
        host: address of the server.
        ca: the file of the authority, beside which the other one is written.
        days: when certificates begin and end, from now.
        name: what the server's certificate is for, in place of its address.
    """
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"lab-registry-{uuid.uuid4().hex[:8]}")])
    now = datetime.now(UTC)

    def builder(subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(authority)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + timedelta(days=days[0]))
            .not_valid_after(now + timedelta(days=days[1]))
        )

    identifier = x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key())
    issued = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)
    root = (
        builder(authority, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_SIGNS, critical=True)
        .add_extension(identifier, critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    own: list[x509.GeneralName] = [x509.IPAddress(ipaddress.ip_address(host)), x509.DNSName("registry.lab")]
    names = x509.SubjectAlternativeName([x509.DNSName(name)] if name else own)
    leaf = (
        builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)]), key.public_key())
        .add_extension(names, critical=False)
        .add_extension(issued, critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    ca.write_bytes(root.public_bytes(serialization.Encoding.PEM))
    pair = ca.with_name("server.pem")
    pair.write_bytes(
        leaf.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return pair
