"""Writing to a volume as its consumer: a pod of the same identity creates, changes and removes a file and a directory.

On a directory that is in use nothing else is touched: each probe has names of its own that cannot be guessed, makes
them only where nothing has them, and removes them also when it is ended.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, replace

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.experiment.ended import End, watch_to_end
from kubeflow_volcano.experiment.pods import SCRIPT_RESOURCES, on_node, probe_pod
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.experiment.spaces import Level
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.probes.storage import claims
from kubeflow_volcano.validators.probes.storage.identities import Identity

OPERATIONS = (
    *("create", "chmod", "rename", "fsync", "delete"),
    *("mkdir", "chmod-directory", "rename-directory", "rmdir"),
)
"""What a consumer must be able to do, in this order."""

SCRIPT = """
set -u
d=/kfv f=/kfv/.kfv-probe-$KFV_NAME
say() { printf '%s\\n' "$*" >> /dev/termination-log; }
try() {
  step=$1; shift
  if text=$("$@" 2>&1); then say "ok $step"; else say "fail $step $text"; exit 1; fi
}
for name in "$f" "$f.new" "$f.d" "$f.d.new"; do
  if [ -e "$name" ] || [ -L "$name" ]; then say "taken $name"; exit 1; fi
done
trap 'rm -f "$f" "$f.new"; rmdir "$f.d" "$f.d.new" 2>/dev/null' EXIT
trap 'exit 143' TERM INT
say "id $(id -u) $(id -g) $(id -G)"
say "ls $(ls -ldn $d 2>&1)"
say "label $(ls -ldZ $d 2>/dev/null)"
try create sh -C -c 'printf kfv > "$1"' sh "$f"
try chmod chmod 0700 "$f"
try rename mv "$f" "$f.new"
try fsync dd if=/dev/zero "of=$f.new" bs=512 count=1 conv=fsync
try delete rm "$f.new"
try mkdir mkdir "$f.d"
try chmod-directory chmod 0700 "$f.d"
try rename-directory mv "$f.d" "$f.d.new"
try rmdir rmdir "$f.d.new"
"""
"""For busybox sh and any other; reports to the termination log, which needs no right to read logs.

With -C a redirection opens with O_EXCL. Process 1 of a container gets only signals that it has a trap for.
"""

_CAUSES = (
    ("ReadOnly", r"read-only file system"),
    ("Full", r"no space left|quota exceeded"),
    ("Permission", r"permission denied|operation not permitted"),
)
_BITS = {"r": 4, "w": 2, "x": 1, "s": 1, "t": 1}


@dataclass(frozen=True, slots=True)
class Target:
    """Where to write, and as whom. Either a new volume of `storage_class`, or the directory `path` on `node`."""

    identity: Identity
    consumers: tuple[Ref, ...]
    storage_class: str = ""
    access_mode: str = "ReadWriteOnce"
    volume: str = ""
    path: str = ""
    node: str = ""

    @property
    def existing(self) -> bool:
        """Whether the directory is one that is in use."""
        return bool(self.path)

    @property
    def level(self) -> Level:
        """Pod Security level that the probe needs."""
        return Level.PRIVILEGED if self.existing else self.identity.level

    def __str__(self) -> str:
        where = (
            f"{self.path} of volume {self.volume} on {self.node}" if self.existing else f"class {self.storage_class}"
        )
        return f"{self.identity} on {where}"


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one target. `cause` is empty when every operation came out.

    `cause` is Permission, ReadOnly, Full, Missing or Other when the volume is at fault, `failure` the reason and text
    when the probe could not be carried out at all. `mode` is octal, `listing` the line of `ls -ldn` of the mount.
    """

    target: Target
    failed_at: str = ""
    cause: str = ""
    text: str = ""
    failure: tuple[str, str] | None = None
    mode: str = ""
    uid: int | None = None
    gid: int | None = None
    listing: str = ""
    label: str = ""
    acted_as: str = ""


def write(session: Session, target: Target, number: int, facts: Facts) -> Written:
    """Try everything that a consumer does; `number` makes the names unique within the run.

    Raises:
        ProbeRefused: the probe is not admitted.
        ApiError: the server does not answer.
    """
    namespace, name = session.namespace(target.level), f"kfv-{session.run}-write-{number}"
    made = None
    if not target.existing:
        made = claims.claim(session, namespace, name, target.storage_class, (target.access_mode,))
    pod = session.create(_pod(session, namespace, name, target))
    timing = facts.timing
    end = watch_to_end(session, pod, timing.pod_seconds if target.existing else timing.volume_seconds)
    if made and end.failure:
        end = replace(end, failure=claims.because_of(session, facts, made, end.failure))
    session.delete(pod)
    if made:
        claims.release(session, made)
    return account(target, end)


def _pod(session: Session, namespace: str, name: str, target: Target) -> Object:
    source = (
        {"hostPath": {"path": target.path, "type": "Directory"}}
        if target.existing
        else {"persistentVolumeClaim": {"claimName": name}}
    )
    spec: dict[str, object] = {"volumes": [{"name": "data", **source}]}
    if target.existing:
        spec |= on_node(target.node)  # no other node has this directory
    container = {
        "image": session.options.busybox_image,
        "resources": SCRIPT_RESOURCES,
        "command": ["sh", "-c", SCRIPT],
        "env": [{"name": "KFV_NAME", "value": f"{session.run}-{secrets.token_hex(8)}"}],
        "securityContext": target.identity.container_security,
        "volumeMounts": [{"name": "data", "mountPath": "/kfv"}],
    }
    return probe_pod(name, namespace, container, spec=spec, security=target.identity.pod_security)


def account(target: Target, end: End) -> Written:
    """What the script's report and the end of its pod say about the target."""
    facts: dict[str, str] = {}
    done: list[str] = []
    failed_at, text = "", ""
    for line in end.said.splitlines():
        word, _, rest = line.partition(" ")
        if word == "ok":
            done.append(rest)
        elif word == "fail":
            failed_at, _, text = rest.partition(" ")
        elif word in {"id", "ls", "label"}:
            facts[word] = rest
        elif failed_at:
            text += f" {line}"
    mode, uid, gid = listed(facts.get("ls", ""))
    complete = tuple(done) == OPERATIONS
    failure = None
    cause = _cause(text) if failed_at else ""
    if end.reason == "FailedMount":
        cause, failed_at, text = "Missing", "mount", end.failure
    elif not complete and not failed_at:
        failure = (
            end.reason or "Unfinished",
            end.failure or f"the probe ended after {done[-1] if done else 'nothing'}",
        )
    return Written(
        target,
        failed_at,
        cause,
        text,
        failure,
        mode,
        uid,
        gid,
        facts.get("ls", ""),
        label_in(facts.get("label", "")),
        facts.get("id", ""),
    )


def label_in(line: str) -> str:
    """SELinux label in a line of `ls -ldZ`; empty where there is none."""
    return next((word for word in line.split() if word.count(":") >= 3), "")  # noqa: PLR2004  user:role:type:level


def _cause(text: str) -> str:
    return next((name for name, words in _CAUSES if re.search(words, text, re.IGNORECASE)), "Other")


def listed(line: str) -> tuple[str, int | None, int | None]:
    """Octal mode, uid and gid of a line of `ls -ldn`."""
    match = re.match(r"[d-]([rwxsStT-]{9})\S*\s+\d+\s+(\d+)\s+(\d+)", line)
    if not match:
        return "", None, None
    bits = match[1]
    special = sum(value for index, value in ((2, 4), (5, 2), (8, 1)) if bits[index] in "sStT")
    digits = [sum(_BITS.get(bit, 0) for bit in bits[index : index + 3]) for index in (0, 3, 6)]
    return f"{special}{''.join(map(str, digits))}", int(match[2]), int(match[3])
