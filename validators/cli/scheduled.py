"""A validation that the cluster runs on a schedule: a CronJob, its ServiceAccount, and the least rights for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.cli import rbac
from kubeflow_volcano.validators.run.options import Options

NAMESPACE = APPLIED_OBJECTS.namespace
NAME = "validation"
"""Of the CronJob and its ServiceAccount."""
ROLES = "kubeflow-volcano-validation"
"""Of its roles and bindings: others than those that `rbac` prints, which people bind to accounts of their own."""

_LABELS = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": "kubeflow-volcano"}
_DIRECTORY = "/reports"
_ENTRIES, _CATALOG = "validation-catalog", "/catalog"
_MOST_BYTES = 1 << 19
"""Half of what a ConfigMap holds: server-side apply keeps the names of its fields beside them."""
_NO_ENTRIES: Mapping[str, str] = MappingProxyType({})
_USER = 65532
_READING_SECONDS, _PROBING_SECONDS = 900, 3600
"""After which a run is ended: reading takes seconds to minutes, probes wait for images and schedulers."""
_LATE_SECONDS = 600


def arguments_of(options: Options) -> tuple[str, ...]:
    """The arguments of `validate` that result in these options, as far as a scheduled run may have them.

    Nothing secret is among them, and no file of the machine that rolls out.
    """
    return tuple(_arguments(options))


def _arguments(options: Options) -> Iterator[str]:
    texts = {
        "release": options.release,
        "storage-mode": options.storage_mode,
        "gang-scheduler": options.gang_scheduler,
        "volcano-version": options.volcano_version,
        "volcano-scheduler": options.volcano_scheduler,
        "scheduler-plugins-version": options.scheduler_plugins_version,
        "training-operator-version": options.training_operator_version,
        "local-path-version": options.local_path_version,
        "operator-version": options.operator_version,
        "user-email": options.user_email,
        "user-namespace": options.user_namespace,
        "probe-namespace": options.probe_namespace,
        "language": options.language,
    }
    if not options.read_only:
        texts |= {"pause-image": options.pause_image, "busybox-image": options.busybox_image}
    if isinstance(options.profile, str):
        texts["profile"] = options.profile
        lists = {"include": options.include, "exclude": options.exclude}
    else:
        lists = {"component": options.profile}
    lists |= {"existing": options.existing, "extra-plugin": options.extra_plugins, "select": options.select}
    flags = {
        "published-password": options.published_password,
        "read-only": options.read_only,
        "strict": options.strict,
    }
    yield from (f"--{name}={text}" for name, text in texts.items() if text)
    yield from (f"--{name}={','.join(words)}" for name, words in lists.items() if words)
    yield from (f"--waive={check}={reason}" for check, reason in options.waive.items())
    yield from (f"--ignore-namespace={name}" for name in options.ignore_namespaces)
    yield from (f"--{name}" for name, chosen in flags.items() if chosen)
    yield f"--report-dir={options.report_dir}"


def objects(
    options: Options, schedule: str, image: str, entries: Mapping[str, str] = _NO_ENTRIES
) -> tuple[Object, ...]:
    """ServiceAccount, roles, bindings and CronJob; `options` name a release and a gang scheduler.

    The rights are those that `rbac` prints for the same options. A ConfigMap has the user's `entries` of the catalog,
    texts by path.

    Raises:
        InvalidInput: the options contradict each other, or the entries do not fit into a ConfigMap.
    """
    size = sum(len(text.encode()) for text in entries.values())
    if size > _MOST_BYTES:
        raise InvalidInput.problem(
            f"validation_schedule with {size} bytes of entries in catalog_directory.",
            f"at most {_MOST_BYTES} bytes, which fit into the ConfigMap that the scheduled run reads them from.",
            "leave only the entries there that this inventory uses, or remove validation_schedule.",
        )
    meta = {"name": NAME, "namespace": NAMESPACE, "labels": _LABELS}
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": dict(meta),
        "automountServiceAccountToken": False,
    }
    rules = rbac.rules_of(options)
    roles = rbac.manifests(rules, NAMESPACE, NAME, role=ROLES)
    return account, *roles, *_config_map(entries), _cron_job(options, schedule, image, entries)


def _config_map(entries: Mapping[str, str]) -> Iterator[Object]:
    if entries:
        yield {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": _ENTRIES, "namespace": NAMESPACE, "labels": _LABELS},
            "data": {_key(path): text for path, text in entries.items()},
        }


def _key(path: str) -> str:
    """The key of an entry in the ConfigMap; its volume has the path again."""
    return path.replace("/", ".")


def _cron_job(options: Options, schedule: str, image: str, entries: Mapping[str, str]) -> Object:
    job = {
        "backoffLimit": 0,  # a verdict does not change by repetition within minutes
        "activeDeadlineSeconds": _READING_SECONDS if options.read_only else _PROBING_SECONDS,
        "template": {"metadata": {"labels": _LABELS}, "spec": _pod(options, image, [*entries])},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": _LABELS},
        "spec": {
            "schedule": schedule,
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": _LATE_SECONDS,
            "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 3,
            "jobTemplate": {"metadata": {"labels": _LABELS}, "spec": job},
        },
    }


def _pod(options: Options, image: str, entries: Sequence[str]) -> Object:
    """A pod at the level `restricted` of Pod Security, which writes to one directory only."""
    container: Object = {
        "name": NAME,
        "image": image,
        "command": ["kubeflow-volcano", "validate", "--quiet"],
        "args": [*arguments_of(options)],
        "workingDir": _DIRECTORY,
        # A user without an entry in /etc/passwd has no home directory otherwise.
        "env": [{"name": name, "value": _DIRECTORY} for name in ("HOME", "TMPDIR")],
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": "reports", "mountPath": _DIRECTORY}],
    }
    volumes: list[Object] = [{"name": "reports", "emptyDir": {"sizeLimit": "256Mi"}}]
    if entries:
        items = [{"key": _key(path), "path": path} for path in entries]
        volumes.append({"name": "catalog", "configMap": {"name": _ENTRIES, "items": items}})
        container["volumeMounts"].append({"name": "catalog", "mountPath": _CATALOG, "readOnly": True})
        container["args"].append(f"--catalog={_CATALOG}")
    return {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": volumes,
    }
