"""What a person may choose about a validation, and what the cluster is expected to be by that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.gangs import GANG_SCHEDULERS, VOLCANO
from kubeflow_volcano.catalog.images.probes import BUSYBOX, PAUSE
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.credentials import NO_CREDENTIALS
from kubeflow_volcano.cluster.applied_objects import parse_document
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.volcano import scheduler_ref
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.core.expectations import GIVEN, SCHEDULER, Expectations, expect
from kubeflow_volcano.validators.core.volcano_home import with_volcano_at
from kubeflow_volcano.validators.language.catalog import ENGLISH
from kubeflow_volcano.validators.probes.network.credentials import Credentials, credentials
from kubeflow_volcano.validators.run.existing import without_absent
from kubeflow_volcano.validators.run.recognising import beside_operators, release_of
from kubeflow_volcano.validators.subjects.gang.operators import TRAINING
from kubeflow_volcano.validators.subjects.gang.recognition import recognise_gang

HINTS = {NO_CREDENTIALS: "Options are --kubeconfig and --context, variables kubeflow_kubeconfig and kubeflow_context."}
"""Which options help against a problem, by its reason."""

AUTO = "auto"
"""The release, or the gang scheduler, is read from the cluster."""

LONGEST_WINDOW = 300.0
"""Longest time in seconds for which pods are watched."""


@dataclass(frozen=True)
class Options:
    """What a person may choose. `profile` is a profile's name or a tuple of components; times are in seconds.

    `release` may be 'auto': that of the running operator of training jobs, where several have it the one that looks
    most like the images beside it; without an operator that of the images; else the newest for that server.
    `gang_scheduler` may be 'auto', too: the only one whose PodGroups are served, else the one that the training
    operator's arguments name, else Volcano; where components are listed and one of them is one, that.
    `storage_mode` is local_path, existing or static. `user_email` and `user_namespace` say who is to sign in first.
    """

    kubeconfig: Path | None = None
    context: str | None = None
    release: str = AUTO
    profile: str | tuple[str, ...] = "training"
    volcano_version: str = ""
    scheduler_plugins_version: str = ""
    training_operator_version: str = ""
    """Where it does not come from the release."""
    local_path_version: str = ""
    operator_version: str = ""
    gang_scheduler: str = AUTO
    volcano_scheduler: str = ""
    """Volcano's scheduler as 'namespace/name'; empty where it is as in Volcano's manifests, or found by its labels."""
    volcano_namespace: str = ""
    """Where to look for it; empty looks everywhere."""
    extra_plugins: tuple[str, ...] = ()
    """Plugins of Volcano's scheduler that a vendor added."""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    existing: tuple[str, ...] = ()
    """Components that others installed and keep."""
    storage_mode: str = "local_path"
    user_email: str = ""
    user_namespace: str = ""
    published_password: bool = False
    select: tuple[str, ...] = ()
    waive: Mapping[str, str] = field(default_factory=dict)
    ignore_namespaces: tuple[str, ...] = ()
    probe_namespace: str = ""
    pause_image: str = PAUSE
    busybox_image: str = BUSYBOX
    registry_logins: str = field(default="", repr=False)
    """A Docker configuration as text, with logins that probe pods need for their images. No report contains it."""
    read_only: bool = False
    strict: bool = False
    stability_seconds: float = 10.0
    report_dir: Path | None = Path("reports")
    baseline: Path | None = None
    """An earlier report to compare with; read before the new one takes its place."""
    expected: Path | None = None
    """The file objects.json of a plan: what the release is to hold."""
    expected_objects: Mapping[Ref, str] = field(default_factory=dict)
    """The same from a caller that has the manifests: component by object."""
    planned_images: Mapping[tuple[Ref, str], str] = field(default_factory=dict)
    """From such a caller: the planned image, by workload and container."""
    exec_in_pods: bool = False
    """Run `id` and `test -w` in the release's own pods."""
    network_per_node: bool = False
    """Try the network from a pod on every node."""
    acceptance: bool = False
    """Create the project's examples and see that they run."""
    example_images: Mapping[str, str] = field(default_factory=dict)
    """From a caller that knows the mirror: new names for their images."""
    notebook_images: tuple[str, ...] = ()
    """Likewise: the images that its inventory offers for notebooks, by the names that nodes pull."""
    login_as: str = ""
    """The e-mail address of a user who signs in at the gateway."""
    login_password_file: Path | None = None
    """The file with the password, if it is not in the environment."""
    login_password: str = field(default="", repr=False)
    """The password from a caller, if neither has it. No report contains it."""
    gateway_url: str = ""
    """Where the gateway is reached; empty goes through the API server."""
    rollout_problems: tuple[str, ...] = ()
    """What was found wrong by the roll-out that this validation follows; the report says so."""
    language: str = ENGLISH
    """Of everything that is written for people."""
    twice: bool = False
    """Make two whole passes; checks whose verdicts differ are flaky."""

    @property
    def asked(self) -> frozenset[str]:
        """Names of the options that are on or given; they enable opt-in checks."""
        return frozenset(name for name, value in self.shown.items() if value)

    @property
    def shown(self) -> dict[str, Any]:
        """What a report says of them; of the expected objects and images only their number."""
        plain = asdict(replace(self, expected_objects={}, planned_images={}, example_images={}))
        del plain["login_password"], plain["registry_logins"], plain["rollout_problems"]
        del plain["example_images"], plain["notebook_images"]
        plain |= {"expected_objects": len(self.expected_objects), "planned_images": len(self.planned_images)}
        return {key: str(value) if isinstance(value, Path) else value for key, value in plain.items()}


def validate_options(options: Options) -> None:
    """Refuse what cannot work, before anything is asked.

    Raises:
        InvalidInput: it cannot.
    """
    if not 1 <= options.stability_seconds <= LONGEST_WINDOW:
        raise InvalidInput.problem(
            f"a stability window of {options.stability_seconds} s.",
            f"1 to {LONGEST_WINDOW:.0f} s; shorter proves nothing.",
            "correct --stability-seconds.",
        )
    if options.release != AUTO:
        _expected(options, options.release)
    _objects(options)
    login_of(options)


def login_of(options: Options) -> Credentials | None:
    """The user that the probe signs in as; None if it does not sign in.

    Raises:
        InvalidInput: the password is not where it should be, or others may read it.
    """
    return credentials(options.login_as, options.login_password_file, options.gateway_url, known=options.login_password)


def _expected(options: Options, release: str) -> Expectations:
    gang = _asked_gang(options)
    expectations = expect(
        release,
        options.profile,
        volcano_version=options.volcano_version,
        scheduler_plugins_version=options.scheduler_plugins_version,
        training_operator_version=options.training_operator_version,
        local_path_version=options.local_path_version,
        operator_version=options.operator_version,
        gang_scheduler=VOLCANO.name if gang == AUTO else gang,
        storage_mode=options.storage_mode,
        included=options.include,
        excluded=options.exclude,
        existing=options.existing,
        extra_plugins=options.extra_plugins,
        ignored_namespaces=options.ignore_namespaces,
    )
    objects, objects_from = _objects(options)
    if options.volcano_scheduler:
        expectations = with_volcano_at(expectations, _scheduler(options.volcano_scheduler))
    return replace(
        expectations,
        gang_from="default; no cluster was asked" if gang == AUTO else GIVEN,
        objects=objects,
        objects_from=objects_from,
        images=options.planned_images or expectations.images,
        images_exact=bool(options.planned_images),
        user_email=options.user_email,
        user_namespace=options.user_namespace,
        published_password=options.published_password,
    )


def _objects(options: Options) -> tuple[Mapping[Ref, str], str]:
    """Component by object, as far as the caller knows them, and how he knows."""
    if options.expected_objects:
        return options.expected_objects, "the manifests of the inventory"
    if options.expected is None:
        return {}, ""
    try:
        return parse_document(read_json(options.expected.read_text(encoding="utf-8"))), str(options.expected)
    except (OSError, ValueError) as error:
        raise InvalidInput.problem(
            f"--expected {options.expected}: {error}.",
            "the file objects.json, which playbooks/plan.yml writes.",
            "make a plan, or leave --expected away.",
        ) from error


def expectations_of(options: Options, cluster: Cluster | None) -> tuple[Expectations, str]:
    """What is expected of the cluster, and how its release is known. Options set to 'auto' are read from the cluster.

    Raises:
        InvalidInput: the options make no sense.
    """
    expectations, release_from = _expectations(options, cluster)
    return expectations, "; ".join((release_from, *_own_entries(expectations)))


def _expectations(options: Options, cluster: Cluster | None) -> tuple[Expectations, str]:
    asked_gang = _asked_gang(options)
    if cluster is None:
        return _expected(options, options.release), GIVEN
    if VOLCANO.name in options.existing and asked_gang != AUTO:
        scheduler = options.volcano_scheduler or _volcano(cluster, options.volcano_namespace)
        options = replace(options, volcano_scheduler=scheduler)
    expectations, release_from = _recognised(options, asked_gang, cluster)
    return without_absent(expectations, cluster), release_from


def _own_entries(expectations: Expectations) -> Iterator[str]:
    """What entries of the user describe, for the report."""
    release = read.load_release(expectations.release)
    if release.entry:
        yield f"described by an entry of yours, {release.entry}"
    if VOLCANO.name in expectations.components and expectations.volcano_version:
        volcano = read.load_component(VOLCANO.name, expectations.volcano_version)
        if volcano.entry:
            yield f"Volcano {volcano.version} described by an entry of yours, {volcano.entry}"


def _recognised(options: Options, asked_gang: str, cluster: Cluster) -> tuple[Expectations, str]:
    if AUTO not in {options.release, asked_gang}:
        return _expected(options, options.release), GIVEN
    running = {Ref.of(item): item for item in beside_operators(cluster)}
    release, release_from = (options.release, GIVEN) if options.release != AUTO else release_of(cluster, running)
    if asked_gang != AUTO:
        return _expected(options, release), release_from
    gang, gang_from = recognise_gang(cluster, running.get(TRAINING.ref), options.operator_version)
    scheduler = options.volcano_scheduler or (_volcano(cluster, options.volcano_namespace) if gang is VOLCANO else "")
    expectations = _expected(replace(options, gang_scheduler=gang.name, volcano_scheduler=scheduler), release)
    return replace(expectations, gang_from=gang_from), release_from


def _volcano(cluster: Cluster, namespace: str) -> str:
    """The only Deployment that is Volcano's scheduler, as 'namespace/name'; empty if it is unknown."""
    ref = scheduler_ref(cluster, namespace)
    return f"{ref.namespace}/{ref.name}" if ref else ""


def _scheduler(text: str) -> Ref:
    namespace, mark, name = text.partition("/")
    if not (namespace and mark and name):
        raise InvalidInput.problem(
            f"--volcano-scheduler {text}.",
            "the namespace and the name of a Deployment, as volcano-system/volcano-scheduler.",
            "correct it, or leave it away: the scheduler is found by its labels.",
        )
    return SCHEDULER._replace(namespace=namespace, name=name)


def _asked_gang(options: Options) -> str:
    """The chosen gang scheduler, by name or as one of the components; AUTO if none is chosen."""
    listed = () if isinstance(options.profile, str) else options.profile
    named = [name for name in GANG_SCHEDULERS if name in listed]
    return named[0] if options.gang_scheduler == AUTO and len(named) == 1 else options.gang_scheduler
