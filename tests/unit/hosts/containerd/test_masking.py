"""Files of containerd are shown without what signs in to registries, however it is written."""

from __future__ import annotations

import pytest

from kubeflow_volcano.hosts.containerd.masking import without_credentials


@pytest.mark.parametrize(
    "text",
    [
        '[host."https://me:hunter2@mirror.lan"]\n  capabilities = ["pull"]\n',
        'server = "https://me:hunter2@mirror.lan/v2"\n',
        '[host."https://mirror.lan"]\n  header = {Authorization = "Basic hunter2", x-key = ["hunter2"]}\n',
        '[host."https://mirror.lan".header]\n  x-key = [\n    "hunter2",\n  ]\n',
        '[host."https://mirror.lan".header]\n  x-key = """\nhunter2-and-more"""\n',
        "[host.'https://mirror.lan']\n  header.x-key = 'hunter2'\n",
        'registry.configs."mirror.lan".auth = {username = "me", password = "hunter2"}\n',
        'registry.configs."mirror.lan".auth.identitytoken = "hunter2"\n',
        '[host."https://mirror.lan".header]\n  x-key = "hunter\\u0032"\n',
        '[host."https://mirror.lan\nAuthorization = ["hunter2"]\n',
    ],
)
def test_no_credential_is_shown(text: str) -> None:
    shown = without_credentials(text)
    assert "hunter" not in shown
    assert "[redacted]" in shown or "***@mirror.lan" in shown


def test_everything_else_stays() -> None:
    text = '# me\n[host."https://mirror.lan:5000"]\n  capabilities = ["pull"]\n  client = [["/a.cert", "/a.key"]]\n'
    assert without_credentials(text) == text
