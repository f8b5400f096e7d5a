from pathlib import Path

import pytest
from kubernetes import config
from kubernetes.client import ApiClient, CoreV1Api, CustomObjectsApi

from miniapi import Server

pytest_plugins = ["pytester"]

TESTDATA = Path(__file__).parents[2] / "testdata"


def client(kubeconfig: Path) -> ApiClient:
    return config.new_client_from_config(config_file=str(kubeconfig))


@pytest.fixture
def core(miniapi_server: Server) -> CoreV1Api:
    return CoreV1Api(client(miniapi_server.kubeconfig))


@pytest.fixture
def objects(miniapi_server: Server) -> CustomObjectsApi:
    return CustomObjectsApi(client(miniapi_server.kubeconfig))


def config_map(name: str, webhook: str = "", **data: str) -> dict[str, object]:
    """Returns a ConfigMap, for whose label a webhook is called."""
    labels = {"webhook": webhook} if webhook else {}
    return {"metadata": {"name": name, "labels": labels}, "data": data}
