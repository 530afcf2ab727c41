"""Family P, part eight: clocks."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.hosts.facts import Host, HostFacts, Time
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity
from validators.hosts.each import Finding, bad, each, good, worse

__all__ = ["CHECKS"]

_WARNS, _FAILS = 5.0, 60.0


@check("P17", "clock-skew", severity=Severity.BLOCKER)
def clock_skew(facts: Facts) -> Outcome:
    """The clock of every host agrees with that of the machine that runs Ansible.

    More than 5 s warn and more than 60 s fail: certificates are "not yet valid", and leases end too early. What the
    question took on its way is not held against the host. Where all hosts are wrong alike, look at this machine first.
    """
    return each(facts, _skew, expected="within 5 s", holds="every clock agrees within 5 s")


def _skew(host: Host, facts: HostFacts) -> Iterator[Finding]:
    """How far off the clock is at least: it was read at some moment between question and answer."""
    found: Time = facts.need("time")
    least, most = found.epoch - host.received, found.epoch - host.sent
    off = max(least, -most, 0.0)
    direction = "ahead" if least > 0 else "behind"
    detail = f"{off:.0f} s {direction}"
    todo = "start chronyd (`systemctl enable --now chronyd`) and see `chronyc tracking`."
    if off > _FAILS:
        yield bad("ClockWrong", "the clock is more than 60 s off", detail=detail, todo=todo)
    elif off > _WARNS:
        yield worse("ClockOff", "the clock is more than 5 s off", detail=detail, todo=todo)
    else:
        yield good("the clock agrees", f"within {max(abs(least), abs(most)):.1f} s")


@check("P18", "clock-kept", severity=Severity.MINOR)
def clock_kept(facts: Facts) -> Outcome:
    """Something keeps the clock of every host right.

    Clocks of virtual machines drift by seconds a day. chrony is part of openEuler: install it and name a server that
    the host can reach.
    """
    return each(
        facts,
        lambda _, found: _kept(found),
        expected="chronyd, ntpd or systemd-timesyncd, synchronised",
        holds="every clock is kept",
    )


def _kept(facts: HostFacts) -> Iterator[Finding]:
    found: Time = facts.need("time")
    if found.synchronised:
        yield good(f"kept by {found.service or 'the machine below'}")
    elif found.service:
        yield worse("NotSynchronised", f"{found.service} runs, and is not synchronised", todo="see `chronyc sources`.")
    else:
        todo = "install and start chrony (`dnf install chrony`, `systemctl enable --now chronyd`)."
        yield worse("NotKept", "nothing keeps the clock", todo=todo)


CHECKS = (clock_skew, clock_kept)
