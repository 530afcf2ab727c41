"""An authority that containerd could not load is refused before it keeps every image from being pulled."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kubeflow_volcano.hosts.containerd.mirrors import authority
from kubeflow_volcano.problems import InvalidInput
from tests.samples.certificates import pem, signer

LAN = signer("lan", now=datetime.now(UTC))
CERTIFICATE = pem(LAN.certificate).decode()


def test_a_file_with_certificates_is_taken_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_text(f"# lan\n{CERTIFICATE}{CERTIFICATE}")
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


def test_a_private_key_does_not_go_to_the_nodes(tmp_path: Path) -> None:
    file = tmp_path / "both.pem"
    file.write_text(CERTIFICATE + LAN.private.decode())
    with pytest.raises(InvalidInput, match="private key"):
        authority(file)
