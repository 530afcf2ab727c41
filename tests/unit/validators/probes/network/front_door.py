"""A stand-in for Kubeflow's front door: oauth2-proxy or oidc-authservice, Dex and the dashboard, over real HTTP.

It answers as oauth2-proxy (`skip_provider_button = false`) and Dex with a static password do: paths, statuses,
redirects, the form that comes back with 401, the callback that wants its cookie. Building the two takes minutes.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.serving import Handler, serving

USER, PASSWORD = "first@example.com", "of one's own & hush"

_FORM = """<form method="post" action="{}">
<input required id="login" name="login" type="text"/><input required id="password" name="password" type="password"/>
{}<button type="submit">Login</button></form>"""
_APPROVAL = """<form method="post"><input type="hidden" name="req" value="r1"/>
<input type="hidden" name="approval" value="{}"><button>{}</button></form>"""
_START = """<form method="GET" action="/oauth2/start"><input type="hidden" name="rd" value="/">
<button>Sign in</button></form>"""


@dataclass
class Door:
    """What of it is broken or otherwise: `answers` are status and location of paths that do not answer as usual."""

    authservice: bool = False
    approval: bool = False
    secure: bool = False
    refusal: int = 401
    forgets: bool = False
    """Whether the session's cookie is set but not known afterwards."""
    sees: str = USER
    answers: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    """Method and path of every request, and what was posted."""
    url: str = ""

    @property
    def callback(self) -> str:
        return "/login/oidc" if self.authservice else "/oauth2/callback"

    @property
    def session(self) -> str:
        return "authservice_session" if self.authservice else "oauth2_proxy_kubeflow"


@contextmanager
def standing(door: Door) -> Iterator[Door]:
    """Let it answer on this machine."""
    handler = type("Handler", (_Handler,), {"door": door})
    with serving(handler) as port:
        door.url = f"http://127.0.0.1:{port}/"
        yield door


class _Handler(Handler):
    door: Door

    def do_GET(self) -> None:
        door, parts = self.door, urlsplit(self.path)
        path, query = parts.path, {key: values[0] for key, values in parse_qs(parts.query).items()}
        door.asked.append(f"GET {path}")
        if path in door.answers:
            status, location, text = door.answers[path]
            self._answer(status, text, location=location)
        elif path == "/oauth2/start":
            self._to_dex()
        elif path.startswith("/dex/"):
            self._dex(path, parts.query)
        elif path == door.callback:
            known = "csrf" in "".join(self._cookies()) and query.get("code") == "c1" and query.get("state") == "s1"
            if known:
                self._answer(302, location="/", cookie=door.session)
            else:
                self._answer(403, "no csrf")
        elif door.session in self._cookies() and not door.forgets:
            self._answer(200, json.dumps({"user": door.sees}) if path.startswith("/api/") else "dashboard")
        elif path.startswith("/api/"):
            self._answer(401)
        elif door.authservice:
            self._to_dex()
        else:
            self._answer(403, _START)

    def _dex(self, path: str, query: str) -> None:
        if path == "/dex/auth":
            self._answer(302, location=f"/dex/auth/local?{query}")
        elif path == "/dex/auth/local":
            self._answer(302, location=f"/dex/auth/local/login?{urlencode({'back': '', 'state': 'a1'})}")
        elif path == "/dex/auth/local/login":
            self._answer(200, _FORM.format(html.escape(self.path), ""))
        else:
            self._answer(200, _APPROVAL.format("approve", "Grant Access") + _APPROVAL.format("rejected", "Cancel"))

    def do_POST(self) -> None:
        path = urlsplit(self.path).path
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        fields = {key: values[0] for key, values in parse_qs(text).items()}
        self.door.asked.append(f"POST {path} {text}")
        done = f"{self.door.callback}?code=c1&state=s1"
        if path == "/dex/approval":
            granted = fields == {"req": "r1", "approval": "approve"}
            self._answer(303 if granted else 500, location=done if granted else "")
        elif fields == {"login": USER, "password": PASSWORD}:
            self._answer(303, location="/dex/approval?req=r1&hmac=h" if self.door.approval else done)
        else:
            self._answer(self.door.refusal, _FORM.format(html.escape(self.path), '<div id="login-error">Invalid</div>'))

    def _to_dex(self) -> None:
        asked = {"client_id": "kubeflow", "redirect_uri": self.door.callback, "response_type": "code", "state": "s1"}
        self._answer(302, location=f"/dex/auth?{urlencode(asked)}", cookie=f"{self.door.session}_csrf")

    def _cookies(self) -> list[str]:
        return list(SimpleCookie(self.headers.get("Cookie", "")))

    def _answer(self, status: int, text: str = "", *, location: str = "", cookie: str = "") -> None:
        headers = {"Location": location} if location else {}
        if cookie:
            headers["Set-Cookie"] = f"{cookie}=v; Path=/; HttpOnly{'; Secure' if self.door.secure else ''}"
        self.answer(text.encode(), status, Content_Type="text/html; charset=utf-8", **headers)
