"""The suite of clients/README.md: the comment of a test has the number of its behaviour."""

from typing import Any, Callable

import pytest
from conftest import client, config_map
from kubernetes import watch
from kubernetes.client import ApiException, AuthorizationV1Api, CoreV1Api, CustomObjectsApi, RbacAuthorizationV1Api

import miniapi
from miniapi import MiniapiError, Server

WIDGETS = ("example.com", "v1", "default", "widgets")
VALIDATE = "ValidatingWebhookConfiguration/validate"


def names(core: CoreV1Api) -> set[str]:
    return {each.metadata.name for each in core.list_namespaced_config_map("default").items}


def widget(size: int) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": f"size-{size}"},
        "spec": {"size": size},
    }


def test_starts(core: CoreV1Api) -> None:  # 1
    core.create_namespaced_config_map("default", config_map("a", key="value"))
    assert core.read_namespaced_config_map("a", "default").data == {"key": "value"}


def test_servers_are_separate(miniapi_start: Callable[..., Server]) -> None:  # 2
    one, other = (CoreV1Api(client(miniapi_start().kubeconfig)) for _ in range(2))
    one.create_namespaced_config_map("default", config_map("a"))
    assert "a" in names(one)
    assert "a" not in names(other)


def test_reset(miniapi_start: Callable[..., Server]) -> None:  # 3
    server = miniapi_start(objects=[{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}])
    core = CoreV1Api(client(server.kubeconfig))
    core.create_namespaced_config_map("default", config_map("a"))
    core.delete_namespace("team")
    server.reset()
    assert "a" not in names(core)
    assert core.read_namespace("team").metadata.deletion_timestamp is None


def test_snapshot(miniapi_server: Server, core: CoreV1Api) -> None:  # 4
    core.create_namespaced_config_map("default", config_map("a"))
    snapshot = miniapi_server.snapshot()
    for _ in range(2):
        core.delete_namespaced_config_map("a", "default")
        miniapi_server.restore(snapshot)
        assert "a" in names(core)
    miniapi_server.drop(snapshot)
    with pytest.raises(MiniapiError, match="no snapshot"):
        miniapi_server.restore(snapshot)


def test_definition(objects: CustomObjectsApi) -> None:  # 5
    objects.create_namespaced_custom_object(*WIDGETS, widget(1))
    with pytest.raises(ApiException, match=r"spec\.size.*greater than or equal to 1"):
        objects.create_namespaced_custom_object(*WIDGETS, widget(0))
    listed = objects.list_namespaced_custom_object(*WIDGETS)["items"]
    assert [each["metadata"]["name"] for each in listed] == ["size-1"]


def test_apply(miniapi_server: Server, core: CoreV1Api) -> None:  # 6
    miniapi_server.apply(text="{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}")
    assert "a" in names(core)
    with pytest.raises(MiniapiError, match='no matches for kind "Gadget"'):
        miniapi_server.apply(text="{apiVersion: v1, kind: Gadget, metadata: {name: a}}")


def test_validate(miniapi_server: Server, core: CoreV1Api) -> None:  # 7
    @miniapi_server.webhooks.admission("/validate")
    def validate(request: dict[str, Any]) -> dict[str, Any]:
        return miniapi.denied(f"{request['name']} isn't welcome", warnings=["be careful"])

    with pytest.raises(ApiException, match="a isn't welcome") as refused:
        core.create_namespaced_config_map("default", config_map("a", "validate"))
    assert refused.value.status == 403
    assert "be careful" in refused.value.headers["Warning"]


def test_mutate(miniapi_server: Server, core: CoreV1Api) -> None:  # 8
    @miniapi_server.webhooks.admission("/mutate")
    def mutate(request: dict[str, Any]) -> dict[str, Any]:
        return miniapi.patched([{"op": "add", "path": "/metadata/annotations", "value": {"by": request["operation"]}}])

    created = core.create_namespaced_config_map("default", config_map("a", "mutate"))
    assert created.metadata.annotations == {"by": "CREATE"}


def test_deletion(miniapi_server: Server, core: CoreV1Api) -> None:  # 9
    deleted = []

    @miniapi_server.webhooks.admission("/validate")
    def validate(request: dict[str, Any]) -> dict[str, Any]:
        if request["operation"] == "DELETE":
            deleted.append(request["oldObject"]["data"])
        return miniapi.allowed()

    core.create_namespaced_config_map("default", config_map("a", "validate", key="value"))
    core.delete_namespaced_config_map("a", "default")
    assert deleted == [{"key": "value"}]


def test_dry_run(miniapi_server: Server, core: CoreV1Api) -> None:  # 10
    dry_runs = []

    @miniapi_server.webhooks.admission("/validate")
    def validate(request: dict[str, Any]) -> dict[str, Any]:
        dry_runs.append(request["dryRun"])
        return miniapi.allowed()

    core.create_namespaced_config_map("default", config_map("a", "validate"), dry_run="All")
    assert dry_runs == [True]
    assert "a" not in names(core)


def test_conversion(miniapi_server: Server, objects: CustomObjectsApi) -> None:  # 11
    @miniapi_server.webhooks.conversion("/convert")
    def convert(widget: dict[str, Any], version: str) -> dict[str, Any]:
        assert version == "example.com/v1alpha1"
        return {**widget, "spec": {"width": widget["spec"]["size"]}}

    objects.create_namespaced_custom_object(*WIDGETS, widget(3))
    earlier = objects.get_namespaced_custom_object("example.com", "v1alpha1", "default", "widgets", "size-3")
    assert earlier["apiVersion"] == "example.com/v1alpha1"
    assert earlier["spec"] == {"width": 3}


def test_handler_raises(miniapi_server: Server, core: CoreV1Api) -> None:  # 12
    @miniapi_server.webhooks.admission("/validate")
    def validate(request: dict[str, Any]) -> dict[str, Any]:
        raise KeyError("owner")

    with pytest.raises(ApiException, match=r"validate\.example\.com.*KeyError: 'owner'"):
        core.create_namespaced_config_map("default", config_map("a", "validate"))


def test_fault(miniapi_server: Server, core: CoreV1Api) -> None:  # 13, 14
    core.create_namespaced_config_map("default", config_map("a"))
    with miniapi_server.inject(verbs=["update"], resources=["configmaps"], requests="3-", conflict=True):
        for number in ("1", "2"):
            core.replace_namespaced_config_map("a", "default", config_map("a", number=number))
        with pytest.raises(ApiException, match="the object has been modified") as conflict:
            core.replace_namespaced_config_map("a", "default", config_map("a", number="3"))
        assert conflict.value.status == 409
        assert [(fault["matched"], fault["injected"]) for fault in miniapi_server.faults()] == [(3, 1)]
    core.replace_namespaced_config_map("a", "default", config_map("a", number="4"))
    assert core.read_namespaced_config_map("a", "default").data == {"number": "4"}


def test_why(miniapi_server: Server, core: CoreV1Api) -> None:  # 15
    core.create_namespaced_config_map("default", config_map("a"))
    (answer,) = miniapi_server.why(VALIDATE, "configmaps/a")
    assert not answer.called
    assert answer.recorded
    assert answer.reason == "ObjectSelector"
    assert "requires webhook=validate, and the object has no label webhook" in answer.sentence
    miniapi_server.assert_not_called(VALIDATE, "configmaps/a", "ObjectSelector")


def test_assertion(miniapi_server: Server, core: CoreV1Api) -> None:  # 16
    core.create_namespaced_config_map("default", config_map("a"))
    with pytest.raises(AssertionError) as failed:
        miniapi_server.assert_called(VALIDATE, "configmaps/default/a")
    assert "requires webhook=validate, and the object has no label webhook." in str(failed.value)
    assert "CREATE of configmaps default/a" in str(failed.value).splitlines()[1]


def test_user(miniapi_server: Server, core: CoreV1Api) -> None:  # 17
    alice = client(miniapi_server.user("alice", ["dev"]))
    with pytest.raises(ApiException, match='User \\\\"alice\\\\" cannot list'):
        CoreV1Api(alice).list_namespaced_config_map("default")
    RbacAuthorizationV1Api(core.api_client).create_namespaced_role_binding(
        "default",
        {
            "metadata": {"name": "view"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "dev"}],
        },
    )
    CoreV1Api(alice).list_namespaced_config_map("default")
    review = {"spec": {"resourceAttributes": {"verb": "delete", "resource": "configmaps", "namespace": "default"}}}
    assert not AuthorizationV1Api(alice).create_self_subject_access_review(review).status.allowed


def test_server_side_apply(core: CoreV1Api) -> None:  # 18
    def apply(manager: str, force: bool) -> dict[str, str]:
        applied = core.patch_namespaced_config_map(
            "a",
            "default",
            {"apiVersion": "v1", "kind": "ConfigMap", **config_map("a", owner=manager)},
            field_manager=manager,
            force=force,
            _content_type="application/apply-patch+yaml",
        )
        return dict(applied.data)

    apply("one", force=False)
    with pytest.raises(ApiException, match=r'conflicts with \\"one\\":'):
        apply("other", force=False)
    assert apply("other", force=True) == {"owner": "other"}


def test_watch(core: CoreV1Api) -> None:  # 19
    version = core.list_namespaced_config_map("default").metadata.resource_version
    core.create_namespaced_config_map("default", config_map("a"))
    core.patch_namespaced_config_map("a", "default", {"data": {"key": "value"}})
    core.delete_namespaced_config_map("a", "default")
    events = watch.Watch().stream(
        core.list_namespaced_config_map, "default", resource_version=version, timeout_seconds=60
    )
    assert [next(events)["type"] for _ in range(3)] == ["ADDED", "MODIFIED", "DELETED"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"flags": ["--bogus"]}, "unknown flag: --bogus"),
        ({"crds": "none.yaml"}, "none.yaml: no such file"),
        ({"feature_gates": {"Bogus": True}}, 'featureGates: feature gate "Bogus" is unknown'),
        ({"webhooks": "http://192.0.2.1:80"}, "must be localhost or a loopback address"),
        ({"colour": "blue"}, 'unknown field "colour"'),
        ({"audit": print, "flags": ["--bogus"]}, "unknown flag: --bogus"),
    ],
)
def test_wrong_option(miniapi_server: Server, option: miniapi.Options, message: str) -> None:  # 20
    running = miniapi_server._host.request("GET", "/v1/servers")
    with pytest.raises(MiniapiError, match=message):
        Server(**option)
    assert miniapi_server._host.request("GET", "/v1/servers") == running
