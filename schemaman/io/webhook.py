"""Posts a JSON message to a webhook, with a timeout and a few attempts; redirects are not followed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from http import HTTPStatus
from http.client import HTTPException
from threading import Thread
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from schemaman.errors import CouldNotDo

_AGAIN = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
_PAUSE_SECONDS = 0.5
"""Seconds before the second attempt; each further pause is twice as long."""


class _NoRedirects(HTTPRedirectHandler):
    """A redirect is an error: it would send the message and its secrets elsewhere, and as GET."""

    def redirect_request(self, *_: object) -> None:
        return None


def post_json(
    address: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    timeout: float,
    attempts: int,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Post a body; `timeout` bounds each attempt, in seconds. Only what may pass is tried again.

    Raises:
        CouldNotDo: the webhook did not accept the message; no text names its address.
    """
    opener = build_opener(_NoRedirects)
    reason = ""
    for attempt in range(attempts):
        if attempt:
            sleep(_PAUSE_SECONDS * 2 ** (attempt - 1))
        try:
            request = Request(address, body, {"Content-Type": "application/json", **headers}, method="POST")
            _send(opener, request, timeout)
            return
        except HTTPError as error:
            reason = f"HTTP {error.code}"
            error.close()
            if error.code < HTTPStatus.INTERNAL_SERVER_ERROR and error.code not in _AGAIN:
                break
        except (OSError, HTTPException) as error:
            reason = type(getattr(error, "reason", error)).__name__
        except ValueError:
            reason = "not an address or header"
            break
    raise CouldNotDo(f"the webhook did not accept the message: {reason}", hint="see [notify]")


def _send(opener: OpenerDirector, request: Request, timeout: float) -> None:
    """Send a request and read its status within a time.

    A socket bounds each read alone, so a server that sends byte by byte would take any time. No thread that
    waits for it keeps the process alive.

    Raises:
        OSError: the request failed, or the time is over (`TimeoutError`).
        HTTPException: the answer is not HTTP.
        ValueError: the address or a header is none.
    """
    sent: Future[None] = Future()

    def send() -> None:
        try:
            opener.open(request, timeout=timeout).close()
        except BaseException as error:
            sent.set_exception(error)
        else:
            sent.set_result(None)

    Thread(target=send, name="webhook", daemon=True).start()
    sent.result(timeout)
