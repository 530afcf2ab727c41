"""Rules about experiments of Katib: what its webhook refuses, and what never gives a result.

Rules: pkg/webhook/v1beta1/experiment/validator of Katib, v0.14.0 to v0.19.0 (numbers of trials from v0.15.0 on), and
pkg/webhook/v1beta1/pod.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.text import did_you_mean, few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.manifest.model import Flaw, Manifest, flaw
from kubeflow_volcano.validators.explain.manifest.templates import templates_of
from kubeflow_volcano.validators.explain.placement.dynamic_resources import listed, mapping

_USED = re.compile(r"\$\{trialParameters\.([^}]+)\}")
_OF_TRIAL = re.compile(r"\$\{trialSpec\.")


def parameters(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """Parameters of trials that the experiment does not have, that nothing uses, or that are used and not declared.

    Rules: those of Katib above.
    """
    spec = _experiment(manifest)
    template = mapping(spec.get("trialTemplate"))
    declared = [item for item in listed(template, "trialParameters") if item.get("name") and item.get("reference")]
    known = [str(item.get("name")) for item in listed(spec, "parameters")]
    names = {str(item["name"]) for item in declared}
    for item in declared:
        reference = str(item["reference"])
        if known and reference not in known and not _OF_TRIAL.match(reference):
            yield _refused(
                f"trialParameter {item['name']} has the reference {reference}, and spec.parameters has no such name."
                f"{_near(reference, known)}",
                "references that are names in spec.parameters.",
                f"set reference to one of {few(known)}, or correct the name there.",
                "reference",
            )
    if not isinstance(template.get("trialSpec"), dict):
        return
    used = set(_USED.findall(json.dumps(template["trialSpec"], default=str)))
    if unused := sorted(names - used):
        yield _refused(
            f"trialSpec uses no ${{trialParameters.{unused[0]}}}, which trialParameters has.",
            "each parameter of trialParameters in trialSpec.",
            "use it there, as in an argument of the container, or remove it.",
            unused[0],
        )
    if unknown := sorted(used - names):
        yield _refused(
            f"trialSpec uses ${{trialParameters.{unknown[0]}}}, which trialParameters does not have."
            f"{_near(unknown[0], sorted(names))}",
            "an entry of trialParameters for each that trialSpec uses.",
            "add it with the reference to its parameter, or correct the name.",
            unknown[0],
        )


def counts(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """More trials at once, or more that may fail, than there are.

    Rules: those of Katib above.
    """
    spec = _experiment(manifest)
    most = spec.get("maxTrialCount")
    for field in ("parallelTrialCount", "maxFailedTrialCount"):
        value = spec.get(field)
        if isinstance(value, int) and isinstance(most, int) and value > most:
            yield _refused(
                f"spec.{field} is {value}, and maxTrialCount {most}.",
                f"a {field} of at most maxTrialCount.",
                f"lower {field}, or raise maxTrialCount.",
                field,
                "Katib 0.15 and later ones refuse it.",
            )


def trials(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """Names that Katib gives itself, and a container that trials do not have.

    Rules: those of Katib above.
    """
    spec = _experiment(manifest)
    template = mapping(spec.get("trialTemplate"))
    trial = template.get("trialSpec")
    if not isinstance(trial, dict):
        return
    meta = mapping(trial.get("metadata"))
    if named := [field for field in ("name", "namespace") if meta.get(field)]:
        yield _refused(
            f"trialSpec has metadata.{named[0]}, which Katib gives each trial itself.",
            "a trialSpec without metadata.name and metadata.namespace.",
            "remove it.",
            "must be omitted",
        )
    for pod in templates_of(trial) if {"apiVersion", "kind"} <= trial.keys() else ():
        for field in ("annotations", "labels"):
            wrong = [name for name, value in mapping(pod.marked(field)).items() if not isinstance(value, str)]
            if wrong:
                yield _refused(
                    f"in trialSpec, {field} {few(wrong)} are no texts (true and false are not).",
                    "texts, in quotes.",
                    f'write the value in quotes: {wrong[0]}: "{str(pod.marked(field)[wrong[0]]).lower()}".',
                    "unable to convert",
                )
    primary = template.get("primaryContainerName")
    collector = mapping(mapping(spec.get("metricsCollectorSpec")).get("collector")).get("kind")
    if not primary or collector in {"None", "Push"} or not {"apiVersion", "kind"} <= trial.keys():
        return
    names = [str(item.get("name")) for pod in templates_of(trial) for item in listed(pod.spec, "containers")]
    if names and primary not in names:
        yield flaw(
            "PrimaryContainerMissing",
            f"primaryContainerName is {primary}, and the pods of trials have the containers {few(names)}: Katib finds "
            f"none to take metrics from.{did_you_mean(str(primary), names)}",
            needed="the name of the container that trains.",
            todo="correct primaryContainerName, or the name of the container.",
        )


def _refused(found: str, needed: str, todo: str, word: str, by: str = "Katib's webhook refuses it.") -> Flaw:
    return flaw("ExperimentInvalid", f"{found} {by}", needed=needed, todo=todo, words=[word])


def _near(name: str, known: list[str]) -> str:
    """The question that names a similar one, also where only dashes differ."""
    bare = {item.strip("-_ ").replace("-", "_"): item for item in known}
    same = bare.get(name.strip("-_ ").replace("-", "_"))
    return f" Did you mean {same}?" if same else did_you_mean(name, known)


def _experiment(manifest: Manifest) -> Object:
    of_katib = manifest.kind == "Experiment" and manifest.ref.group == "kubeflow.org"
    return mapping(manifest.obj.get("spec")) if of_katib else {}
