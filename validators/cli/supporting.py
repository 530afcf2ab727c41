"""The command `support-bundle`."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.problems import InvalidInput, Unreachable
from kubeflow_volcano.progress import to_stderr
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.support.bundle import reports_in, write
from kubeflow_volcano.validators.support.gathering import gather, platform_namespaces


def support_bundle(parsed: argparse.Namespace) -> str:
    """Write the bundle; returns what to tell about it.

    Raises:
        InvalidInput: a namespace that does not exist.
        NotWritten: the file cannot be written.
        Unreachable: the API server does not answer, or namespaces may not be listed.
    """
    now = datetime.now(UTC)
    target: Path = parsed.output or Path(f"kubeflow-volcano-support-{now:%Y%m%dT%H%M%SZ}.tar.gz")
    cluster = Cluster.connect(parsed.kubeconfig, parsed.context)
    try:
        known = {obj["metadata"]["name"] for obj in cluster.list("v1", "Namespace").items}
    except ApiError as error:
        todo = "use an account that may list namespaces, as `kubeflow-volcano rbac` grants it."
        raise Unreachable.problem(f"namespaces cannot be listed: {error}.", "the right to list them.", todo) from error
    if absent := [name for name in parsed.namespace if name not in known]:
        raise InvalidInput.problem(
            f"--namespace {', '.join(absent)}.", "namespaces of this cluster.", "correct the name."
        )
    namespaces = tuple(dict.fromkeys((*sorted(platform_namespaces() & known), *parsed.namespace)))
    gathered = gather(cluster, namespaces, taken=f"{now:%Y-%m-%dT%H:%M:%SZ}", progress=to_stderr())
    files = gathered.files | reports_in(parsed.report_dir)
    write(files, target, taken=int(now.timestamp()))
    lacking = f"; {counted(len(gathered.lacking), 'thing')} could not be had (lacking.txt)" if gathered.lacking else ""
    return (
        f"{target}: {counted(len(files), 'file')} from {counted(len(namespaces), 'namespace')}{lacking}.\n"
        "Values of environment variables and what looks like a credential are hidden, Secrets are not in it. Names of "
        "hosts, images and people are: look through it before you send it.\n"
    )
