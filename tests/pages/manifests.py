"""The manifests on pages, and what an API server says of each."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import yaml

from kubeflow_volcano.cluster.objects import Object
from tests.pages.blocks import PAGES, TRANSLATIONS, blocks, heredocs


def manifests(*, of_native_gangs: bool) -> Iterator[tuple[str, Object]]:
    """Each with its place; those with gangs of Kubernetes itself need a server of 1.37 that has them."""
    for page in PAGES:
        if page in TRANSLATIONS:
            continue
        for block in blocks(page):
            for text in [block.text] if block.language == "yaml" else heredocs(block.text):
                native = "scheduling.k8s.io/v1beta1" in text or "schedulingGroup" in text
                for document in yaml.safe_load_all(text) if native is of_native_gangs else ():
                    if isinstance(document, dict) and {"apiVersion", "kind"} <= document.keys():
                        yield f"{block}-{document['kind']}", document


def refusal(document: Object, kubeconfig: Path) -> str:
    """Why a dry run of applying it is refused, an unknown field included; empty where it is not."""
    if "namespace" in document["metadata"]:
        document = document | {"metadata": document["metadata"] | {"namespace": "default"}}
    kubectl, options = kubeconfig.parent / "bin/kubectl", ("--server-side", "--dry-run=server", "--validate=strict")
    done = subprocess.run(
        [kubectl, "--kubeconfig", kubeconfig, "apply", *options, "-f", "-"],
        input=yaml.safe_dump(document),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr if done.returncode else ""
