"""A server of a host."""

from __future__ import annotations

import contextlib
import http.client
import json
import pathlib
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ._host import host_for
from ._options import Options, Path, absolute, to_body, to_json
from ._program import MiniapiError
from ._webhooks import Object, Webhooks, handler_server

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Answer(NamedTuple):
    """Says why a webhook or policy was asked about an object, or wasn't."""

    sentence: str
    called: bool  # whether the webhook was called, or would be called for a request that isn't recorded
    recorded: bool  # whether the answer is about a request since the start or the last reset
    reason: str  # such as ObjectSelector, or Matched for a call


class Server:
    """A Kubernetes API server. It stops at the end of a with statement, and at the latest with the process."""

    url: str
    ca: str  # the authority of the server's certificate; this and the next two are in PEM
    cert: str  # the client certificate of the admin
    key: str
    kubeconfig: pathlib.Path  # has contexts of the admin, which is the current one, and of the users
    webhook_url: str  # the URL of the handlers, for configurations that have a url, and ca as their caBundle
    warnings: list[str]  # about options that don't have the expected effect
    webhooks: Webhooks  # the handlers of this server; reset brings back those of the start

    def __init__(self, **options: Unpack[Options]) -> None:
        """Starts a server with the options of Options, which is ready when the call returns.

        Raises:
            MiniapiError: There is no program, or an option is wrong. The message names the option, and no server runs.
        """
        webhooks = options.pop("webhooks", Webhooks())
        self.webhooks = Webhooks() if isinstance(webhooks, str) else Webhooks(webhooks)
        self._first_webhooks = Webhooks(self.webhooks)
        self._audit = options.pop("audit", None)
        self._log: list[str] = []
        self._users = 0
        self._faulty = False
        with contextlib.ExitStack() as stack:
            body = to_body(options)
            self._host = stack.enter_context(host_for(body))
            address = stack.enter_context(handler_server().serve(self.webhooks))
            body["setup"]["handler"]["address"] = webhooks if isinstance(webhooks, str) else address
            self._path = "/v1/servers"
            if self._audit:
                server = self.request("POST", "", {**body, "audit": True}, wait="configured")
            else:
                server = self.request("POST", "", body)
            self._path += "/" + server["id"]
            stack.callback(self._end)
            if self._audit:
                threading.Thread(target=self._follow, name="miniapi-audit", daemon=True).start()
                server = self.request("GET", "")
            self.url, self.ca, self.cert, self.key = (server[name] for name in ("url", "ca", "cert", "key"))
            self.kubeconfig = pathlib.Path(server["kubeconfig"])
            self.webhook_url, self.warnings = server["webhookURL"], server.get("warnings", [])
            self._running = stack.pop_all()

    def stop(self) -> None:
        """Stops the server. When the method returns, nothing is left of it."""
        self._running.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def request(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        """Makes a request of the control protocol, whose path is below that of the server."""
        return self._host.request(method, self._path + path, body, **query)

    def reset(self) -> None:
        """Brings back the objects and handlers of the start, and removes all faults."""
        if self._faulty:
            self.request("DELETE", "/faults")
            self._faulty = False
        self.request("POST", "/reset")
        self.webhooks.clear()
        self.webhooks.update(self._first_webhooks)

    def snapshot(self) -> str:
        """Copies all objects of the server, and returns the name of the copy."""
        return str(self.request("POST", "/snapshots")["id"])

    def restore(self, snapshot: str) -> None:
        """Brings back the objects of a snapshot, any number of times."""
        self.request("POST", f"/snapshots/{snapshot}/restore")

    def drop(self, snapshot: str) -> None:
        """Gives up a snapshot."""
        self.request("DELETE", f"/snapshots/{snapshot}")

    def apply(self, *paths: Path, text: str = "") -> list[str]:
        """Applies the objects in files, globs or folders, and then those in a text, YAML or JSON, in their order.

        What they configure is in force when the method returns. It returns the server's warnings.
        """
        applied = self.request("POST", "/manifests", {"paths": absolute(paths), "text": text})
        return list(applied.get("warnings", []))

    def user(self, name: str, groups: Sequence[str] = ()) -> pathlib.Path:
        """Returns a kubeconfig for a user, who has a client certificate."""
        certificate = self.request("POST", "/users", {"name": name, "groups": list(groups)})
        self._users += 1
        kubeconfig = self.kubeconfig.with_name(f"kubeconfig-{self._users}")
        kubeconfig.write_text(certificate["kubeconfig"])
        return kubeconfig

    def inject(self, **fault: Any) -> contextlib.ExitStack:
        """Injects a fault into the requests that it selects, until the result is closed or its with statement ends.

        Args:
            fault: The keys of docs/faults.md of miniapi, such as verbs=["update"], requests=3, conflict=True.
        """
        name = self.request("POST", "/faults", {"faults": [to_json(fault)]})["faults"][0]["name"]
        self._faulty = True
        injected = contextlib.ExitStack()
        injected.callback(self._remove, name)
        return injected

    def faults(self) -> list[Object]:
        """Returns the faults, with the numbers of requests that each has selected (matched) and met (injected)."""
        return list(self.request("GET", "/faults")["faults"])

    def record(self, folder: Path) -> None:
        """Writes the calls of handlers from now on, with their responses, as golden files into a folder."""
        self.request("PUT", "/recording", {"folder": absolute(folder)[0]})

    def why(self, webhook: str, target: str) -> list[Answer]:
        """Says why a webhook or policy was asked in the last request for an object, or wasn't.

        Args:
            webhook: KIND/NAME of the configuration or policy, or KIND/NAME/WEBHOOK.
            target: RESOURCE/NAME, whose namespace is default, or RESOURCE/NAMESPACE/NAME.
        """
        query = {"namespace": "default", **_target(target)}
        return [
            Answer(answer["sentence"], answer["called"], "request" in answer, answer["verdict"]["reason"])
            for answer in self.request("GET", "/why", webhook=webhook, **query)["answers"]
        ]

    def requests(self, target: str = "") -> list[Object]:
        """Returns the recorded requests since the start or the last reset, as docs/trace.md of miniapi describes them.

        Args:
            target: RESOURCE, RESOURCE/NAME, RESOURCE/NAMESPACE/NAME, or an empty text for all objects.
        """
        return list(self.request("GET", "/requests", **_target(target))["requests"])

    def timeline(self, target: str = "") -> str:
        """Returns the recorded requests as a text."""
        return str(self.request("GET", "/requests", output="text", **_target(target)))

    def assert_called(self, webhook: str, target: str) -> None:
        """Raises an AssertionError unless a webhook was called in the last request for an object.

        If webhook names a configuration, all its webhooks must have been called. The message has the sentence of why,
        and the timeline.
        """
        __tracebackhide__ = True
        for answer in self.why(webhook, target):
            if not (answer.called and answer.recorded):
                self._refute("a call", target, answer)

    def assert_not_called(self, webhook: str, target: str, reason: str = "") -> None:
        """Raises an AssertionError if a webhook was called in the last request for an object.

        It also raises one if the reason differs, or if there was no request. If webhook names a configuration, the
        assertion is about all its webhooks.
        """
        __tracebackhide__ = True
        for answer in self.why(webhook, target):
            if answer.called or not answer.recorded or reason not in ("", answer.reason):
                self._refute("no call" + (reason and f", for the reason {reason}"), target, answer)

    def _refute(self, want: str, target: str, answer: Answer) -> None:
        __tracebackhide__ = True  # pytest shows the line of the test
        requested = "" if answer.recorded else f", and a request for {target} since the start or the last reset"
        raise AssertionError(f"want {want}{requested}: {answer.sentence}\n{self.timeline(target)}".rstrip())

    def log(self) -> list[str]:
        """Returns the lines of the server's log. If nobody asks for long, the server drops the oldest ones."""
        if not self._audit:
            with self._host.stream("GET", self._path + "/events", follow="false") as response:
                self._read(response)
        return list(self._log)

    def last_failure(self) -> str:
        """Returns the timeline of the object whose request was the last one that failed, or an empty text."""
        failed = [request for request in self.requests() if "error" in request]
        if not failed:
            return ""
        last = failed[-1]
        names = (last.get("namespace"), last["name"]) if "name" in last else ()
        return self.timeline("/".join(filter(None, (last["resource"], *names))))

    def _end(self) -> None:
        if self._host.runs():  # nothing is left of the servers of a host that has ended
            self.request("DELETE", "")

    def _remove(self, fault: str) -> None:
        if any(other["name"] == fault for other in self.faults()):  # a reset has removed it otherwise
            self.request("DELETE", f"/faults/{fault}")

    def _follow(self) -> None:
        with (
            contextlib.suppress(OSError, http.client.HTTPException, MiniapiError),  # the host may end first
            self._host.stream("GET", self._path + "/events") as response,
        ):
            self._read(response)

    def _read(self, response: http.client.HTTPResponse) -> None:
        for line in response:
            event = json.loads(line)
            if "log" in event:
                self._log.append(event["log"])
            if self._audit and "audit" in event:
                try:
                    self._audit(event["audit"])
                finally:
                    self.request("DELETE", f"/audit/{event['number']}")


def _target(text: str) -> dict[str, str]:
    """Returns the parameters for RESOURCE, RESOURCE/NAME or RESOURCE/NAMESPACE/NAME, or for all objects."""
    parts = text.split("/") if text else []
    forms = [(), ("resource",), ("resource", "name"), ("resource", "namespace", "name")]
    if len(parts) >= len(forms) or "" in parts:
        raise ValueError(f"object {text!r}: must be RESOURCE, RESOURCE/NAME or RESOURCE/NAMESPACE/NAME")
    return dict(zip(forms[len(parts)], parts))
