"""A webhook that refuses namespaces without the label owner."""

import kubernetes
import pytest

import miniapi


def owners(request):
    """Answers the request of an AdmissionReview."""
    if "owner" in request["object"]["metadata"].get("labels", {}):
        return miniapi.allowed()
    return miniapi.denied("set the label owner")


@pytest.fixture
def core(miniapi_server):
    miniapi_server.webhooks.admission("/validate")(owners)
    return kubernetes.client.CoreV1Api(kubernetes.config.new_client_from_config(str(miniapi_server.kubeconfig)))


def test_owned(core):
    core.create_namespace({"metadata": {"name": "team", "labels": {"owner": "me"}}})


def test_orphan(core):
    with pytest.raises(kubernetes.client.ApiException, match="set the label owner"):
        core.create_namespace({"metadata": {"name": "team"}})


def test_conflict(core, miniapi_server):
    core.create_namespace({"metadata": {"name": "team", "labels": {"owner": "me"}}})
    with miniapi_server.inject(verbs=["patch"], resources=["namespaces"], requests=1, conflict=True):
        with pytest.raises(kubernetes.client.ApiException, match="the object has been modified"):
            core.patch_namespace("team", {"metadata": {"labels": {"owner": "you"}}})
        core.patch_namespace("team", {"metadata": {"labels": {"owner": "you"}}})
    miniapi_server.assert_called("ValidatingWebhookConfiguration/owners", "namespaces/team")
