"""The fixtures, in a pytest of their own."""

import pytest

TESTS = """
import pytest
from miniapi import MiniapiError

CONFIG_MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}"
servers = set()

@pytest.fixture(scope="session")
def miniapi_options(miniapi_options):
    return {**miniapi_options, "enable_plugins": ["AlwaysPullImages"]}

@pytest.mark.parametrize("number", range(2))
def test_shared(miniapi_server, number):
    assert not any("default/a" in line for line in miniapi_server.timeline().splitlines())
    miniapi_server.apply(text=CONFIG_MAP)
    servers.add(miniapi_server.url)
    assert len(servers) == 1

@pytest.mark.miniapi(enable_plugins=[])
def test_marked(miniapi_server):
    assert miniapi_server.url not in servers

def test_started(miniapi_server, miniapi_start):
    assert len({miniapi_server.url, miniapi_start().url, miniapi_start(controllers=["*"]).url} - servers) == 2

def test_definition(miniapi_server):
    miniapi_server.apply(text="{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: default}}")

def test_that_fails(miniapi_server):
    miniapi_server.webhooks.admission("/validate")(lambda request: request["no such field"])
    with pytest.raises(MiniapiError):
        miniapi_server.apply(text=CONFIG_MAP.replace("name: a", "name: a, labels: {webhook: validate}"))
    assert False
"""


def test_fixtures(pytester: pytest.Pytester, pytestconfig: pytest.Config) -> None:
    testdata = pytestconfig.rootpath.parent / "testdata"
    pytester.makepyprojecttoml(f"""
        [tool.pytest.ini_options]
        miniapi_crds = ["{testdata}/widgets.yaml"]
        miniapi_webhook_manifests = ["{testdata}/webhooks.yaml"]
    """)
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("--strict-markers")
    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*miniapi https://127.0.0.1:*: the last request that failed*",
            "*CREATE of configmaps default/a by system:admin -> 500*",
            "*validate.example.com called*failed*",
        ]
    )


def test_help(pytester: pytest.Pytester) -> None:
    pytester.runpytest("--markers").stdout.fnmatch_lines(["@pytest.mark.miniapi(**options): *"])
    pytester.runpytest("--help").stdout.fnmatch_lines(["*miniapi_crds (paths): *"])
