"""The processes that run the servers: "miniapi host", with the control protocol of docs/control.md."""

from __future__ import annotations

import atexit
import collections
import contextlib
import http.client
import json
import os
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

from ._program import MiniapiError, find
from ._webhooks import handler_server

_PROTOCOL = "v1"

# A signal of the terminal, such as Ctrl-C, must not end the host before the tests have ended.
_OWN_GROUP: dict[str, Any] = (
    {"creationflags": 0x00000200}  # CREATE_NEW_PROCESS_GROUP
    if sys.platform == "win32"
    else {"start_new_session": True}
)


class Host:
    """A host process. It ends when its standard input does, so at the latest with this process."""

    def __init__(self, program: str) -> None:
        self._process = subprocess.Popen(
            [program, "host"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **_OWN_GROUP
        )
        assert self._process.stdin
        assert self._process.stdout
        self.input = self._process.stdin
        self._errors = collections.deque[bytes](maxlen=20)
        self._reader = threading.Thread(target=self._read_errors, name="miniapi-errors", daemon=True)
        self._reader.start()
        with self._process.stdout as output:
            line = output.readline()
        hello = json.loads(line) if line.startswith(b"{") else {}
        if hello.get("protocol") != _PROTOCOL:
            self.close()
            what = f"has the protocol {hello['protocol']}" if hello else f"failed: {line.decode()}{self._last_words()}"
            raise MiniapiError(f"{program} host {what}: this package needs a miniapi with the protocol {_PROTOCOL}")
        self._address = urllib.parse.urlsplit(hello["address"]).netloc
        self._headers = {"Authorization": f"Bearer {hello['token']}"}
        self.servers = 0

    @contextlib.contextmanager
    def stream(self, method: str, path: str, body: Any = None, **query: str) -> Iterator[http.client.HTTPResponse]:
        """Makes a request, and gives the response while it comes."""
        if query:
            path += "?" + urllib.parse.urlencode(query)
        with contextlib.closing(http.client.HTTPConnection(self._address)) as connection:
            try:
                connection.request(method, path, None if body is None else json.dumps(body), self._headers)
                response = connection.getresponse()
            except OSError as error:
                raise MiniapiError(
                    f"{method} {path}: the host doesn't answer: {error}\n{self._last_words()}"
                ) from error
            if response.status >= 400:  # noqa: PLR2004
                raise MiniapiError(_message(response.read()))
            yield response

    def request(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        """Makes a request, and returns the answer: a value if it is JSON, or else text."""
        with self.stream(method, path, body, **query) as response:
            content = response.read().decode()
            is_json = response.headers.get_content_type() == "application/json"
            return json.loads(content) if content and is_json else content

    def runs(self) -> bool:
        """Reports whether the process runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """Ends the process, and waits until it has removed what its servers had."""
        self.input.close()
        self._process.wait()
        self._reader.join()

    def _read_errors(self) -> None:
        assert self._process.stderr
        with self._process.stderr as lines:
            self._errors.extend(lines)

    def _last_words(self) -> str:
        return b"".join(self._errors).decode(errors="replace").strip()


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError):
        return body.decode(errors="replace")


_lock = threading.Lock()
_hosts: dict[str, Host] = {}


@contextlib.contextmanager
def host_for(options: Mapping[str, Any]) -> Iterator[Host]:
    """Gives the host for a server with the options, and starts it if there is none.

    Servers of one process have the same feature gates and the same emulated version. A host with others than the
    defaults ends with the last of its servers.
    """
    settings = {name: value for name in ("featureGates", "emulatedVersion") if (value := options.get(name))}
    key = json.dumps(settings, sort_keys=True)
    with _lock:
        if key in _hosts and not _hosts[key].runs():
            _hosts.pop(key).close()
        if key not in _hosts:
            _hosts[key] = Host(find())
        host = _hosts[key]
        host.servers += 1
    try:
        yield host
    finally:
        with _lock:
            host.servers -= 1
            if settings and host.servers == 0:
                host.close()


@atexit.register
def _close_all() -> None:
    for host in _hosts.values():
        host.close()


def _leave_to_parent() -> None:
    """Keeps a forked process from holding the hosts of its parent open."""
    for host in _hosts.values():
        host.input.close()
    _hosts.clear()
    handler_server.cache_clear()
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_leave_to_parent)
