"""What a server has besides the behaviours of the suite."""

import base64
from pathlib import Path
from typing import Any, Callable

import pytest
import yaml
from conftest import TESTDATA, client, config_map
from kubernetes import config
from kubernetes.client import ApiException, CoreV1Api

import miniapi
from miniapi import Server, Webhooks

VALIDATE = "ValidatingWebhookConfiguration/validate"


def test_reset_forgets_requests_faults_and_handlers(miniapi_server: Server, core: CoreV1Api) -> None:
    miniapi_server.webhooks.admission("/validate")(lambda _: miniapi.allowed())
    fault = miniapi_server.inject(verbs=["get"], status=503)
    core.create_namespaced_config_map("default", config_map("a", "validate"))
    miniapi_server.assert_called(VALIDATE, "configmaps/a")
    miniapi_server.reset()
    fault.close()
    assert miniapi_server.faults() == []
    assert dict(miniapi_server.webhooks) == {}
    assert miniapi_server.requests() == []
    assert miniapi_server.timeline("configmaps/a") == ""
    with pytest.raises(AssertionError, match="want a call, and a request for configmaps/a since the start or the last"):
        miniapi_server.assert_called(VALIDATE, "configmaps/a")
    with pytest.raises(AssertionError, match="want no call, and a request for configmaps/a"):
        miniapi_server.assert_not_called(VALIDATE, "configmaps/a")


def test_assert_not_called(miniapi_server: Server, core: CoreV1Api) -> None:
    miniapi_server.webhooks.admission("/validate")(lambda _: miniapi.allowed())
    core.create_namespaced_config_map("default", config_map("a", "validate"))
    with pytest.raises(AssertionError, match=r"want no call: .* was called"):
        miniapi_server.assert_not_called(VALIDATE, "configmaps/a")
    core.create_namespaced_config_map("default", config_map("b"))
    with pytest.raises(AssertionError, match=r"want no call, for the reason RuleResource: .*objectSelector"):
        miniapi_server.assert_not_called(VALIDATE, "configmaps/b", "RuleResource")


@pytest.mark.parametrize("target", ["configmaps//a", "a/b/c/d", "/"])
def test_wrong_target(miniapi_server: Server, target: str) -> None:
    with pytest.raises(ValueError, match="must be RESOURCE, RESOURCE/NAME or RESOURCE/NAMESPACE/NAME"):
        miniapi_server.requests(target)


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (None, "TypeError: returned None: must be allowed()"),
        ({"patch": "e30="}, "must be allowed()"),
        ({"allowed": False}, "denied the request"),
    ],
)
def test_wrong_response(miniapi_server: Server, response: dict[str, Any], message: str) -> None:
    miniapi_server.webhooks.admission("/validate")(lambda _: response)
    with pytest.raises(ApiException) as failed:
        CoreV1Api(client(miniapi_server.kubeconfig)).create_namespaced_config_map(
            "default", config_map("a", "validate")
        )
    assert message in str(failed.value)


def test_no_handler(miniapi_server: Server, core: CoreV1Api) -> None:
    miniapi_server.webhooks.admission("/other")(lambda _: miniapi.allowed())
    with pytest.raises(ApiException, match="the handler of /validate: LookupError: there is none: there is /other"):
        core.create_namespaced_config_map("default", config_map("a", "validate"))


def test_handlers_of_servers_are_separate(miniapi_start: Callable[..., Server]) -> None:
    webhooks = Webhooks()
    webhooks.admission("/validate")(lambda _: miniapi.denied("as at the start"))
    one, other = miniapi_start(webhooks=webhooks), miniapi_start(webhooks=webhooks)
    other.webhooks.admission("/validate")(lambda _: miniapi.denied("replaced"))
    for server, message in ((one, "as at the start"), (other, "replaced")):
        with pytest.raises(ApiException, match=message):
            CoreV1Api(client(server.kubeconfig)).create_namespaced_config_map("default", config_map("a", "validate"))
    other.reset()
    with pytest.raises(ApiException, match="as at the start"):
        CoreV1Api(client(other.kubeconfig)).create_namespaced_config_map("default", config_map("a", "validate"))


def test_webhooks_by_url_and_service(miniapi_start: Callable[..., Server]) -> None:
    """A configuration that comes after the start may name a service of the options, or the URL of the handlers."""
    server = miniapi_start(webhook_manifests=(), webhook_services=["system/webhook-service"])
    server.webhooks.admission("/validate")(lambda request: miniapi.denied(f"no {request['name']}"))
    core = CoreV1Api(client(server.kubeconfig))
    server.apply(TESTDATA / "webhooks.yaml")
    with pytest.raises(ApiException, match="no by-service"):
        core.create_namespaced_config_map("default", config_map("by-service", "validate"))
    _, configuration = yaml.safe_load_all((TESTDATA / "webhooks.yaml").read_text())
    webhook = configuration["webhooks"][0]
    webhook["clientConfig"] = {
        "url": server.webhook_url + "validate",
        "caBundle": base64.b64encode(server.ca.encode()).decode(),
    }
    server.apply(text=yaml.safe_dump(configuration))
    with pytest.raises(ApiException, match="no by-url"):
        core.create_namespaced_config_map("default", config_map("by-url", "validate"))


@pytest.mark.miniapi(users={"bob": ["system:masters"]}, controllers=["*"], flags=["--max-requests-inflight=10"])
def test_user_has_context(miniapi_server: Server) -> None:
    bob = config.new_client_from_config(config_file=str(miniapi_server.kubeconfig), context="bob")
    assert CoreV1Api(bob).list_node().items == []


def test_audit(miniapi_start: Callable[..., Server]) -> None:
    events: list[dict[str, Any]] = []
    rules = [{"level": "Metadata", "resources": [{"resources": ["secrets"]}]}, {"level": "None"}]
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": rules}
    server = miniapi_start(audit=events.append, audit_policy=policy)
    events.clear()
    CoreV1Api(client(server.kubeconfig)).list_namespaced_secret("default")
    assert [(event["verb"], event["objectRef"]["resource"]) for event in events] == [("list", "secrets")]
    assert any("Serving securely" in line for line in server.log())


def test_record(miniapi_server: Server, core: CoreV1Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    miniapi_server.webhooks.admission("/validate")(lambda _: miniapi.allowed())
    monkeypatch.chdir(tmp_path)
    miniapi_server.record("golden")
    core.create_namespaced_config_map("default", config_map("a", "validate"))
    assert len(list((tmp_path / "golden").iterdir())) == 1


def test_log(miniapi_server: Server) -> None:
    assert any("Serving securely" in line for line in miniapi_server.log())


def test_files_are_found_after_a_change_of_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}")
    monkeypatch.chdir(tmp_path)
    with Server(manifests="a.yaml", data_dir="data") as server:
        CoreV1Api(client(server.kubeconfig)).read_namespaced_config_map("a", "default")
        server.apply("*.yaml")
    assert (tmp_path / "data").is_dir()


def test_last_failure(miniapi_server: Server, core: CoreV1Api) -> None:
    assert miniapi_server.last_failure() == ""
    miniapi_server.webhooks.admission("/validate")(lambda _: miniapi.denied("no"))
    for metadata in ({"name": "a"}, {"generateName": "b-"}):
        with pytest.raises(ApiException):
            core.create_namespaced_config_map("default", {"metadata": {**metadata, "labels": {"webhook": "validate"}}})
        assert 'admission webhook "validate.example.com" denied the request: no' in miniapi_server.last_failure()
