"""A round trip through the default class: claim, bind, write, read elsewhere, give back, see the volume go."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.ended import End, watch_to_end
from kubeflow_volcano.experiment.pods import SCRIPT_RESOURCES, probe_pod
from kubeflow_volcano.experiment.remains import Tracked, wait_gone
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.probes.storage import claims
from kubeflow_volcano.validators.probes.storage.directories import Unlisted, unlisted

_MEBIBYTE = 1 << 20
_USER = 65532
_WRITE = """
set -eu
yes "$KFV_TEXT" | head -c 1048576 | dd of=/kfv/data bs=65536 conv=fsync 2>/dev/termination-log
sha256sum < /kfv/data > /dev/termination-log
"""
_READ = "sha256sum < /kfv/data > /dev/termination-log 2>&1"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: whether it came out, after how many seconds, and otherwise why not."""

    name: str
    done: bool
    seconds: float
    reason: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Evidence of D5; ends with the first stage that failed. `unsafe` says why there was none at all."""

    storage_class: str
    stages: tuple[Stage, ...] = ()
    node: str = ""
    unlisted: Unlisted | None = None
    unsafe: str = ""


def run_round_trip(session: Session, facts: Facts, default_class: str) -> RoundTrip:
    """Make the round trip as an ordinary user with fsGroup, in the restricted namespace.

    Raises:
        ProbeRefused: a probe object is not admitted.
        ApiError: the server does not answer.
    """
    if reason := claims.unsafe(default_class, facts):
        return RoundTrip(default_class, unsafe=reason)
    namespace, name = session.namespace(), f"kfv-{session.run}-round-trip"
    stages: list[Stage] = []
    # No class is named: that the server fills in the default one is part of what is tried.
    made = claims.claim(session, namespace, name, "", ("ReadWriteOnce",))
    given = made["spec"].get("storageClassName", "")
    if given != default_class:
        text = f"the server gave the claim class {given or 'none'}, not {default_class}"
        stages.append(Stage("claim", done=False, seconds=0, reason="NoDefault", text=text))
        session.delete(made)
        return RoundTrip(default_class, tuple(stages))
    writer = _pod(session, namespace, f"{name}-writer", name, _WRITE)
    end = watch_to_end(session, writer, facts.timing.volume_seconds)
    stages.append(_ran("write", session, facts, end, made))
    if stages[-1].done:
        session.delete(writer)
        reader = _pod(session, namespace, f"{name}-reader", name, _READ)
        end = watch_to_end(session, reader, facts.timing.pod_seconds)
        stages.append(_ran("read", session, facts, end, made))
        session.delete(reader)
    volume = claims.release(session, made)
    if stages[-1].done and volume:
        stages.append(_removed(session, volume, facts.timing.volume_seconds))
    without_path = None if stages[-1].done else unlisted(session, facts, stages[-1].text)
    return RoundTrip(given, tuple(stages), end.node, without_path)


def _pod(session: Session, namespace: str, name: str, claim: str, script: str) -> Object:
    text = _text(session)
    container = {
        "image": session.options.busybox_image,
        "resources": SCRIPT_RESOURCES,
        "command": ["sh", "-c", script],
        "env": [{"name": "KFV_TEXT", "value": text}],
        "volumeMounts": [{"name": "data", "mountPath": "/kfv"}],
    }
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    security = {
        "runAsNonRoot": True,
        "runAsUser": _USER,
        "fsGroup": _USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    return session.create(probe_pod(name, namespace, container, spec={"volumes": volumes}, security=security))


def _text(session: Session) -> str:
    return f"kfv-{session.run}"


def _digest(text: str) -> str:
    """What `sha256sum` must say about the mebibyte that the writer makes of the text."""
    line = f"{text}\n".encode()
    return hashlib.sha256((line * (_MEBIBYTE // len(line) + 1))[:_MEBIBYTE]).hexdigest()


def _ran(name: str, session: Session, facts: Facts, end: End, made: Object) -> Stage:
    if end.failure:
        text = claims.because_of(session, facts, made, end.failure)
        return Stage(name, done=False, seconds=end.seconds, reason=end.reason, text=text)
    if not end.succeeded:
        return Stage(name, done=False, seconds=end.seconds, reason="ScriptFailed", text=end.said.strip())
    digest, expected = end.said.split()[0], _digest(_text(session))
    if digest != expected:
        text = f"sha256 {digest} was read, {expected} was written"
        return Stage(name, done=False, seconds=end.seconds, reason="OtherBytes", text=text)
    return Stage(name, done=True, seconds=end.seconds)


def _removed(session: Session, volume: Object, seconds: float) -> Stage:
    started = time.monotonic()
    item = Tracked.of(volume)
    left = wait_gone(session.cluster, [item], Deadline(seconds))
    if not left:
        session.gone(item.uid)
    seconds = time.monotonic() - started
    if left:
        return Stage("remove", done=False, seconds=seconds, reason="NotRemoved", text=f"{item.ref} {left[0].why}")
    return Stage("remove", done=True, seconds=seconds)
