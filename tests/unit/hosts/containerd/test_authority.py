"""An authority that containerd could not load is refused before it keeps every image from being pulled."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kubeflow_volcano.hosts.containerd.mirrors import authority
from kubeflow_volcano.problems import InvalidInput


@pytest.fixture(scope="module")
def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture(scope="module")
def certificate(key: ec.EllipticCurvePrivateKey) -> str:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "lan")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    dated = builder.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    return dated.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def test_a_file_with_certificates_is_taken_as_it_is(tmp_path: Path, certificate: str) -> None:
    file = tmp_path / "ca.crt"
    file.write_text(f"# lan\n{certificate}{certificate}")
    assert authority(file) == file.read_text()
    assert authority(None) == ""


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "ca.crt: "),
        ("no certificate", "ca.crt: "),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", ""),
    ],
)
def test_a_file_without_a_certificate_is_refused(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "ca.crt"
    file.write_text(content)
    with pytest.raises(InvalidInput, match=f"image_mirror_containerd_ca is .*{told}"):
        authority(file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        authority(tmp_path / "absent")


def test_a_private_key_does_not_go_to_the_nodes(
    tmp_path: Path, certificate: str, key: ec.EllipticCurvePrivateKey
) -> None:
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = tmp_path / "both.pem"
    file.write_text(certificate + key.private_bytes(*form).decode())
    with pytest.raises(InvalidInput, match="private key"):
        authority(file)
