"""An operator that is written with kopf runs against a server."""

import asyncio
import threading
from typing import Any

import kopf
import pytest
from kubernetes import watch
from kubernetes.client import CustomObjectsApi

from miniapi import Server

WIDGETS = ("example.com", "v1", "default", "widgets")


def test_operator(miniapi_server: Server, objects: CustomObjectsApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(miniapi_server.kubeconfig))
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry)(kopf.login_with_kubeconfig)

    @kopf.on.create("example.com", "v1", "widgets", registry=registry)
    def double(spec: kopf.Spec, patch: kopf.Patch, **_: Any) -> None:
        patch.status["double"] = 2 * spec["size"]

    ready, stop = threading.Event(), threading.Event()

    async def run() -> None:
        await kopf.operator(registry=registry, namespaces=["default"], ready_flag=ready, stop_flag=stop)

    operator = threading.Thread(target=lambda: asyncio.run(run()))
    operator.start()
    try:
        assert ready.wait(60)
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 3}}
        objects.create_namespaced_custom_object(*WIDGETS, widget)
        for event in watch.Watch().stream(objects.list_namespaced_custom_object, *WIDGETS, timeout_seconds=60):
            if "double" in (status := event["object"].get("status", {})):
                break
        assert status["double"] == 6
    finally:
        stop.set()
        operator.join()
