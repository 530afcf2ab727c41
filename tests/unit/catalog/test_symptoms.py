"""The table of symptoms: each message is recognised as what it is, in the words of every program that writes it."""

from __future__ import annotations

import re
import time
from string import Formatter

import pytest

from kubeflow_volcano.catalog.data import versions
from kubeflow_volcano.catalog.images.limits import Meaning
from kubeflow_volcano.catalog.symptoms.read import recognise, symptoms

EVERY = symptoms()
LOOKING = (
    *(f"kubectl {verb} " for verb in ("get", "describe", "logs", "top", "api-resources", "auth can-i", "explain")),
    *("kubectl api-resources", "kubectl version", "systemctl status", "systemctl show", "systemctl is-active"),
    *("journalctl", "dmesg"),
    *("crictl info", "crictl images", "crictl ps", "crictl version", "containerd config dump", "containerd --version"),
    *("df ", "free ", "cat ", "ls ", "stat ", "tail", "grep ", "uname ", "getconf ", "sysctl -n ", "lsmod", "nft list"),
    *("getenforce", "ausearch ", "restorecon -nv ", "timedatectl", "chronyc tracking", "chage -l", "swapon --show"),
    *("firewall-cmd --list", "firewall-cmd --state", "iptables -V", "hostname", "etcdctl endpoint status"),
    *(
        "etcdctl alarm list",
        "etcdctl member list",
        "lsblk",
        "showmount -e ",
        "openssl s_client ",
        "openssl x509 -noout ",
        "ip ",
        "nvidia-smi",
        "npu-smi info",
        "ss ",
    ),
    *("conntrack -S", "ps ", "findmnt", "date", "curl -sI ", "ctr plugins ls", "docker version", "runc --version"),
)
"""What a command of a symptom may begin with: nothing of it changes anything."""


def test_ids_are_unique() -> None:
    assert len({item.id for item in EVERY}) == len(EVERY)


def test_the_example_of_each_is_recognised_wherever_it_is_seen() -> None:
    found = {(item.id, place): recognise(item.example, place) for item in EVERY for place in item.seen}
    assert {key: answer and answer.id for key, answer in found.items() if not answer or answer.id != key[0]} == {}


def test_texts_are_filled_whichever_pattern_is_found() -> None:
    """A placeholder has a group in each pattern, or a word for messages without it."""
    for symptom in EVERY:
        texts = (symptom.cause, symptom.todo, *symptom.commands)
        wanted = {name for text in texts for _, name, _, _ in Formatter().parse(text) if name}
        for pattern in symptom.patterns:
            assert wanted <= {*re.compile(pattern).groupindex, *symptom.unsaid}, (symptom.id, pattern)
        for place in symptom.seen:
            found = recognise(symptom.example, place)
            assert found, (symptom.id, place)
            filled = " ".join((found.cause, found.todo, *found.commands))
            assert [name for name in wanted if f"{{{name}}}" in filled] == [], (symptom.id, place)


def test_commands_only_look() -> None:
    commands = [(item.id, command) for item in EVERY for command in item.commands]
    for id_, command in commands:
        parts = [re.sub(r"^kubectl -n \S+ ", "kubectl ", part) for part in command.split(" | ")]
        assert [part for part in parts if not part.startswith(LOOKING)] == [], id_
    assert [item for item in commands if set(item[1]) & set(";&>`$")] == []


def test_no_pattern_takes_long() -> None:
    """Over its own words again and again, without what ends them."""
    for symptom in EVERY:
        words = symptom.example[: len(symptom.example) * 2 // 3]
        begun = time.process_time()
        for text in (words * (4000 // len(words)), words.replace(" ", "@") * (4000 // len(words))):
            for pattern in symptom.patterns:
                re.search(pattern, text, re.IGNORECASE | re.DOTALL)
        assert time.process_time() - begun < 0.3, symptom.id


def test_releases_are_known() -> None:
    assert {name for item in EVERY for name in item.releases} <= {*versions("releases")}


def test_an_answer_is_a_meaning() -> None:
    assert {item.answer for item in EVERY} <= {"", *Meaning}


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        # containerd 1.6 and 1.7
        ("pulling from host m.daocloud.io failed with status code [manifests v1.2]: 403 Forbidden", "RegistryRefuses"),
        ("unexpected status code [manifests 1.0]: 401 Unauthorized", "ImageDenied"),
        ("failed to fetch oauth token: unexpected status: 401 Unauthorized", "ImageDenied"),
        ('failed to authorize: failed to fetch anonymous token: Get "https://q.io/token": EOF', "ConnectionReset"),
        ("schema 1 image manifests are no longer supported: invalid argument", "ImageSchema1"),
        ("conversion: Pulling Schema 1 images have been deprecated", "ImageSchema1"),
        ("x509: certificate signed by unknown authority", "RegistryCertificate"),
        ('Head "https://q.io/v2/a": dial tcp 10.0.0.9:443: connect: connection refused', "RegistryUnreachable"),
        ("write /var/lib/containerd/ingest/x/data: no space left on device: unknown", "DiskFull"),
        ("no match for platform in manifest: not found", "OtherArchitecture"),
        ('failed to resolve reference "q.io/a:403": q.io/a:403: not found', "ImageMissing"),
        ('failed to do request: Head "https://x:502/v2/": context deadline exceeded', "RegistryUnreachable"),
        # CRI-O
        ("reading manifest v1 in q.io/a/b: manifest unknown: manifest unknown", "ImageMissing"),
        ("reading manifest v1 in q.io/a/b: unauthorized: access to the requested resource is not au", "ImageDenied"),
        ("reading manifest v1 in docker.io/a/b: requested access to the resource is denied", "ImageDenied"),
        ("pinging container registry m.lan: invalid status code from registry 403 (Forbidden)", "RegistryRefuses"),
        ("pinging container registry m.lan: invalid status code from registry 502 (Bad Gate)", "RegistryUnavailable"),
        ("received unexpected HTTP status: 502 Bad Gateway", "RegistryUnavailable"),
        ('no image found in image index for architecture "arm64", variant "v8", OS "linux"', "OtherArchitecture"),
        ("unsupported schema version 1", "ImageSchema1"),
        ("toomanyrequests: You have reached your unauthenticated pull rate limit.", "RegistryRateLimit"),
        ("http: server gave HTTP response to HTTPS client", "RegistryPlainHttp"),
        # Docker
        ("no matching manifest for linux/arm64/v8 in the manifest list entries", "OtherArchitecture"),
        ("pull access denied for a/b, repository does not exist or may require 'docker login'", "ImageDenied"),
        ("unauthorized: authentication required, visit https://aka.ms/acr/authorization", "ImageDenied"),
        ('Get "https://registry-1.docker.io/v2/": net/http: TLS handshake timeout', "ConnectionReset"),
        ("manifest for a/b:v9 not found: manifest unknown: manifest unknown", "ImageMissing"),
        ("error pulling image configuration: read: connection reset by peer", "ConnectionReset"),
        ("[DEPRECATION NOTICE] Docker Image Format v1 and Docker Image manifest version 2, schema 1", "ImageSchema1"),
    ],
)
def test_other_words_for_the_same_trouble(message: str, reason: str) -> None:
    found = recognise(message, "pull")
    assert found
    assert found.reason == reason


def test_what_is_not_known_is_not_guessed() -> None:
    assert recognise("something nobody knows", "pull") is None
    assert recognise("no command specified", "pull") is None
    assert recognise("context deadline exceeded", "create") is None
