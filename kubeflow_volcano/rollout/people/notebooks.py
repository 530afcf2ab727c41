"""`kubeflow_notebooks` in the manifests of each release: the page for new notebooks, PodDefaults, idle notebooks.

The page is `spawner_ui_config.yaml` in a ConfigMap whose name ends in a hash, with the same fields in every release.
The controller reads its environment (pkg/culler of notebook-controller, v1.6.1 to v1.11.0); up to 1.8 upstream's
manifests do not name these variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from kubeflow_volcano import foreign
from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.cluster.pods.environment import entries, set_environment
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.settings.people.notebooks import (
    CONTROLLER,
    WEB_APP,
    Choice,
    Culling,
    NotebookSettings,
    PodDefault,
)

PAGE = "spawner_ui_config.yaml"
"""Key of the ConfigMap with the page."""

_FORM = "spawnerFormDefaults"
_KINDS = {"jupyter": "image", "vscode": "imageGroupOne", "rstudio": "imageGroupTwo"}


def configure_notebooks(objects: Sequence[Object], component: str, given: NotebookSettings) -> None:
    """Let a component offer for notebooks what the inventory does.

    Raises:
        InvalidInput: the manifests lack what is changed.
    """
    if component == WEB_APP and given.changes_page:
        _configure_page(objects, given)
    if component == CONTROLLER and given.culling:
        _configure_culling(objects, given.culling)


def add_pod_defaults(objects: list[Object], namespaces: Iterable[str], given: NotebookSettings) -> None:
    """Append the PodDefaults for each of the namespaces; the label that chooses one has its name."""
    objects += [_pod_default(item, namespace) for namespace in namespaces for item in given.pod_defaults]


def _configure_page(objects: Sequence[Object], given: NotebookSettings) -> None:
    pages = [obj["data"] for obj in objects if obj["kind"] == "ConfigMap" and PAGE in (obj.get("data") or {})]
    if not pages:
        raise InvalidInput.problem(
            f"the manifests of {WEB_APP} have no ConfigMap with {PAGE}.",
            "one, which gets kubeflow_notebooks.",
            f"correct kubeflow_source or kubeflow_sources.{WEB_APP}.",
        )
    for data in pages:
        page = next(iter(foreign.parse(data[PAGE].encode(), f"{PAGE} of {WEB_APP}")), None)
        _change(_form(page), given)
        data[PAGE] = yaml.dump(page, Dumper=foreign.Dumper, sort_keys=False)


def _form(page: Any) -> dict[str, Any]:
    return _field(page if isinstance(page, dict) else {}, _FORM, "")


def _change(form: dict[str, Any], given: NotebookSettings) -> None:
    for kind, images in (given.images or {}).items():
        _field(form, _KINDS[kind]).update(value=images[0], options=[*images])
    if given.custom_images is not None:
        form["allowCustomImage"] = given.custom_images
    _amounts(form, given)
    if given.workspace:
        _workspace(_field(form, "workspaceVolume"), given)
    if given.gpus:
        vendors = [{"limitsKey": item.key, "uiName": item.name} for item in given.gpus.vendors]
        _field(form, "gpus")["value"] = {"num": given.gpus.count, "vendors": vendors, "vendor": given.gpus.vendor}
    if given.affinities is not None:
        _choices(_field(form, "affinityConfig"), "configKey", "affinity", given.affinities)
    if given.tolerations is not None:
        _choices(_field(form, "tolerationGroup"), "groupKey", "tolerations", given.tolerations)
    if chosen := [item.name for item in given.pod_defaults if item.default]:
        _field(form, "configurations")["value"] = chosen


def _amounts(form: dict[str, Any], given: NotebookSettings) -> None:
    for name, amount in (("cpu", given.cpu), ("memory", given.memory)):
        if amount and amount.request is not None:
            _field(form, name)["value"] = str(amount.request)
        if amount and amount.limit_factor is not None:
            _field(form, name)["limitFactor"] = amount.limit_factor


def _field(form: dict[str, Any], name: str, where: str = f"{_FORM}.") -> dict[str, Any]:
    found = form.get(name)
    if not isinstance(found, dict):
        raise InvalidInput.problem(
            f"{PAGE} of {WEB_APP} has no {where}{name}.",
            "the fields of upstream's page, which every release of the catalog has.",
            f"correct kubeflow_source or kubeflow_sources.{WEB_APP}, or leave it out of kubeflow_notebooks.",
        )
    return found


def _workspace(field: dict[str, Any], given: NotebookSettings) -> None:
    volume, own = field.get("value"), given.workspace
    spec = ((volume or {}).get("newPvc") or {}).get("spec")
    if own is None or volume is None or spec is None:
        raise InvalidInput.problem(
            f"{PAGE} of {WEB_APP} has no volume for new notebooks.",
            f"{_FORM}.workspaceVolume.value.newPvc.spec, as in every release.",
            "correct the manifests, or leave out kubeflow_notebooks.workspace.",
        )
    if own.size:
        spec.setdefault("resources", {}).setdefault("requests", {})["storage"] = own.size
    if own.storage_class:
        spec["storageClassName"] = own.storage_class
    if own.mount:
        volume["mount"] = own.mount


def _choices(field: dict[str, Any], key: str, content: str, choices: Sequence[Choice]) -> None:
    field["options"] = [
        {key: item.key, "displayName": item.name, content: getattr(item, content) or []} for item in choices
    ]
    field["value"] = next((item.key for item in choices if item.default), "")


def _configure_culling(objects: Sequence[Object], culling: Culling) -> None:
    wanted = {
        "ENABLE_CULLING": "true",
        "CULL_IDLE_TIME": str(culling.idle_minutes),
        "IDLENESS_CHECK_PERIOD": str(culling.check_minutes),
    }
    for obj in (obj for obj in objects if obj["kind"] == "Deployment"):
        containers = obj["spec"]["template"]["spec"]["containers"]
        container = next((item for item in containers if item["name"] == "manager"), containers[0])
        set_environment(container, entries(wanted))


def _pod_default(item: PodDefault, namespace: str) -> Object:
    spec = {"selector": {"matchLabels": {item.name: "true"}}, "desc": item.title, **item.spec}
    return new_object("kubeflow.org/v1alpha1", "PodDefault", item.name, namespace, spec=spec)
