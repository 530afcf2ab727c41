"""kfv_validate: a cluster is validated, by reading and by experiment. Documented in plugins/modules."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action, failed, show
from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.expected import expected_of
from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.verdict import result_of
from kubeflow_volcano.catalog.examples import example_images
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.applied_objects import lasting_objects
from kubeflow_volcano.problems import InvalidInput, ProblemsError
from kubeflow_volcano.progress import silent
from kubeflow_volcano.ref import Ref
from kubeflow_volcano.rollout.account.stored import kept_password
from kubeflow_volcano.rollout.desired import desired
from kubeflow_volcano.rollout.images.rename.rules import renamed
from kubeflow_volcano.rollout.settings.pods.credentials import authorizations, docker_config
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.checks.reach.planned_images import images_in
from kubeflow_volcano.validators.probes.network.credentials import VARIABLE
from kubeflow_volcano.validators.run.runner import Options, validate
from kubeflow_volcano.validators.run.selection import select


class ActionModule(Action):
    """Validate a cluster."""

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Report every finding. A check that fails does not fail the task: the role's gate reads `exit_code`."""
        cluster = arguments["cluster"]
        prefix = f"{cluster}: " if cluster else ""
        try:
            options = _options(self.settings_with_secrets(arguments["settings"]), arguments, check=self.check_mode)
            report = validate(options, lambda line: show(f"{prefix}{line}"))
        except ProblemsError as error:  # the report on several clusters has them
            return failed(error) | {"problems": [problem.as_dict() for problem in error.problems]}
        return result_of(report, shown=not cluster)


def _options(settings: Settings, arguments: dict[str, Any], *, check: bool) -> Options:
    """In check mode nothing is created, neither probes nor report files."""
    objects, images = _manifests(settings, arguments["select"])
    return replace(
        expected_of(settings),
        kubeconfig=settings.kubeconfig,
        context=settings.context,
        volcano_namespace=settings.volcano_namespace,
        expected_objects=objects,
        planned_images=images,
        select=tuple(arguments["select"]),
        waive=arguments["waivers"],
        probe_namespace=arguments["probe_namespace"],
        network_per_node=arguments["network_per_node"],
        registry_logins=docker_config(authorizations(settings.credentials)) if settings.credentials else "",
        read_only=arguments["read_only"] or check,
        exec_in_pods=arguments["exec_in_pods"],
        acceptance=arguments["acceptance"],
        example_images={image: renamed(image, settings.mirror) for image in example_images()},
        notebook_images=tuple(renamed(image, settings.mirror) for image in settings.notebooks.offered),
        login_as=arguments["login_as"],
        login_password_file=Path(arguments["login_password_file"]) if arguments["login_password_file"] else None,
        login_password=_kept_password(settings, arguments),
        gateway_url=arguments["gateway_url"],
        rollout_problems=tuple(arguments["rollout_problems"]),
        twice=arguments["twice"],
        language=arguments["language"],
        strict=arguments["strict"],
        baseline=Path(arguments["baseline"]) if arguments["baseline"] else None,
        report_dir=None if check else Path(arguments["report_directory"]) / arguments["cluster"],
    )


def _kept_password(settings: Settings, arguments: dict[str, Any]) -> str:
    """The random password that a roll-out keeps in the cluster, if no other is given; empty if it may not be read."""
    if not arguments["login_as"] or arguments["login_password_file"] or VARIABLE in os.environ:
        return ""
    try:
        return kept_password(Cluster.connect(settings.kubeconfig, settings.context), arguments["login_as"])
    except (ApiError, ProblemsError):
        return ""  # E9 then says which password it lacks, and the validation what is wrong with the API server


def _manifests(settings: Settings, words: list[str]) -> tuple[dict[Ref, str], dict[tuple[Ref, str], str]]:
    """Component by object, and image by workload and container, of the inventory's manifests; nothing is downloaded.

    Where they are not available, the validation uses the roll-out's record, or the catalog.
    """
    if not any(check.id in {"A8", "C1"} for check in select(CHECKS, words)):
        return {}, {}
    try:
        parts = desired(settings, settings.components, silent, offline=True).parts
    except InvalidInput:
        return {}, {}
    objects = {ref: name for name, objects in parts.items() for ref in lasting_objects(objects)}
    images = {place: image for objects in parts.values() for obj in objects for place, image in images_in(obj)}
    return objects, images
