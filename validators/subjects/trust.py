"""Serving certificates of webhooks: does the API server trust them.

The API server is a Go program, so the rules are those of its crypto/x509 (verify.go: isValid, buildChains,
CheckSignatureFrom, matchHostnames): names from the subject alternative name alone, a wildcard for one label, no
required extensions but the CA flag of what signs, and a certificate in the caBundle that is trusted by itself.
What contradicts one of them is refused for certain. `cryptography` verifies the rest; it takes fewer algorithms and
encodings than Go, so that its refusal alone is a doubt.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import Criticality, ExtensionPolicy, PolicyBuilder, Store, VerificationError

_Kind = TypeVar("_Kind", bound=x509.ExtensionType)
_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_SERVER = {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}
_ISSUERS = ExtensionPolicy.permit_all().require_present(x509.BasicConstraints, Criticality.AGNOSTIC, None)
_SERVERS = ExtensionPolicy.permit_all().require_present(x509.SubjectAlternativeName, Criticality.AGNOSTIC, None)
_CONSTRAINED = "name constraint"
"""In the verifier's text about an issuer whose name constraints exclude the name; Go evaluates them, too."""
_UNNAMED = "non-empty Issuer"
"""In its text about a certificate whose issuer has no name, as cert-manager's self-signed ones: Go takes it."""
_MOST_ISSUERS = 8


@dataclass(frozen=True, slots=True)
class Distrust:
    """Why a certificate is not trusted: a stable reason, the rest of a sentence after "a certificate that".

    `certain` is False where the API server may trust it all the same.
    """

    reason: str
    wrong: str
    certain: bool = True


def parsed(pem: bytes) -> list[x509.Certificate]:
    """Certificates of a PEM text, without those that cannot be parsed. A serial number of 0 or less is accepted.

    Raises:
        ValueError: none can be parsed.
    """
    certificates: list[x509.Certificate] = []
    error = ValueError("no certificate in PEM")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        for block in _BLOCK.findall(pem):
            try:
                certificates.append(x509.load_pem_x509_certificate(block))
            except ValueError as why:
                error = why
    if not certificates:
        raise error
    return certificates


def distrust(
    served: Sequence[x509.Certificate], authorities: Sequence[x509.Certificate], host: str, now: datetime
) -> Distrust | None:
    """Why the API server does not trust what a backend serves, its own certificate first; None if it does."""
    try:
        return _refused(served, authorities, host, now) or _doubted(served, authorities, host, now)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        return Distrust("NotVerified", f"cannot be verified here: {error}", certain=False)


def _refused(
    served: Sequence[x509.Certificate], authorities: Sequence[x509.Certificate], host: str, now: datetime
) -> Distrust | None:
    """What Go refuses for certain.

    Raises:
        ValueError: an extension cannot be parsed.
    """
    leaf = served[0]
    if leaf.not_valid_after_utc < now:
        return Distrust("CertificateExpired", f"expired on {leaf.not_valid_after_utc:%Y-%m-%d}")
    if leaf.not_valid_before_utc > now:
        return Distrust("NotValidYet", f"is not valid before {leaf.not_valid_before_utc:%Y-%m-%d %H:%M} UTC")
    if not _is_for(leaf, host):
        return Distrust("WrongName", f"is not for {host}")
    text = ""
    for way in _ways((leaf,), authorities, served[1:]):
        text = _rejection(way, now)
        if not text:
            return None
    return Distrust("NotAuthorized", text) if text else Distrust("UnknownAuthority", "is not signed by the caBundle")


def _doubted(
    served: Sequence[x509.Certificate], authorities: Sequence[x509.Certificate], host: str, now: datetime
) -> Distrust | None:
    builder = PolicyBuilder().store(Store(list(authorities))).time(now)
    builder = builder.extension_policies(ca_policy=_ISSUERS, ee_policy=_SERVERS)
    try:
        builder.build_server_verifier(x509.DNSName(host)).verify(served[0], list(served[1:]))
    except VerificationError as error:
        text = str(error).removeprefix("validation failed: ").removeprefix("candidates exhausted: ")
        text = text.partition(" (encountered")[0]
        if _UNNAMED in text and served[0] in authorities and not _is_beyond(served[0]):
            return None  # it is its own authority: nothing else is verified of it
        if _CONSTRAINED in text:
            return Distrust("NotAuthorized", f"an issuer may not sign for {host}: {text}")
        return Distrust("NotVerified", f"cannot be verified here: {text}", certain=False)
    return None


def _is_beyond(certificate: x509.Certificate) -> bool:
    """Whether it has an extension that must be understood and is not."""
    return any(item.critical and isinstance(item.value, x509.UnrecognizedExtension) for item in certificate.extensions)


def _is_for(leaf: x509.Certificate, host: str) -> bool:
    found = _extension(leaf, x509.SubjectAlternativeName)
    names = {name.lower() for name in found.get_values_for_type(x509.DNSName)} if found else set()
    return not names.isdisjoint({host, f"*.{host.partition('.')[2]}"})


def _ways(
    way: tuple[x509.Certificate, ...],
    authorities: Sequence[x509.Certificate],
    intermediates: Sequence[x509.Certificate],
) -> Iterator[tuple[x509.Certificate, ...]]:
    """Every way from the certificate to one in the caBundle, by names and signatures."""
    if way[-1] in authorities:
        yield way
    elif len(way) <= _MOST_ISSUERS:
        for issuer in dict.fromkeys((*authorities, *intermediates)):
            if issuer not in way and _signed(way[-1], issuer):
                yield from _ways((*way, issuer), authorities, intermediates)


def _signed(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    if certificate.issuer != issuer.subject:
        return False
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        # That of an algorithm which is not supported may be right, and the verifier says what it does not know.
        return isinstance(certificate.signature_hash_algorithm, hashes.SHA1 | hashes.MD5)
    return True


def _rejection(way: Sequence[x509.Certificate], now: datetime) -> str:
    """Why Go does not go this way; empty if it does.

    Raises:
        ValueError: an extension cannot be parsed.
    """
    for below, issuer in enumerate(way[1:]):
        who = f"is signed by {issuer.subject.rfc4514_string() or 'a certificate without a name'}, which"
        limits, usage = _extension(issuer, x509.BasicConstraints), _extension(issuer, x509.KeyUsage)
        is_root = below == len(way) - 2
        if not issuer.not_valid_before_utc <= now <= issuer.not_valid_after_utc:
            return (
                f"{who} is valid from {issuer.not_valid_before_utc:%Y-%m-%d} to {issuer.not_valid_after_utc:%Y-%m-%d}"
            )
        if not (limits.ca if limits else is_root and issuer.version is x509.Version.v1):
            return f"{who} is not a CA"
        if usage and not usage.key_cert_sign:
            return f"{who} may not sign certificates by its key usage"
        if limits and limits.path_length is not None and below > limits.path_length:
            return f"{who} allows {limits.path_length} intermediates, not {below}"
    for certificate in way:
        purposes = _extension(certificate, x509.ExtendedKeyUsage)
        if purposes and not _SERVER & set(purposes):
            whose = "its" if certificate is way[0] else "an issuer's"
            return f"is not for servers by {whose} extended key usage"
    return ""


def _extension(certificate: x509.Certificate, kind: type[_Kind]) -> _Kind | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None
