"""A test of a policy with an API server in a container, by Testcontainers:

    pip install testcontainers kubernetes pytest
    pytest

The package miniapi of clients/python needs no container engine, and starts a server for each test.
"""

import os
import pathlib

import pytest
import yaml
from kubernetes import client, config
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

IMAGE = os.environ.get("MINIAPI_IMAGE", "ghcr.io/miniapi-dev/miniapi:0.1.0")
POLICY = pathlib.Path(__file__).parent.parent / "policies" / "cost-center" / "policy.yaml"


@pytest.fixture(scope="session")
def api(tmp_path_factory):
    """A client of the server, which has the policy from its start."""
    server = (
        DockerContainer(IMAGE, command="serve --bind-address=0.0.0.0 --apply=/kube/policy.yaml")
        .with_volume_mapping(POLICY, "/kube/policy.yaml")
        .with_exposed_ports(6443)
        .waiting_for(LogMessageWaitStrategy("miniapi is ready"))
    )
    with server:
        file = tmp_path_factory.mktemp("kube") / "kubeconfig"
        server.copy_from_container("/kube/miniapi.kubeconfig", file)
        kubeconfig = yaml.safe_load(file.read_text())
        host, port = server.get_container_host_ip(), server.get_exposed_port(6443)
        cluster = kubeconfig["clusters"][0]["cluster"]
        cluster |= {"server": f"https://{host}:{port}", "tls-server-name": "localhost"}
        yield config.new_client_from_config_dict(kubeconfig)


def test_deployment_has_cost_center_of_namespace(api):
    labels = {"app": "web"}
    client.CoreV1Api(api).create_namespace(
        {"metadata": {"name": "shop", "labels": {"cost-center": "4711"}}}
    )
    created = client.AppsV1Api(api).create_namespaced_deployment(
        "shop",
        {
            "metadata": {"name": "web"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "web", "image": "nginx"}]},
                },
            },
        },
    )
    assert created.metadata.labels == {"cost-center": "4711"}
