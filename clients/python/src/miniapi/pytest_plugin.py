"""The fixtures of pytest."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Callable, cast

import pytest

from ._options import Options
from ._program import MiniapiError
from ._server import Server

if TYPE_CHECKING:
    from typing_extensions import Unpack

_INI = ("crds", "manifests", "webhook_manifests")

_servers = pytest.StashKey[list[Server]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options of the configuration file."""
    for name in _INI:
        parser.addini(f"miniapi_{name}", f"the option {name} of miniapi.Server: files, globs or folders", type="paths")


def pytest_configure(config: pytest.Config) -> None:
    """Adds the marker."""
    config.addinivalue_line(
        "markers",
        "miniapi(**options): run the test with a server of its own, with these options of miniapi.Server besides those "
        "of the fixture miniapi_options",
    )


@pytest.fixture(scope="session")
def miniapi_options(pytestconfig: pytest.Config) -> Options:
    """The options of all servers: those of the configuration file. Override the fixture in conftest.py for others."""
    return cast(Options, {name: pytestconfig.getini(f"miniapi_{name}") for name in _INI})


@pytest.fixture(scope="session")
def _miniapi_shared(miniapi_options: Options) -> Iterator[Server]:
    with Server(**miniapi_options) as server:
        yield server


@pytest.fixture
def miniapi_start(request: pytest.FixtureRequest, miniapi_options: Options) -> Iterator[Callable[..., Server]]:
    """A function that starts a server for the test. Its arguments replace those of the fixture miniapi_options."""
    with contextlib.ExitStack() as stack:

        def start(**options: Unpack[Options]) -> Server:
            all_options: Options = {**miniapi_options, **options}
            return _observe(request.node, stack.enter_context(Server(**all_options)))

        yield start


@pytest.fixture
def miniapi_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """The server of the session, which is reset after the test. The marker miniapi gives the test one of its own."""
    if marker := request.node.get_closest_marker("miniapi"):
        yield request.getfixturevalue("miniapi_start")(**marker.kwargs)
        return
    server: Server = request.getfixturevalue("_miniapi_shared")
    yield _observe(request.node, server)
    server.reset()


def _observe(item: pytest.Item, server: Server) -> Server:
    item.stash.setdefault(_servers, []).append(server)
    return server


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the timeline of the last request that failed to the report of a test that fails."""
    report = yield
    if report.when == "call" and report.failed:
        for server in item.stash.get(_servers, []):
            with contextlib.suppress(MiniapiError):  # the test may have stopped the server
                if timeline := server.last_failure():
                    report.sections.append((f"miniapi {server.url}: the last request that failed", timeline))
    return report
