"""Placeholders of texts about jobs: found where values must be, and left alone where they are right."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.explain.manifest.documents import parse
from tests.samples.manifests import findings, made, reasons, tfjob

GPUS = {"limits": {"nvidia.com/gpu": {"gpus": None}}}


@pytest.mark.parametrize(
    ("template", "spec", "text"),
    [
        ({"spec": {"containers": [{"name": "c", "image": {"image": None}}]}}, {}, "{image}"),
        ({"spec": {"containers": [{"name": "c", "image": "registry/{{ image }}:1"}]}}, {}, "{{ image }}"),
        ({"spec": {"containers": [{"name": "c", "image": "<your-registry>/mnist"}]}}, {}, "<your-registry>"),
        ({"spec": {"serviceAccountName": "${ACCOUNT}"}}, {}, "${ACCOUNT}"),
        ({"spec": {"containers": [{"name": "c", "resources": GPUS}]}}, {}, "{gpus}"),
        (None, {"workers": {"count": None}}, "{count}"),
        (None, {"policy": {"queue": "{team}"}}, "{team}"),
    ],
)
def test_a_placeholder_is_told_and_nothing_else(template: Any, spec: Any, text: str) -> None:
    (found,) = findings(tfjob(template, **spec))
    assert (found.reason, found.blocks) == ("Placeholder", True)
    assert text in found.problem.todo


def test_braces_in_texts_and_in_templates_of_others_are_right() -> None:
    container = {
        "name": "tensorflow",
        "image": "example/image:v1",
        "command": ["sh", "-c", "echo ${HOSTNAME} {a} <b>"],
        "env": [{"name": "X", "value": "{{ x }}"}],
        "resources": {"requests": {"cpu": "1"}},
    }
    job = {"metadata": {"annotations": {"note": "<b>{x}</b>"}}, "spec": {"containers": [container], "volumes": []}}
    assert reasons(tfjob(job)) == []
    trial = {"trialTemplate": {"trialSpec": {"spec": {"image": "${trialParameters.image}"}}}}
    step = {"templates": [{"container": {"image": "{{inputs.parameters.image}}"}}]}
    assert "Placeholder" not in reasons(
        made("kubeflow.org/v1beta1", "Experiment", "e", spec=trial),
        made("argoproj.io/v1alpha1", "Workflow", "w", spec=step),
    )
    scratch = {"spec": {"volumes": [{"name": "v", "emptyDir": {"medium": None}}]}}
    assert reasons(tfjob(scratch)) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kind: TFJob\napiVersion: kubeflow.org/v1\nmetadata: {name: {job_name}}\n", "the placeholder {job_name}"),
        ("kind: TFJob\napiVersion: kubeflow.org/v1\nmetadata: {name: a, namespace: <namespace>}\n", "<namespace>"),
        ("kind: TFJob\nspec:\n  image: {{ image }}\n", "{{ image }} is a placeholder of a template"),
        ("{{- if .Values.job }}\nkind: TFJob\n{{- end }}\n", "{{- if .Values.job }} is a placeholder"),
    ],
)
def test_files_that_are_no_objects_for_a_placeholder_say_so(text: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse("job.yaml", text, "team-a")
    assert words in str(caught.value)
