"""The mirror's certificate authority, as a file that containerd can load."""

from __future__ import annotations

from pathlib import Path

from cryptography import x509

from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = ["authority"]


def authority(path: Path | None) -> str:
    """The text of the file, which containerd reads at each pull; "" for None.

    Raises:
        InvalidInput: it cannot be read, or has other things than certificates in it.
    """
    if path is None:
        return ""
    try:
        content = path.read_bytes()
        found = x509.load_pem_x509_certificates(content)
        text = content.decode("utf-8")
    except (OSError, ValueError) as error:
        raise InvalidInput(_unusable(path, str(error))) from error
    if "PRIVATE KEY" in text:
        raise InvalidInput(_unusable(path, "it has a private key in it"))
    if not found:
        raise InvalidInput(_unusable(path, "it has no certificate in it"))
    return text


def _unusable(path: Path, why: str) -> Problem:
    return Problem(
        f"image_mirror_containerd_ca is {path}: {why.rstrip('.')}.",
        "a file with certificates in PEM; with another, containerd could pull nothing from the mirror.",
        "name the certificate of the authority that signed the mirror's.",
    )
