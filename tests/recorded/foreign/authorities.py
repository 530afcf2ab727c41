"""Authorities of companies, and what they sign."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

Pair = tuple[x509.Certificate, ec.EllipticCurvePrivateKey]
"""A certificate and its key."""
_YEARS = timedelta(days=3650)


def issued(name: str, by: Pair | None, hosts: tuple[str, ...] = ()) -> Pair:
    """An authority, or with `hosts` a server's certificate; signed by another authority, or by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    issuer, signer = (by[0].subject, by[1]) if by else (subject, key)
    builder = x509.CertificateBuilder(
        issuer, subject, key.public_key(), x509.random_serial_number(), now - timedelta(hours=1), now + _YEARS
    )
    extensions: list[tuple[x509.ExtensionType, bool]] = [
        (x509.BasicConstraints(ca=not hosts, path_length=None), True),
        (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), False),
    ]
    if hosts:
        extensions.append((x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts]), False))
        extensions.append((x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False))
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(signer, hashes.SHA256()), key


def pem(*certificates: x509.Certificate) -> bytes:
    """A chain as text."""
    return b"".join(item.public_bytes(serialization.Encoding.PEM) for item in certificates)


def private(pair: Pair) -> bytes:
    """The key as text."""
    form = serialization.PrivateFormat.PKCS8
    return pair[1].private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
