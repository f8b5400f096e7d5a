"""Webhooks as functions of the test."""

from __future__ import annotations

import base64
import contextlib
import functools
import http.server
import json
import logging
import socketserver
import threading
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Callable

_log = logging.getLogger("miniapi")

Object = dict[str, Any]
AdmissionHandler = Callable[[Object], Object]
ConversionHandler = Callable[[Object, str], Object]


def allowed(*, warnings: Sequence[str] = ()) -> Object:
    """Returns the response of a webhook that admits the request."""
    return {"allowed": True, "warnings": list(warnings)}


def denied(message: str, *, code: int = 403, warnings: Sequence[str] = ()) -> Object:
    """Returns the response of a webhook that refuses the request."""
    return {"allowed": False, "status": {"code": code, "message": message}, "warnings": list(warnings)}


def patched(operations: Sequence[Mapping[str, Any]], *, warnings: Sequence[str] = ()) -> Object:
    """Returns the response of a webhook that changes the object by the operations of a JSON patch."""
    patch = base64.b64encode(json.dumps(list(operations)).encode()).decode()
    return {**allowed(warnings=warnings), "patchType": "JSONPatch", "patch": patch}


class Webhooks(dict[str, Callable[[Object], Object]]):
    """The handlers of webhooks, by the path at which a configuration or a definition calls them.

    The values return the response for the request of a review, without the uid.
    """

    def admission(self, path: str) -> Callable[[AdmissionHandler], AdmissionHandler]:
        """Makes a function the handler of an admission webhook, in place of an earlier one.

        The function gets the request of the AdmissionReview, and returns allowed(), denied() or patched(), or another
        AdmissionResponse without the uid.
        """

        def register(handler: AdmissionHandler) -> AdmissionHandler:
            def respond(request: Object) -> Object:
                response = handler(request)
                if not isinstance(response, dict) or "allowed" not in response:
                    raise TypeError(f"returned {response!r}: must be allowed(), denied(message) or patched(operations)")
                return response

            self[path] = respond
            return handler

        return register

    def conversion(self, path: str) -> Callable[[ConversionHandler], ConversionHandler]:
        """Makes a function the handler of a conversion webhook, in place of an earlier one.

        The function gets an object and the apiVersion to which it converts the object. It returns the converted object,
        whose apiVersion is set for it.
        """

        def register(handler: ConversionHandler) -> ConversionHandler:
            def respond(request: Object) -> Object:
                version = request["desiredAPIVersion"]
                converted = [{**handler(each, version), "apiVersion": version} for each in request["objects"]]
                return {"convertedObjects": converted, "result": {"status": "Success"}}

            self[path] = respond
            return handler

        return register


class HandlerServer(socketserver.ThreadingTCPServer):
    """An HTTP server, at which hosts call the handlers of their servers."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _RequestHandler)
        self.served: dict[str, Webhooks] = {}
        threading.Thread(target=self.serve_forever, name="miniapi-webhooks", daemon=True).start()

    @contextlib.contextmanager
    def serve(self, webhooks: Webhooks) -> Iterator[str]:
        """Serves webhooks, and gives their address."""
        key = str(id(webhooks))
        self.served[key] = webhooks
        try:
            yield f"http://127.0.0.1:{self.server_address[1]}/{key}"
        finally:
            del self.served[key]


@functools.cache
def handler_server() -> HandlerServer:
    """Returns the server of this process."""
    return HandlerServer()


class _RequestHandler(http.server.BaseHTTPRequestHandler):
    server: HandlerServer
    protocol_version = "HTTP/1.1"  # the host reuses connections
    wbufsize = -1  # one write for header and body, so that none waits for an acknowledgement

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        _, key, path = urllib.parse.urlsplit(self.path).path.split("/", 2)
        handlers = self.server.served.get(key, Webhooks())
        try:
            if "/" + path not in handlers:
                raise LookupError(f"there is none: there is {', '.join(sorted(handlers)) or 'no other'}")
            response = {"uid": review["request"]["uid"], **handlers["/" + path](review["request"])}
            self._send(200, json.dumps({**review, "request": None, "response": response}))
        except Exception as error:
            _log.exception("the handler of /%s", path)
            self._send(500, f"the handler of /{path}: {type(error).__name__}: {error}")

    def _send(self, status: int, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Logs nothing: the trace of the server has the calls."""
