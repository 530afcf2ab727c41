"""Certificates of many shapes: those that operators make for their webhooks, and broken ones."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CA = x509.BasicConstraints(ca=True, path_length=None)
SERVERS = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
CLIENTS = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
_DAY = dt.timedelta(days=1)
_SERIAL = 7
_RSA = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01"
"""Object identifiers of RSA signatures, without their last byte."""
_Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


def named(*hosts: str) -> x509.SubjectAlternativeName:
    """The extension with these DNS names."""
    return x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])


def pem(*certificates: x509.Certificate) -> bytes:
    """All of them in one text."""
    return b"".join(item.public_bytes(serialization.Encoding.PEM) for item in certificates)


@dataclass(frozen=True)
class Signer:
    """A certificate with its key, which signs others."""

    certificate: x509.Certificate
    key: Any

    @property
    def private(self) -> bytes:
        """The key as text, which no password protects."""
        form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        text: bytes = self.key.private_bytes(*form)
        return text

    def signs(self, name: str, *extensions: x509.ExtensionType, **rest: Any) -> Signer:
        """Another certificate, signed by this one."""
        return _made(name, extensions, signed_by=self, **rest)


def signer(name: str, *extensions: x509.ExtensionType, **rest: Any) -> Signer:
    """A certificate that signs itself."""
    return _made(name, extensions, **rest)


def _made(
    name: str,
    extensions: Sequence[x509.ExtensionType],
    *,
    now: dt.datetime,
    signed_by: Signer | None = None,
    key: _Key | None = None,
    begins: int = -60,
    days: int = 30,
    critical: bool = False,
) -> Signer:
    key = key or ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else [])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signed_by.certificate.subject if signed_by else subject)
        .public_key(key.public_key())
        .serial_number(_SERIAL)
        .not_valid_before(now + begins * _DAY)
        .not_valid_after(now + days * _DAY)
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=critical)
    by = signed_by.key if signed_by else key
    digest = None if isinstance(by, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return Signer(builder.sign(by, digest), key)


def with_serial(found: Signer, serial: int, by: Signer) -> Signer:
    """The same certificate with a serial number of one byte that no builder accepts, signed again by a P-256 key."""
    old, new = b"\x02\x01" + bytes([_SERIAL]), b"\x02\x01" + serial.to_bytes(1, "big", signed=True)
    return _altered(found, old, new, lambda body: by.key.sign(body, ec.ECDSA(hashes.SHA256())))


def with_sha1(found: Signer, by: Signer) -> Signer:
    """The same certificate, signed again by an RSA key with SHA-1."""
    old = hashes.SHA1()  # noqa: S303  as old operators used it
    return _altered(found, _RSA + b"\x0b", _RSA + b"\x05", lambda body: by.key.sign(body, PKCS1v15(), old))


def _altered(found: Signer, old: bytes, new: bytes, sign: Callable[[bytes], bytes]) -> Signer:
    """The certificate with other bytes of the same length in its body, and a signature of that."""
    whole, body = found.certificate.public_bytes(serialization.Encoding.DER), found.certificate.tbs_certificate_bytes
    end = whole.index(body) + len(body)
    algorithm = whole[end : end + 2 + whole[end + 1]]
    body, signature = body.replace(old, new, 1), b"\x00"
    signature += sign(body)
    inner = body + algorithm.replace(old, new) + b"\x03" + _length(signature) + signature
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        return Signer(x509.load_der_x509_certificate(b"\x30" + _length(inner) + inner), found.key)


def _length(content: bytes) -> bytes:
    short = len(content) < 0x80
    return bytes([len(content)]) if short else b"\x82" + len(content).to_bytes(2, "big")
