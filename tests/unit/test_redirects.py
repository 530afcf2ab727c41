"""Credentials of a request stay with the host that they are for."""

from __future__ import annotations

import urllib.request
from http.client import HTTPMessage
from io import BytesIO

import pytest

from kubeflow_volcano.exchange import is_same_place, opener

CREDENTIALS = {"Authorization": "Basic x", "Cookie": "a=b", "X-Api-Key": "k", "Proxy-Authorization": "Basic y"}


def sent(start: str, end: str) -> set[str]:
    """Headers of the request that follows a redirect."""
    handler = next(item for item in vars(opener())["handlers"] if isinstance(item, urllib.request.HTTPRedirectHandler))
    request = urllib.request.Request(start, headers={"User-Agent": "us", **CREDENTIALS}, method="HEAD")  # noqa: S310
    again = handler.redirect_request(request, BytesIO(), 302, "Found", HTTPMessage(), end)
    assert again is not None
    assert again.get_method() == "HEAD"
    return set(again.headers)


@pytest.mark.parametrize(
    "end",
    [
        "https://other.lan/x",
        "https://a.lan.other.lan/x",
        "https://a.lan:8443/x",
        "http://a.lan/x",
        "https://a.lan@other.lan/x",
    ],
)
def test_another_place_gets_no_credentials(end: str) -> None:
    assert sent("https://a.lan/x", end) == {"User-agent"}


@pytest.mark.parametrize("start", ["https://a.lan/x", "http://a.lan/x"])
def test_the_same_host_gets_them_again_and_a_proxy_anew(start: str) -> None:
    assert sent(start, "https://A.lan:443/y") == {"User-agent", "Authorization", "Cookie", "X-api-key"}


def test_a_place_without_host_is_another() -> None:
    assert not is_same_place("https://a.lan/", "")
