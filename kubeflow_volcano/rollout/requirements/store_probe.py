"""Stores outside of the cluster, tried before the first change: signed in, written to, read, and cleaned up again.

It is tried from here, not by a pod: before the first change a cluster may have neither the namespace nor an image to
run one with, nor is this one to have them for a refusal. So a store that this machine does not reach is not judged,
only told: pods may reach it. What one says once it is reached, it says to pods, too.
"""

from __future__ import annotations

import hashlib
import hmac
import importlib
import secrets
import ssl
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from xml.etree.ElementTree import ParseError
from xml.etree.ElementTree import fromstring as read_xml  # the answer of the user's own store

import urllib3

from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.settings.pods.stores import (
    KATIB,
    PIPELINES,
    DatabaseSettings,
    ObjectStoreSettings,
)

_SECONDS = 10.0
_TEXT = "流水线"
"""What people write: a name of a run that latin1 cannot keep."""
_UNREACHED = frozenset({1130, 2002, 2003, 2005, 2006, 2013})
"""Errors of MySQL and its clients; 1130 says that no user may sign in from here."""

Send = Callable[[str, str, bytes], tuple[int, bytes]]
"""Method, path and body of a request; status and body of its answer."""


def probe_stores(
    database: DatabaseSettings,
    object_store: ObjectStoreSettings,
    components: set[str],
    progress: Progress,
    *,
    gateway: bool,
) -> Iterator[Problem]:
    """What keeps these components from using the stores that this machine reaches; writes there for a moment."""
    yield from probe_database(database, components, progress)
    if PIPELINES in components:
        yield from probe_object_store(object_store, progress, gateway=gateway)


def probe_object_store(given: ObjectStoreSettings, progress: Progress, *, gateway: bool) -> Iterator[Problem]:
    """What keeps the key from writing, reading and deleting an object; `gateway` says whether it lists buckets, too."""
    if not given:
        return
    path, text = f"/{given.bucket}/kfv-probe-{secrets.token_hex(8)}", secrets.token_bytes(16)
    steps = [("put", "PUT", path, text), ("get", "GET", path, b""), ("delete", "DELETE", path, b"")]
    if gateway:
        steps.insert(0, ("list buckets", "GET", "/", b""))
    try:
        for name, method, place, body in steps:
            status, answer = _send(given, method, place, body)
            code = _code(answer) if status >= HTTPStatus.MULTIPLE_CHOICES else ""
            if code == "NoSuchBucket":
                progress(f"note: {given.place} is not there; Pipelines create it, if the key may")
                return
            if code or (name == "get" and answer != text):
                yield Problem(
                    f"{given.place} refused to {name}: {code or 'another object was read'}.",
                    "a key that may put, get and delete objects of the bucket"
                    + (", and list buckets (s3:ListAllMyBuckets)." if gateway else "."),
                    "correct kubeflow_object_store, or the policy of the key.",
                )
                if name == "get":
                    continue
                return
        progress(f"object store: {given.place} was written, read and cleaned up again")
    except urllib3.exceptions.SSLError as error:
        yield Problem(
            f"{given.place} answers, but TLS fails: {error}.",
            "a certificate for this name, of an authority that "
            + ("kubeflow_object_store.ca has." if given.ca else "this machine and the images know."),
            "correct endpoint or ca of kubeflow_object_store, or the certificate.",
        )
    except (urllib3.exceptions.HTTPError, OSError) as error:
        progress(f"note: {given.place} was not tried, as this machine does not reach it: {error}; pods have to")


def _send(given: ObjectStoreSettings, method: str, path: str, body: bytes) -> tuple[int, bytes]:
    context = ssl.create_default_context(cadata=given.ca or None)
    with urllib3.PoolManager(ssl_context=context, retries=False, timeout=_SECONDS) as pool:
        headers = signed(given, method, path, body, datetime.now(UTC))
        answer = pool.request(method, f"{given.endpoint}{path}", body=body or None, headers=headers, redirect=False)
        return answer.status, answer.data


def signed(given: ObjectStoreSettings, method: str, target: str, body: bytes, now: datetime) -> dict[str, str]:
    """The headers of a request with its signature (AWS Signature Version 4, for S3)."""
    path, _, query = target.partition("?")
    time, content = now.strftime("%Y%m%dT%H%M%SZ"), hashlib.sha256(body).hexdigest()
    headers = {"host": given.endpoint.partition("://")[2], "x-amz-content-sha256": content, "x-amz-date": time}
    names = ";".join(headers)
    lines = "".join(f"{name}:{text}\n" for name, text in headers.items())
    request = f"{method}\n{path}\n{query}\n{lines}\n{names}\n{content}"
    scope = f"{time[:8]}/{given.region}/s3/aws4_request"
    message = "\n".join(("AWS4-HMAC-SHA256", time, scope, hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{given.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, message.encode(), "sha256").hex()
    login = f"AWS4-HMAC-SHA256 Credential={given.access_key}/{scope},SignedHeaders={names},Signature={signature}"
    return {**headers, "Authorization": login}


def _code(answer: bytes) -> str:
    """What S3 calls the error, else the beginning of what was answered."""
    try:
        return read_xml(answer).findtext("Code") or "an error without a code"  # noqa: S314  see the import
    except ParseError:
        return answer[:80].decode("utf-8", "replace") or "an empty answer"


def probe_database(given: DatabaseSettings, components: set[str], progress: Progress) -> Iterator[Problem]:
    """What keeps the user from making, filling and dropping tables in its databases; text that is lost is only told.

    It signs in as the programs do, without TLS. A database that Pipelines would create is created and dropped again.
    """
    if not given:
        return
    try:
        mysql: Any = importlib.import_module("pymysql")
    except ImportError:
        progress("note: kubeflow_database was not tried: that takes PyMySQL (.venv/bin/python -m pip install PyMySQL)")
        return
    own = given.names
    names = {name: True for name in (own.pipelines, own.cache, own.metadata) if PIPELINES in components}
    names |= {own.katib: False} if KATIB in components else {}
    try:
        connection = mysql.connect(
            host=given.host,
            port=given.port,
            user=given.user,
            password=given.password,
            charset="utf8",  # as the programs of Pipelines and Katib ask for
            connect_timeout=_SECONDS,
            read_timeout=_SECONDS,
            ssl_disabled=True,
        )
    except (mysql.MySQLError, OSError) as error:
        if isinstance(error, OSError) or {*error.args[:1]} & _UNREACHED:
            progress(f"note: {given.place} was not tried, as this machine does not reach it: {error}; pods have to")
            return
        yield _refused(given, "the login from this machine", error)
        return
    with closing(connection), connection.cursor() as cursor:
        for name, creates in names.items():
            try:
                if problem := _try(given, cursor, name, mysql, progress, creates=creates):
                    yield problem
            except mysql.MySQLError as error:
                yield _refused(given, f"what {name} needs", error)
        progress(f"database: MySQL {connection.get_server_info()} at {given.place}; tried: {', '.join(names)}")


def _try(
    given: DatabaseSettings, cursor: Any, name: str, mysql: Any, progress: Progress, *, creates: bool
) -> Problem | None:
    """Make a table as Pipelines has them (two names are a unique key), write, read, and drop it."""
    cursor.execute("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = %s", (name,))
    fresh = not cursor.fetchone()[0]
    if fresh and not creates:
        return Problem(
            f"{given.place} has no database {name}, or {given.user} has no rights in it.",
            "the database of Katib, which Katib does not create.",
            f"CREATE DATABASE {name}; and grant the user all rights on it (docs/stores.md).",
        )
    table = f"`{name}`.`kfv_probe_{secrets.token_hex(8)}`"
    if fresh:
        cursor.execute(f"CREATE DATABASE `{name}`")
    try:
        cursor.execute(f"CREATE TABLE {table} (a VARCHAR(255), b VARCHAR(255), UNIQUE KEY k (a, b))")
        try:
            cursor.execute(f"INSERT INTO {table} VALUES (%s, %s)", (_TEXT, ""))  # noqa: S608  names of the inventory
            cursor.execute(f"SELECT a FROM {table}")  # noqa: S608
            kept = cursor.fetchone()[0] == _TEXT
        except mysql.DataError:
            kept = False
        finally:
            cursor.execute(f"DROP TABLE {table}")
        if not kept:  # no reason to refuse: MySQL 5.7 has latin1 by default, and upstream ran on it
            progress(f"note: {name} at {given.place} keeps Latin letters only; ALTER DATABASE … CHARACTER SET utf8mb4")
    finally:
        if fresh:
            cursor.execute(f"DROP DATABASE `{name}`")
    return None


def _refused(given: DatabaseSettings, what: str, why: object) -> Problem:
    return Problem(
        f"{given.place} refuses {what}: {why}.",
        "a user with all rights on its databases, also from the machine that runs the roll-out.",
        "correct kubeflow_database, or what docs/stores.md says that the server needs.",
    )
