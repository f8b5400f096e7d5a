"""The options of servers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable, TypedDict, Union

from ._webhooks import Object, Webhooks

Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Iterable[Path]]
"""Files, globs or folders."""


class Workloads(TypedDict, total=False):
    """The controllers of workloads, with a scheduler and nodes whose pods pretend to be ready."""

    nodes: int  # the number of nodes, 1 by default
    stages: Sequence[str]  # files with kwok's Stages, or names of sets of stages such as "crash-loop:app=web"
    run_pods: bool  # runs the containers of pods with the annotation miniapi.dev/command as processes, as this user


class Options(TypedDict, total=False):
    """The options of a server."""

    crds: Paths  # CustomResourceDefinitions, which are installed before all other objects
    manifests: Paths  # objects, which are applied in their order
    objects: Sequence[Object]  # applied after the manifests
    webhook_manifests: Paths  # webhook configurations, whose services stand for the handlers in webhooks
    webhooks: Webhooks | str  # handlers, or the URL of an HTTP server on a loopback address that has them
    webhook_services: Sequence[str]  # further services that stand for the handlers, as NAMESPACE/NAME
    users: Mapping[str, Sequence[str]]  # users with their groups; each has a context of its name in the kubeconfig
    trace: bool  # records the decisions of admission about the last 1000 requests; the default is true
    feature_gates: Mapping[str, bool]
    emulated_version: str  # the Kubernetes version whose behaviour the server has
    enable_plugins: Sequence[str]  # admission plugins
    disable_plugins: Sequence[str]
    runtime_config: Mapping[str, str]  # further API versions, as in kube-apiserver's flag --runtime-config
    controllers: Sequence[str]  # controllers that run in the server: names, * for all, or -NAME to exclude one
    workloads: Workloads  # runs workloads, whose pods pretend to be ready; it may be empty
    data_dir: Path  # keeps the data
    exempt_group: str  # a group whose users' requests webhooks and policies don't review
    flags: Sequence[str]  # other flags of "miniapi serve", as --name or --name=value
    audit: Callable[[Object], None]  # is called with each audit event before the request ends, in another thread
    audit_policy: Object  # a Policy of audit.k8s.io/v1; without it, all requests are audited


# The options that aren't fields of the protocol's setup.
_SETTINGS = {"feature_gates", "emulated_version", "enable_plugins", "disable_plugins", "runtime_config", "controllers"}
_SETTINGS |= {"workloads", "data_dir", "exempt_group", "flags", "audit_policy"}


def to_body(options: Options) -> dict[str, Any]:
    """Returns options in the form of the protocol, but for webhooks and audit."""
    given: dict[str, Any] = {"trace": True, **options}
    for name in given.keys() & {"crds", "manifests", "webhook_manifests"}:
        given[name] = absolute(given[name])
    if "workloads" in given:
        stages = given["workloads"].get("stages", ())
        stages = [os.path.abspath(value) if os.path.exists(value) else value for value in stages]
        given["workloads"] = to_json({**given["workloads"], "stages": stages})
    if "data_dir" in given:
        given["data_dir"] = os.path.abspath(given["data_dir"])
    services = [dict(zip(("namespace", "name"), name.split("/", 1))) for name in given.pop("webhook_services", ())]
    users = [{"name": name, "groups": groups} for name, groups in given.pop("users", {}).items()]
    setup = to_json({name: given.pop(name) for name in given.keys() - _SETTINGS})
    return {**to_json(given), "setup": {**setup, "users": users, "handler": {"services": services}}}


def to_json(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Returns keys in the form of the protocol, such as retryAfter for retry_after."""
    return {re.sub("_uid|_[a-z]", lambda match: match[0][1:].upper(), key): value for key, value in keys.items()}


def absolute(paths: Paths) -> list[str]:
    """Returns absolute paths, because the working directories of this process and of the host may differ."""
    return [os.path.abspath(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
