"""The kernel: modules and settings (sysctl), now and after the next boot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kubeflow_volcano.hosts.facts import CannotLookError, HostFacts, Modules, Sysctl
from kubeflow_volcano.hosts.kernel import BRIDGE, OWN_FILE, SYSCTLS, Setting
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity
from kubeflow_volcano.validators.hosts.judging import Finding, failing, judge_hosts, passing, unjudged, warning

_INOTIFY = "fs.inotify."
_NEARLY_ALL = 0.8
_INSTALL_MODULES = "install the kernel's modules (dnf install kernel-modules-extra), or a kernel that has them."
_SET = "set preflight_repair: true, or write the value to the last file in /etc/sysctl.d, and apply it now."
_OWN_MODULES = "/etc/modules-load.d/kubernetes.conf"
_FILES = "/etc/sysctl.conf /etc/sysctl.d /run/sysctl.d /usr/lib/sysctl.d"


@check("P6", "kernel-modules", severity=Severity.BLOCKER)
def kernel_modules(facts: Facts) -> Outcome:
    """Kernel modules for containers, network and Istio are loaded, also after a reboot.

    Pods cannot always load modules themselves: istio-init then ends with "can't initialize iptables table". Files in
    /etc/modules-load.d name the modules to load at each boot; modprobe loads them now.
    """
    return judge_hosts(
        facts,
        lambda _, found: _modules(found),
        expected="loaded or built in, and loaded again at boot",
        holds="every module is loaded",
    )


def _modules(facts: HostFacts) -> Iterator[Finding]:
    modules: Modules = facts.need("modules")
    by_state: dict[str, list[str]] = {}
    for name, state in modules.states.items():
        stays = state != "loaded" or name.replace("-", "_") in modules.at_boot
        by_state.setdefault(state if stays else "until-boot", []).append(name)
    if unknown := ", ".join(by_state.get("unknown", [])):
        if modules.directory:
            yield unjudged(f"modules.dep does not list {unknown}")
        else:
            text = f"the files of the running kernel are missing, so the state of {unknown} is unknown"
            yield warning("KernelFilesGone", text, todo="reboot into the installed kernel.")
    for name in by_state.get("absent", []):
        absent = warning if name == BRIDGE else failing
        yield absent("ModuleAbsent", f"the kernel has no module {name}", todo=_INSTALL_MODULES)
    if forbidden := by_state.get("forbidden"):
        yield failing(
            "ModuleForbidden",
            f"the host forbids loading {', '.join(forbidden)}",
            todo="remove the line `install … /bin/false` from /etc/modprobe.d, or unset kernel.modules_disabled.",
        )
    idle = by_state.get("loadable", [])
    both = [*idle, *by_state.get("until-boot", [])]
    if both:
        later = [name for name in both if name.replace("-", "_") not in modules.at_boot]
        texts = [f"not loaded: {', '.join(idle)}"] if idle else []
        texts += [f"not loaded at boot: {', '.join(later)}"] if later else []
        yield warning(
            "NotAtBoot" if later else "NotLoaded",
            "; ".join(texts),
            todo="set preflight_repair: true, or name them in /etc/modules-load.d and load them now.",
            changes=(
                *([f"printf '%s\\n' {' '.join(later)} >>{_OWN_MODULES}"] if later else []),
                *([f"modprobe -a {' '.join(idle)}"] if idle else []),
            ),
            repairs=tuple({"kind": "module", "name": name} for name in both),
        )
    if ready := sorted(by_state.get("loaded", []) + by_state.get("builtin", [])):
        yield passing(f"ready: {', '.join(ready)}")


@check("P7", "kernel-settings", severity=Severity.BLOCKER)
def kernel_settings(facts: Facts) -> Outcome:
    """Kernel settings for pods and their network have the required values.

    net.ipv4.ip_forward must be 1, and so must net.bridge.bridge-nf-call-iptables on hosts with a bridge. With
    protectKernelDefaults the kubelet refuses to start unless six more have the values that it would set itself.
    """
    return judge_hosts(
        facts,
        lambda _, found: _values(found, [item for item in SYSCTLS if not item.name.startswith(_INOTIFY)]),
        expected="net.ipv4.ip_forward = 1, net.bridge.bridge-nf-call-iptables = 1",
        holds="every kernel setting has the required value",
    )


@check("P8", "inotify-limits", severity=Severity.BLOCKER)
def inotify_limits(facts: Facts) -> Outcome:
    """Inotify limits are high enough for kubelet, containerd shims and Kubeflow's pods.

    They count per user, so containers of root share them with the kubelet; an empty node works and fails later with
    "too many open files" (kubeflow/manifests#2087). Below 512 instances this fails, below 1280 it warns.
    """
    limits = [item for item in SYSCTLS if item.name.startswith(_INOTIFY)]
    return judge_hosts(
        facts,
        lambda _, found: [*_values(found, limits), *_inotify_use(found)],
        expected="fs.inotify.max_user_instances of 1280 and max_user_watches of 655360, at least",
        holds="the inotify limits are high enough",
    )


@check("P9", "kernel-settings-kept", severity=Severity.MAJOR)
def kernel_settings_kept(facts: Facts) -> Outcome:
    """No sysctl file reverts a required kernel setting at boot or on reload.

    At boot the last file by name wins; `sysctl --system` reads /etc/sysctl.conf last, and that of openEuler turns
    ip_forward off: a later call cuts a live cluster off the network. Remove the contradicting line.
    """
    return judge_hosts(
        facts,
        lambda _, found: _files(found),
        expected="a file sets every required value, and no later file reverts it",
        holds="every required kernel setting persists",
    )


def _relevant(
    facts: HostFacts, settings: Iterable[Setting], *, bridged: bool = False
) -> Iterator[tuple[Setting, Sysctl]]:
    """The settings that matter on this host: bridge settings with a bridge, others if the kubelet may not set them.

    `bridged`: also bridge settings that the kernel gets with its module.
    """
    sysctls: Mapping[str, Sysctl] = facts.need("sysctls")
    protected = bool(facts.kubelet and facts.kubelet.protect_kernel_defaults)
    for setting in settings:
        if setting.name not in sysctls:
            raise CannotLookError(f"sysctls: {setting.name} was not read")
        value = sysctls[setting.name]
        there = bool(value.live) or bridged or not setting.name.startswith("net.bridge.")
        if there and (protected or not setting.only_protected):
            yield setting, value


def _values(facts: HostFacts, settings: Iterable[Setting]) -> Iterator[Finding]:
    for setting, value in _relevant(facts, settings):
        if setting.good(value.live):
            yield passing(f"{setting.name} = {value.live}")
            continue
        least = max(setting.least, setting.better)
        text = f"{setting.name} is {value.live or 'missing'}, not {least}{'' if setting.exact else ' or more'}"
        fatal = setting.fatal and not setting.holds(value.live)
        yield (failing if fatal else warning)(
            "SettingWrong",
            f"{text} ({setting.why})",
            todo=_SET,
            changes=(f"sysctl -w {setting.name}={setting.value}",),
            repairs=_repair(setting),
        )


def _inotify_use(facts: HostFacts) -> Iterator[Finding]:
    """The user with the most inotify instances is near the limit."""
    limit = facts.need("sysctls")["fs.inotify.max_user_instances"].live
    used = facts.need("inotify").used
    most = max(used, key=lambda uid: int(used[uid]), default="")
    if limit.isdecimal() and most and used[most] >= _NEARLY_ALL * int(limit):
        yield warning(
            "NearlyUsedUp",
            "more than 80 % of fs.inotify.max_user_instances are in use",
            detail=f"{used[most]} of {limit} by uid {most}",
            todo="raise the limit: every pod uses more.",
        )


def _files(facts: HostFacts) -> Iterator[Finding]:
    bridged = facts.modules is not None and facts.modules.states.get(BRIDGE) == "loadable"
    for setting, value in _relevant(facts, SYSCTLS, bridged=bridged):
        if setting.only_protected:
            continue
        for written, when in ((value.boot, "at the next boot"), (value.by_hand, "on `sysctl --system`")):
            if written.value and not setting.holds(written.value):
                yield warning(
                    "TakenBack",
                    f"{written.file} sets {setting.name} to {written.value} {when}",
                    todo="set preflight_repair: true, or remove that line.",
                    commands=(f"grep -rn {setting.name} {_FILES}",),
                    repairs=_repair(setting) if _is_repairable(written.file) else (),
                )
                break
        else:
            if setting.good(value.live) and not value.boot.value and setting.least:
                yield passing(f"no file sets {setting.name}; what set it must set it again after a boot")


def _is_repairable(path: str) -> bool:
    """Whether the repair's own file overrides this one, or the repair comments its lines out."""
    return path == "/etc/sysctl.conf" or path.rpartition("/")[2] < OWN_FILE


def _repair(setting: Setting) -> tuple[Mapping[str, str], ...]:
    return ({"kind": "sysctl", "name": setting.name, "value": setting.value},)
