"""Family P, part three: kernel settings, now and after the next boot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kubeflow_volcano.hosts.facts import CannotLookError, HostFacts, Sysctl
from kubeflow_volcano.hosts.kernel import OWN_FILE, SYSCTLS, Setting
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity
from validators.hosts.each import Finding, bad, each, good, worse

__all__ = ["CHECKS"]

_INOTIFY = "fs.inotify."
_NEARLY_ALL = 0.8
_TODO = "set preflight_repair: true, or write the value to a file of /etc/sysctl.d that comes last, and set it now."


@check("P7", "kernel-settings", severity=Severity.BLOCKER)
def kernel_settings(facts: Facts) -> Outcome:
    """Every kernel setting that pods and their network need has its value now.

    net.ipv4.ip_forward must be 1, and net.bridge.bridge-nf-call-iptables where there is a bridge. With
    protectKernelDefaults the kubelet refuses to start unless six more have the values that it would set itself.
    """
    return each(
        facts,
        lambda _, found: _now(found, [item for item in SYSCTLS if not item.name.startswith(_INOTIFY)]),
        expected="net.ipv4.ip_forward = 1, net.bridge.bridge-nf-call-iptables = 1",
        holds="every kernel setting is as needed",
    )


@check("P8", "inotify-limits", severity=Severity.BLOCKER)
def inotify_limits(facts: Facts) -> Outcome:
    """The limits of inotify leave room for kubelet, shims and the pods of Kubeflow.

    They count per user, so that the containers of root share them with the kubelet; an empty node passes by and fails
    later with "too many open files" (kubeflow/manifests#2087). Below 512 instances it fails, below 1280 it warns.
    """
    wanted = [item for item in SYSCTLS if item.name.startswith(_INOTIFY)]
    return each(
        facts,
        lambda _, found: [*_now(found, wanted), *_used(found)],
        expected="fs.inotify.max_user_instances of 1280 and max_user_watches of 655360, at least",
        holds="the limits of inotify are high enough",
    )


@check("P9", "kernel-settings-kept", severity=Severity.MAJOR)
def kernel_settings_kept(facts: Facts) -> Outcome:
    """No file gives a needed kernel setting another value at the next boot, or when somebody reloads them.

    At boot the last file by name wins; `sysctl --system` reads /etc/sysctl.conf last, and that of openEuler turns
    ip_forward off: a later call takes a live cluster off the network. Remove the contradicting line.
    """
    return each(
        facts,
        lambda _, found: _kept(found),
        expected="every needed value is written to a file, and no later one takes it back",
        holds="every needed kernel setting is kept",
    )


def _asked_for(facts: HostFacts, settings: Iterable[Setting]) -> Iterator[tuple[Setting, Sysctl]]:
    """The settings that matter on this host; a bridge's where there is one, the kubelet's where it may not set them."""
    found: Mapping[str, Sysctl] = facts.need("sysctls")
    protected = bool(facts.kubelet and facts.kubelet.protect_kernel_defaults)
    for setting in settings:
        if setting.name not in found:
            raise CannotLookError(f"sysctls: nobody asked for {setting.name}")
        value = found[setting.name]
        if (not setting.only_protected or protected) and (value.live or not setting.name.startswith("net.bridge.")):
            yield setting, value


def _now(facts: HostFacts, settings: Iterable[Setting]) -> Iterator[Finding]:
    for setting, value in _asked_for(facts, settings):
        if setting.good(value.live):
            yield good(f"{setting.name} = {value.live}")
            continue
        least = max(setting.least, setting.better)
        text = f"{setting.name} is {value.live or 'not there'}, not {least}{'' if setting.exact else ' or more'}"
        fatal = setting.fatal and not setting.holds(value.live)
        yield (bad if fatal else worse)(
            "SettingWrong",
            f"{text} ({setting.why})",
            todo=_TODO,
            commands=(f"sysctl -w {setting.name}={setting.value}",),
            repairs=_repair(setting),
        )


def _used(facts: HostFacts) -> Iterator[Finding]:
    """How near to the limit the busiest user is."""
    limit = facts.need("sysctls")["fs.inotify.max_user_instances"].live
    used = facts.need("inotify").used
    most = max(used, key=lambda uid: int(used[uid]), default="")
    if limit.isdecimal() and most and used[most] >= _NEARLY_ALL * int(limit):
        yield worse(
            "NearlyUsedUp",
            "more than 80 % of fs.inotify.max_user_instances are in use",
            detail=f"{used[most]} of {limit} by uid {most}",
            todo="raise the limit; what is in use grows with every pod.",
        )


def _kept(facts: HostFacts) -> Iterator[Finding]:
    for setting, value in _asked_for(facts, SYSCTLS):
        if setting.only_protected:
            continue
        for written, when in ((value.boot, "at the next boot"), (value.by_hand, "when sysctl --system is called")):
            if written.value and not setting.holds(written.value):
                yield worse(
                    "TakenBack",
                    f"{written.file} sets {setting.name} to {written.value} {when}",
                    todo="set preflight_repair: true, or remove that line.",
                    commands=(
                        f"grep -rn {setting.name} /etc/sysctl.conf /etc/sysctl.d /run/sysctl.d /usr/lib/sysctl.d",
                    ),
                    repairs=_repair(setting) if _can_be_outdone(written.file) else (),
                )
                break
        else:
            if setting.good(value.live) and not value.boot.value and setting.least:
                yield good(f"{setting.name} is written to no file; what set it must set it again")


def _can_be_outdone(path: str) -> bool:
    """Whether the file comes before that of a repair, or is the one whose lines a repair comments."""
    return path == "/etc/sysctl.conf" or path.rpartition("/")[2] < OWN_FILE


def _repair(setting: Setting) -> tuple[Mapping[str, str], ...]:
    return ({"kind": "sysctl", "name": setting.name, "value": setting.value},)


CHECKS = (kernel_settings, inotify_limits, kernel_settings_kept)
