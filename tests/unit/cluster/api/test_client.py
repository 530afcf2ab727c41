"""The client survives what heals, and says plainly what does not."""

from __future__ import annotations

import base64
import datetime as dt
import json
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from kubernetes.config import kube_config

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.credentials import NO_CREDENTIALS, load
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Unreachable
from tests import serving
from tests.samples.certificates import pem, signer

MAPS = "/api/v1/namespaces/ns/configmaps"
ONE = f"{MAPS}/one"
REF = Ref("v1", "ConfigMap", "ns", "one")
OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": "ns"}}


def good(api: Any) -> Any:
    return api.reply(body=OBJECT)


def test_answers_that_heal_are_asked_for_again(api: Any) -> None:
    api.on(
        "GET",
        ONE,
        api.status(503, "ServiceUnavailable", "starting"),
        api.status(500, "InternalError", "etcdserver: leader changed"),
        api.status(504, "Timeout", "request timed out"),
        api.reply(502, b"<html>bad gateway</html>"),
        api.reply(reset=True),
        good(api),
    )
    cluster = api.connect()
    assert cluster.get(REF) == OBJECT
    assert cluster.retries == 5


def test_retry_after_is_respected(api: Any) -> None:
    api.on("GET", ONE, api.status(429, "TooManyRequests", "slow down", Retry_After="1"), good(api))
    assert api.connect().get(REF) == OBJECT
    (pause,) = api.pauses
    assert 1 < pause < 2


def test_a_retry_that_the_deadline_does_not_allow_is_not_waited_for(api: Any) -> None:
    api.on("GET", ONE, api.status(429, "TooManyRequests", "slow down", Retry_After="3600"))
    with pytest.raises(ApiError, match="slow down"):
        api.connect().get(REF, deadline=Deadline(1800))


def test_retries_end_at_the_deadline_with_the_last_trouble(api: Any) -> None:
    api.on("GET", ONE, api.status(503, "ServiceUnavailable", "still starting"))
    with pytest.raises(ApiError, match="still starting") as caught:
        api.connect().get(REF, deadline=Deadline(2))
    assert caught.value.status == 503
    assert len(api.seen("GET", ONE)) == len(api.pauses) + 1 > 3


@pytest.mark.parametrize(
    ("code", "reason", "message"),
    [
        (400, "BadRequest", "no"),
        (403, "Forbidden", "user may not"),
        (422, "Invalid", "field is immutable"),
        (409, "AlreadyExists", "there is one"),
        (409, "Conflict", 'Apply failed with 1 conflict: conflict with "other"'),
        (500, "InternalError", "something broke"),
        (500, "InternalError", 'failed calling webhook "w": no endpoints available'),
    ],
)
def test_answers_that_do_not_heal_are_raised_at_once(api: Any, code: int, reason: str, message: str) -> None:
    api.on("GET", ONE, api.status(code, reason, message))
    with pytest.raises(ApiError) as caught:
        api.connect().get(REF)
    assert (caught.value.status, caught.value.reason) == (code, reason)
    assert len(api.seen("GET", ONE)) == 1


def test_a_token_that_expired_is_loaded_anew_once(api: Any) -> None:
    def guard(request: Any) -> Any:
        return (
            good(api) if request.headers["authorization"] == "Bearer second" else api.status(401, "Unauthorized", "no")
        )

    api.on("GET", ONE, guard)
    cluster = api.connect()
    api.write_kubeconfig("second")
    assert cluster.get(REF) == OBJECT
    assert len(api.seen("GET", ONE)) == 2


def test_a_token_that_stays_wrong_is_told(api: Any) -> None:
    api.on("GET", ONE, api.status(401, "Unauthorized", "no"))
    with pytest.raises(ApiError, match="Unauthorized"):
        api.connect().get(REF)
    assert len(api.seen("GET", ONE)) == 2


def test_absent_object_and_absent_kind_are_none(api: Any) -> None:
    cluster = api.connect()
    assert cluster.get(REF) is None
    assert cluster.get(Ref("kubeflow.org/v1", "TFJob", "ns", "x")) is None


def test_kind_that_is_not_served_is_told_and_seen_once_it_is(api: Any) -> None:
    cluster = api.connect()
    with pytest.raises(NotServed, match=r"TFJob in kubeflow\.org/v1"):
        cluster.list("kubeflow.org/v1", "TFJob")
    resources = [{"kind": "TFJob", "name": "tfjobs", "namespaced": True}, {"kind": "TFJob", "name": "tfjobs/status"}]
    api.on("GET", "/apis/kubeflow.org/v1", api.reply(body={"resources": resources[:1]}))
    assert cluster.resource("kubeflow.org/v1", "TFJob", refresh=True).path("a", "b") == (
        "/apis/kubeflow.org/v1/namespaces/a/tfjobs/b"
    )


def test_lists_are_read_page_by_page(api: Any) -> None:
    def page(name: str, more: str) -> Any:
        body = {"metadata": {"resourceVersion": "7", "continue": more}, "items": [{"metadata": {"name": name}}]}
        return api.reply(body=body)

    api.on("GET", MAPS, page("a", "token"), page("b", ""))
    listing = api.connect().list("v1", "ConfigMap", namespace="ns", labels="x=y")
    assert [item["metadata"]["name"] for item in listing.items] == ["a", "b"]
    assert listing.items[0]["kind"] == "ConfigMap"
    assert listing.resource_version == "7"
    first, second = api.seen("GET", MAPS)
    assert (first.query["labelSelector"], "continue" in first.query) == ("x=y", False)
    assert second.query["continue"] == "token"


def test_a_list_from_the_cache_names_its_version_only_where_no_token_does(api: Any) -> None:
    """The API server refuses a request that names both (a cache may answer in pages after all)."""

    def page(more: str) -> Any:
        return api.reply(body={"metadata": {"resourceVersion": "7", "continue": more}, "items": []})

    api.on("GET", MAPS, page("token"), page(""))
    assert len([*api.connect().pages("v1", "ConfigMap", namespace="ns", cached=True)]) == 2
    first, second = api.seen("GET", MAPS)
    assert first.query["resourceVersion"] == "0"
    assert "resourceVersion" not in second.query


def test_apply_sends_the_object_under_its_manager(api: Any) -> None:
    api.on("PATCH", ONE, good(api))
    api.connect().apply(OBJECT, manager="me", force=True, dry_run=True)
    (request,) = api.seen("PATCH", ONE)
    assert request.query == {"fieldManager": "me", "force": "true", "dryRun": "All"}
    assert request.headers["content-type"] == "application/apply-patch+yaml"
    assert request.body == OBJECT


@pytest.mark.parametrize(
    ("code", "reason", "text"),
    [
        (404, "NotFound", 'configmaps "one" not found'),
        (409, "Conflict", "Precondition failed: UID in precondition: u, UID in object meta: v"),
        (409, "Conflict", "the UID in the precondition (u) does not match the UID in record (v)."),
        (
            409,
            "Conflict",
            "the ResourceVersion in the precondition (7) does not match the ResourceVersion in record (8).",
        ),
    ],
)
def test_deleting_what_is_gone_or_another_is_no_error_and_asked_once(
    api: Any, code: int, reason: str, text: str
) -> None:
    api.on("DELETE", ONE, api.status(code, reason, text))
    assert api.connect().delete(REF, uid="u") is False
    assert api.connect().delete(REF, uid="u", version="7") is False
    preconditions = [request.body["preconditions"] for request in api.seen("DELETE", ONE)]
    assert preconditions == [{"uid": "u"}, {"uid": "u", "resourceVersion": "7"}]


def test_a_kubeconfig_that_is_absent_is_called_that_with_what_named_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = tmp_path / "absent-kubeconfig"
    with pytest.raises(Unreachable, match=f"{absent}, .*named, .*not exist"):
        Cluster.connect(absent)
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", f"{absent}:{absent}2")
    monkeypatch.setenv("KUBECONFIG", f"{absent}:{absent}2")
    with pytest.raises(Unreachable, match=rf"{absent} and {absent}2 .*\$KUBECONFIG names"):
        Cluster.connect()
    monkeypatch.delenv("KUBECONFIG")
    with pytest.raises(Unreachable, match=r"default without \$KUBECONFIG"):
        Cluster.connect(context="x")


@pytest.mark.parametrize("text", ["root:x:0:0:root:/root:/bin/sh\n", "- a\n", "clusters: 7\ncurrent-context: a\n"])
def test_a_file_of_another_kind_is_no_kubeconfig(tmp_path: Path, text: str) -> None:
    place = tmp_path / "notes"
    place.write_text(text)
    with pytest.raises(Unreachable, match="notes") as caught:
        Cluster.connect(place)
    assert caught.value.problems[0].reason == NO_CREDENTIALS


def test_unknown_context_is_named(api: Any) -> None:
    with pytest.raises(Unreachable, match="no-such-context"):
        Cluster.connect(api.kubeconfig, "no-such-context")


def test_server_that_refuses_who_asks_is_unreachable(api: Any) -> None:
    api.on("GET", "/version", api.status(401, "Unauthorized", "who are you"))
    with pytest.raises(Unreachable, match="who are you"):
        api.connect()


def test_requests_share_connections(api: Any) -> None:
    api.on("GET", ONE, good(api))
    cluster = api.connect()
    for _ in range(5):
        cluster.get(REF)
    pools = cluster._credentials.pool.pools  # noqa: SLF001  no public count of connections
    assert sum(pools[key].num_connections for key in pools.keys()) == 1  # noqa: SIM118  not a dict


def test_a_token_that_stays_wrong_is_not_loaded_again_for_every_request(
    api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = api.connect()
    loads: list[Any] = []
    load = cluster._load  # noqa: SLF001  how often is the question

    def counted() -> Any:
        loads.append(load())
        return loads[-1]

    monkeypatch.setattr(cluster, "_load", counted)
    api.on("GET", ONE, api.status(401, "Unauthorized", "no"))
    for _ in range(3):
        with pytest.raises(ApiError, match="Unauthorized"):
            cluster.get(REF)
    assert len(loads) == 1


def test_a_kubeconfig_that_is_gone_when_the_token_expires_is_told(api: Any) -> None:
    cluster = api.connect()
    api.on("GET", ONE, api.status(401, "Unauthorized", "expired"))
    api.kubeconfig.unlink()
    with pytest.raises(ApiError, match=r"expired; .*kubeconfig") as caught:
        cluster.get(REF)
    assert caught.value.status == 401


def test_an_outage_is_waited_for_once(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeflow_volcano.cluster.api.connection._RETRY_SECONDS", 0.6)
    cluster = api.connect()
    api.on("GET", ONE, api.status(503, "ServiceUnavailable", "starting"))
    with pytest.raises(ApiError):
        cluster.get(REF)
    time.sleep(0.6)
    asked = len(api.seen("GET", ONE))
    with pytest.raises(ApiError, match="starting"):
        cluster.get(REF)
    assert len(api.seen("GET", ONE)) == asked + 1
    with pytest.raises(ApiError):
        cluster.get(REF, deadline=Deadline(2))  # whoever brings a time of his own gets it
    assert len(api.seen("GET", ONE)) > asked + 2
    api.on("GET", ONE, good(api))
    assert cluster.get(REF) == OBJECT
    api.on("GET", ONE, api.status(503, "ServiceUnavailable", "starting"), good(api))
    assert cluster.get(REF) == OBJECT


def test_an_answer_that_is_no_json_is_told_as_such(api: Any) -> None:
    api.on("GET", ONE, api.reply(body=b"<html>sign in to the network</html>"))
    with pytest.raises(ApiError, match="'<html>sign in"):
        api.connect().get(REF)
    assert len(api.seen("GET", ONE)) == 1


def test_a_list_that_took_too_long_begins_anew_without_what_is_gone_since(api: Any) -> None:
    def page(names: str, more: str) -> Any:
        items = [{"metadata": {"name": name}} for name in names]
        return api.reply(body={"metadata": {"resourceVersion": "7", "continue": more}, "items": items})

    gone = api.status(410, "Expired", "too old")
    api.on("GET", MAPS, page("ab", "token"), gone, page("b", "token"), gone, page("bc", ""))
    found = api.connect().list("v1", "ConfigMap", namespace="ns").items
    assert [item["metadata"]["name"] for item in found] == ["b", "c"]
    asked = [sorted(request.query) for request in api.seen("GET", MAPS)]
    assert asked == [["limit"], ["continue", "limit"], ["limit"], ["continue", "limit"], []]


def test_the_next_page_is_asked_for_before_one_is_trimmed(api: Any) -> None:
    """So that server and client work at the same time."""
    asked = threading.Event()

    def answer(request: Any) -> Any:
        more = "" if "continue" in request.query else "token"
        if not more:
            asked.set()
        items = [{"metadata": {"name": more or "last"}}]
        return api.reply(body={"metadata": {"resourceVersion": "7", "continue": more}, "items": items})

    api.on("GET", MAPS, answer)
    in_time: list[bool] = []
    api.connect().list("v1", "ConfigMap", namespace="ns", trim=lambda _: in_time.append(asked.wait(20)))
    assert in_time == [True, True]


def test_objects_are_trimmed_and_metadata_alone_is_asked_for(api: Any) -> None:
    item = {"metadata": {"name": "a", "managedFields": []}}
    api.on("GET", MAPS, api.reply(body={"metadata": {"resourceVersion": "7"}, "items": [item]}))

    def trim(obj: dict[str, Any]) -> None:
        del obj["metadata"]["managedFields"]

    (found,) = api.connect().list("v1", "ConfigMap", namespace="ns", brief=True, trim=trim).items
    assert found == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    (request,) = api.seen("GET", MAPS)
    assert "as=PartialObjectMetadataList" in request.headers["accept"]


def test_an_empty_list_of_metadata_has_no_items(api: Any) -> None:
    api.on(
        "GET", "/api/v1/namespaces/ns/configmaps", api.reply(200, {"items": None, "metadata": {"resourceVersion": "5"}})
    )
    assert api.connect().list("v1", "ConfigMap", namespace="ns", brief=True).items == ()


def kubeconfig(tmp_path: Path, server: str, user: dict[str, Any], cluster: dict[str, Any] | None = None) -> Path:
    place = tmp_path / "made.kubeconfig"
    config = serving.kubeconfig(server, user)
    config["clusters"][0]["cluster"] |= cluster or {}
    place.write_text(json.dumps(config))
    return place


def certificate(days: int) -> dict[str, str]:
    """A client certificate that expires in so many days, and its key."""
    made = signer("a", now=dt.datetime.now(dt.UTC), days=days)
    texts = {"client-certificate-data": pem(made.certificate), "client-key-data": made.private}
    return {name: base64.b64encode(text).decode() for name, text in texts.items()}


@pytest.mark.parametrize(
    ("days", "words"), [(-1, "the client certificate expired at"), (1, "it is valid until")], ids=["expired", "valid"]
)
def test_401_says_whether_the_client_certificate_has_expired(api: Any, tmp_path: Path, days: int, words: str) -> None:
    expires = load(kubeconfig(tmp_path, "https://127.0.0.1:9", certificate(days)), None, "o").expires
    api.on("GET", "/version", api.status(401, "Unauthorized", "Unauthorized"))
    cluster = Cluster(lambda: load(api.kubeconfig, None, "o")._replace(expires=expires), "o", "a")
    until = dt.datetime.now(dt.UTC) + dt.timedelta(days=days)
    with pytest.raises(ApiError, match=rf"Unauthorized \(.*{words} {until:%Y-%m-%d}"):
        cluster.request("GET", "/version")


def plugin(command: str, *arguments: str) -> dict[str, Any]:
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": command, "args": list(arguments)}}


@pytest.mark.programs
@pytest.mark.parametrize(
    ("user", "cause"),
    [
        (plugin("/no/such/plugin"), r"No such file or directory: '/no/such/plugin'"),
        (plugin("sh", "-c", "echo not signed in >&2; exit 3"), r"process returned 3\. not signed in"),
        (plugin("sh", "-c", "echo {}"), r"exec"),
    ],
)
def test_a_plugin_that_gives_no_credentials_is_told_and_not_gone_without(
    api: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str], user: dict[str, Any], cause: str
) -> None:
    with pytest.raises(Unreachable, match=cause) as caught:
        Cluster.connect(kubeconfig(tmp_path, api.url, user))
    assert str(tmp_path) in str(caught.value)
    assert capfd.readouterr().err == ""


@pytest.mark.programs
@pytest.mark.parametrize("script", ["exec sleep 60", "sleep 60; echo", "sleep 60 & echo {}"])
def test_a_plugin_that_does_not_answer_is_ended_and_told(
    api: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr("kubeflow_volcano.cluster.api.plugins._SECONDS", 0.5)
    started = time.monotonic()
    with pytest.raises(Unreachable, match=r"\bsh did not answer") as caught:
        Cluster.connect(kubeconfig(tmp_path, api.url, plugin("sh", "-c", script)))
    assert time.monotonic() - started < 10
    assert "run that program" in caught.value.problems[0].todo


@pytest.mark.programs
def test_a_command_of_an_older_kubeconfig_is_ended_as_well(
    api: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeflow_volcano.cluster.api.plugins._SECONDS", 0.5)
    user = {"auth-provider": {"name": "gcp", "config": {"cmd-path": "sleep", "cmd-args": "60"}}}
    with pytest.raises(Unreachable, match="sleep did not"):
        Cluster.connect(kubeconfig(tmp_path, api.url, user))


def test_an_authority_that_is_no_certificate_is_told_at_once(
    api: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeflow_volcano.cluster.api.connection._RETRY_SECONDS", 3600.0)
    authority = tmp_path / "ca.crt"
    authority.write_text("nothing")
    server = api.url.replace("http:", "https:")
    with pytest.raises(Unreachable, match=r"certificate authority .*\(.*CERTIFICATE"):
        Cluster.connect(kubeconfig(tmp_path, server, {"token": "t"}, {"certificate-authority": str(authority)}))


@pytest.mark.programs
def test_a_key_that_is_encrypted_is_told_and_nobody_is_asked_for_its_password(api: Any, tmp_path: Path) -> None:
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-days", "2"]
    request += ["-subj", "/CN=a", "-passout", "pass:secret", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(request, check=True, capture_output=True)
    user = {"client-certificate": str(certificate), "client-key": str(key)}
    with pytest.raises(Unreachable, match="key is encrypted"):
        Cluster.connect(kubeconfig(tmp_path, api.url.replace("http:", "https:"), user))


def test_the_proxy_that_does_not_answer_is_named_without_its_password(
    api: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeflow_volcano.cluster.api.client._VERSION_SECONDS", 0.5)
    cluster = {"proxy-url": "http://me:secret@127.0.0.1:1"}
    with pytest.raises(Unreachable, match=r"through proxy http://\*\*\*@127\.0\.0\.1:1") as caught:
        Cluster.connect(kubeconfig(tmp_path, api.url, {"token": "t"}, cluster))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "log"),
    [
        ("no configuration\n", "no configuration\n"),
        ("unable to retrieve container logs for containerd://5fe", ""),
        ('failed to try resolving symlinks in path "/var/log/pods/a/b/1.log": lstat: no such file or directory', ""),
    ],
)
def test_the_kubelets_own_sentence_is_no_log(api: Any, answer: str, log: str) -> None:
    """It answers 200 with it when the container is gone."""
    api.on("GET", "/api/v1/namespaces/n/pods/p/log", api.reply(200, answer.encode()))
    assert api.connect().logs("n", "p", "sh") == log
