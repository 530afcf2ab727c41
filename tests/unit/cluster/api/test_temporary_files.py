"""Keys of a kubeconfig do not outlive the process that used them, even a forked worker such as those of Ansible."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.programs

SCRIPT = """
import contextlib, multiprocessing, pathlib, sys, tempfile
from kubeflow_volcano.cluster.api.client import Cluster

def work():
    with contextlib.suppress(Exception):
        Cluster.connect(pathlib.Path(sys.argv[1]))
    print(len(list(pathlib.Path(tempfile.gettempdir()).iterdir())), flush=True)

worker = multiprocessing.get_context("fork").Process(target=work)
worker.start()
worker.join()
"""
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1", certificate-authority-data: eA==}}]
users: [{name: a, user: {client-certificate-data: eA==, client-key-data: eA==}}]
"""


def test_a_forked_worker_removes_the_key_files(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG, "utf-8")
    temporary = tmp_path / "tmp"
    temporary.mkdir()

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path / "kubeconfig"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )

    assert int(done.stdout) > 0, "the client library made no files, so this proves nothing"
    assert list(temporary.iterdir()) == []
