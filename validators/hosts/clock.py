"""Clocks: their skew, and the service that keeps them synchronized."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.hosts.facts import Host, HostFacts, Time
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity
from kubeflow_volcano.validators.hosts.judging import Finding, failing, judge_hosts, passing, warning

_WARNS_SECONDS, _FAILS_SECONDS = 5.0, 60.0


@check("P17", "clock-skew", severity=Severity.BLOCKER)
def clock_skew(facts: Facts) -> Outcome:
    """Every host's clock agrees with the clock of the Ansible controller.

    More than 5 s warn and more than 60 s fail: certificates are "not yet valid", and leases end too early. The time
    that Ansible's request took does not count. If all hosts differ alike, check the controller's clock first.
    """
    return judge_hosts(facts, _skew, expected="within 5 s", holds="every clock agrees within 5 s")


def _skew(host: Host, facts: HostFacts) -> Iterator[Finding]:
    """The least possible skew: the clock was read at some moment between request and answer."""
    clock: Time = facts.need("time")
    least, most = clock.epoch - host.received, clock.epoch - host.sent
    seconds = max(least, -most, 0.0)
    detail = f"{seconds:.0f} s {'ahead' if least > 0 else 'behind'}"
    todo = "start chronyd (`systemctl enable --now chronyd`), and check `chronyc tracking`."
    if seconds > _FAILS_SECONDS:
        yield failing("ClockWrong", "the clock is more than 60 s off", detail=detail, todo=todo)
    elif seconds > _WARNS_SECONDS:
        yield warning("ClockOff", "the clock is more than 5 s off", detail=detail, todo=todo)
    else:
        yield passing("the clock agrees", f"within {max(abs(least), abs(most)):.1f} s")


@check("P18", "clock-kept", severity=Severity.MINOR)
def clock_kept(facts: Facts) -> Outcome:
    """A time service keeps every host's clock synchronized.

    Clocks of virtual machines drift by seconds a day. chrony is part of openEuler: install it, and configure a server
    that the host can reach.
    """
    return judge_hosts(
        facts,
        lambda _, found: _synchronized(found),
        expected="chronyd, ntpd or systemd-timesyncd, synchronized",
        holds="every clock is synchronized",
    )


def _synchronized(facts: HostFacts) -> Iterator[Finding]:
    clock: Time = facts.need("time")
    if clock.synchronised:
        yield passing(f"synchronized by {clock.service or 'the hypervisor'}")
    elif clock.service:
        text = f"{clock.service} is running but not synchronized"
        yield warning("NotSynchronised", text, todo="check `chronyc sources`.")
    else:
        todo = "install and start chrony (`dnf install chrony`, `systemctl enable --now chronyd`)."
        yield warning("NotKept", "no time service is running", todo=todo)
