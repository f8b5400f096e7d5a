"""kr8s works with the kubeconfig of a server."""

import kr8s
import pytest
from kr8s.objects import ConfigMap

import miniapi
from miniapi import Server


@pytest.mark.filterwarnings("ignore:Kubernetes version .* is not supported")
def test_kr8s(miniapi_server: Server) -> None:
    miniapi_server.webhooks.admission("/validate")(lambda _: miniapi.denied("no owner"))
    api = kr8s.api(kubeconfig=str(miniapi_server.kubeconfig))
    settings = ConfigMap({"metadata": {"name": "a", "namespace": "default"}, "data": {"key": "value"}}, api=api)
    settings.create()
    assert ConfigMap.get("a", namespace="default", api=api).data.key == "value"
    with pytest.raises(kr8s.ServerError, match="no owner"):
        settings.label(webhook="validate")
