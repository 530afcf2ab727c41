"""What is changed in upstream's manifests before they are applied: a table of functions of the settings."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence

from kubeflow_volcano.catalog.gangs import made_by_operators
from kubeflow_volcano.catalog.operator import COMPONENT, GANG_FLAGS, version_of_image
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.access.cookies import application_cookies, session_cookie
from kubeflow_volcano.rollout.access.gateway import admit_traffic, publish, serve
from kubeflow_volcano.rollout.account.first_user import placeholder_account
from kubeflow_volcano.rollout.account.sign_in import dex, first_profile, relying_party
from kubeflow_volcano.rollout.account.stores import put_passwords
from kubeflow_volcano.rollout.gang.replicas import replicate_operator, replicate_volcano
from kubeflow_volcano.rollout.gang.trainer import wire_runtimes
from kubeflow_volcano.rollout.patches.bare import mark_bare
from kubeflow_volcano.rollout.patches.namespaces import label_namespaces
from kubeflow_volcano.rollout.patches.operator_memory import raise_limit
from kubeflow_volcano.rollout.patches.own_operator import fit_into_distribution
from kubeflow_volcano.rollout.patches.volcano import configure_scheduling, scope_pod_webhooks
from kubeflow_volcano.rollout.people.connectors import add_connectors
from kubeflow_volcano.rollout.people.issuer import follow_issuer
from kubeflow_volcano.rollout.people.logins import add_logins
from kubeflow_volcano.rollout.people.notebooks import add_pod_defaults
from kubeflow_volcano.rollout.people.teams import add_teams, allow_reading_queues
from kubeflow_volcano.rollout.settings.access import AccessSettings
from kubeflow_volcano.rollout.settings.matrix import require_operator
from kubeflow_volcano.rollout.settings.people.connectors import DEX
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.settings.user import Account
from kubeflow_volcano.rollout.storage.local_path import base_directories, default_class, owners_of_volumes

_Patch = Callable[[list[Object], Settings], None]


def patched(objects: Iterable[Object], component: str, settings: Settings) -> tuple[Object, ...]:
    """Copies of `objects` with the patches of all components and of their own; equal settings give equal objects.

    Raises:
        InvalidInput: the objects lack what a patch changes.
    """
    # No patch changes a CRD, and most of a release's text is in them.
    changed = [obj if obj["kind"] == "CustomResourceDefinition" else copy.deepcopy(obj) for obj in objects]
    for patch in (_labels, *_PATCHES.get(component, ())):
        patch(changed, settings)
    put_passwords(changed, component, settings.passwords)
    mark_bare(changed)
    return tuple(changed)


def gang_arguments(arguments: Sequence[str], required: Sequence[str]) -> list[str]:
    """`arguments` without the flags about gangs, in any spelling, and with `required` at the end."""
    kept: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        flag, equals, _ = argument.partition("=")
        name = "--" + flag.lstrip("-") if flag.startswith("-") else ""
        if name not in GANG_FLAGS:
            kept.append(argument)
        elif not equals and name == "--gang-scheduler-name":
            next(rest, None)  # its value is the next argument; that of the boolean flag never is
    return [*kept, *required]


def _labels(objects: Sequence[Object], settings: Settings) -> None:
    label_namespaces(objects, settings.namespace_labels)


def _own_operator(objects: list[Object], settings: Settings) -> None:
    if settings.training_operator:
        fit_into_distribution(objects)


def _gang(objects: Sequence[Object], settings: Settings) -> None:
    container = _operator_container(objects)
    version = version_of_image(container["image"]) or settings.component(COMPONENT).version
    require_operator(settings.gang_scheduler, version)
    scheduler = made_by_operators(settings.gang_scheduler)
    wanted = scheduler.arguments(version) if scheduler else ()
    if "command" in container:
        container["command"] = gang_arguments(container["command"], ())
    # Declared also if there are none, so that a flag that was set by hand goes.
    container["args"] = gang_arguments(container.get("args") or (), wanted)


def _memory(objects: Sequence[Object], settings: Settings) -> None:
    raise_limit(_operator_container(objects), settings.component(COMPONENT).version)


def _operator_replicas(objects: list[Object], settings: Settings) -> None:
    replicate_operator(objects, settings.component(COMPONENT).version, settings.availability.operator)


def _operator_container(objects: Sequence[Object]) -> Object:
    for obj in objects:
        if obj["kind"] == "Deployment" and obj["metadata"]["name"] == COMPONENT:
            for container in obj["spec"]["template"]["spec"]["containers"]:
                if container["name"] == COMPONENT:
                    chosen: Object = container
                    return chosen
    raise InvalidInput.problem(
        "manifests of the training operator without its Deployment.",
        f"a Deployment {COMPONENT} with a container {COMPONENT}, which gets the gang scheduling argument.",
        f"correct kubeflow_sources.{COMPONENT}.",
    )


def _runtimes(objects: Sequence[Object], settings: Settings) -> None:
    if scheduler := made_by_operators(settings.gang_scheduler):
        wire_runtimes(objects, scheduler)


def _scheduling(objects: list[Object], settings: Settings) -> None:
    configure_scheduling(objects, settings.scheduling, settings.volcano.version)


def _pod_webhooks(objects: Sequence[Object], settings: Settings) -> None:
    scope_pod_webhooks(objects, settings.pod_webhooks)


def _queues_of_teams(objects: list[Object], settings: Settings) -> None:
    allow_reading_queues(objects, settings.profiles, settings.volcano.version)


def _storage(objects: Sequence[Object], settings: Settings) -> None:
    default_class(objects)
    base_directories(objects, settings.storage)
    owners_of_volumes(objects, (claim for part in settings.release.components.values() for claim in part.claims))


def _teams(objects: list[Object], settings: Settings) -> None:
    add_teams(objects, settings.profiles)
    namespaces = [item.name for item in settings.profiles]
    add_logins(objects, namespaces, settings.credentials)
    add_pod_defaults(objects, namespaces, settings.notebooks)


def _first_namespace(objects: list[Object], settings: Settings) -> None:
    add_logins(objects, [settings.user.namespace], settings.credentials)
    add_pod_defaults(objects, [settings.user.namespace], settings.notebooks)


def _connectors(objects: list[Object], settings: Settings) -> None:
    add_connectors(objects, settings.connectors, settings.access, settings.component(DEX).version)


def _volcano_replicas(objects: list[Object], settings: Settings) -> None:
    replicate_volcano(objects, settings.availability.volcano)


def _with_account(put: Callable[[list[Object], Account], None]) -> _Patch:
    """A patch with the account; with placeholders before the first roll-out."""

    def patch(objects: list[Object], settings: Settings) -> None:
        put(objects, settings.account or placeholder_account(settings.user, settings.users))

    return patch


def _issuer(objects: list[Object], settings: Settings) -> None:
    follow_issuer(objects, settings.connectors, settings.access)


def _of_access(put: Callable[[list[Object], AccessSettings], None]) -> _Patch:
    return lambda objects, settings: put(objects, settings.access)


_PATCHES: dict[str, tuple[_Patch, ...]] = {
    COMPONENT: (_own_operator, _gang, _memory, _operator_replicas),
    "trainer": (_runtimes,),
    "volcano": (_scheduling, _queues_of_teams, _pod_webhooks, _volcano_replicas),
    "local-path": (_storage,),
    "dex": (_with_account(dex), _connectors),
    "oauth2-proxy": (_with_account(relying_party), _of_access(session_cookie), _issuer),
    "oidc-authservice": (_with_account(relying_party), _issuer),
    "user-namespace": (_with_account(first_profile), _first_namespace),
    "profiles": (_teams,),
    "istio": (_of_access(publish),),
    "istio-namespace": (_of_access(admit_traffic),),
    "kubeflow-istio-resources": (_of_access(serve),),
    "jupyter-web-app": (_of_access(application_cookies),),
    "models-web-app": (_of_access(application_cookies),),
    "tensorboards-web-app": (_of_access(application_cookies),),
    "volumes-web-app": (_of_access(application_cookies),),
}
