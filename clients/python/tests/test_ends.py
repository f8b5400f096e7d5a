"""A host ends with its test process, and leaves nothing."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path
from typing import Any

import pytest

from miniapi import Server

# Starts servers in two hosts, prints what they have, and waits.
TEST_PROCESS = """
import json, os, sys, time, miniapi
servers = [miniapi.Server(), miniapi.Server(), miniapi.Server(emulated_version="1.36")]
child = os.fork() if "fork" in sys.argv else 0
if "fork" in sys.argv and child == 0:
    time.sleep(600)
print(json.dumps({
    "child": child,
    "processes": [server._host.request("GET", "/v1")["pid"] for server in servers],
    "urls": [server.url for server in servers],
    "folders": [str(server.kubeconfig.parent) for server in servers],
}), flush=True)
if "exit" not in sys.argv:
    time.sleep(600)
"""


def runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def is_open(url: str) -> bool:
    address = urllib.parse.urlsplit(url)
    with socket.socket() as connection:
        return connection.connect_ex((address.hostname, address.port)) == 0


def what_is_left(started: dict[str, Any]) -> list[object]:
    return [
        *filter(runs, started["processes"]),
        *filter(is_open, started["urls"]),
        *filter(os.path.exists, started["folders"]),
    ]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("how", ["kill", "kill fork", "exit"])
def test_end_of_the_test_process(how: str) -> None:  # 21
    process = subprocess.Popen([sys.executable, "-c", TEST_PROCESS, *how.split()], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        started = json.loads(process.stdout.readline())
        assert len(set(started["processes"])) == 2
        if how == "exit":
            assert process.wait(60) == 0
        else:
            process.kill()
    try:
        deadline = time.monotonic() + 60
        while (left := what_is_left(started)) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert left == []
    finally:
        if started["child"]:
            os.kill(started["child"], signal.SIGKILL)


def test_host_of_other_settings_ends_with_its_servers(miniapi_server: Server) -> None:
    with Server(emulated_version="1.36") as one, Server(emulated_version="1.36") as other:
        process = one._host.request("GET", "/v1")["pid"]
        assert other._host.request("GET", "/v1")["pid"] == process
        assert miniapi_server._host.request("GET", "/v1")["pid"] != process
    assert not runs(process)


def test_host_is_started_again() -> None:
    with Server(emulated_version="1.36") as server:
        os.kill(server._host.request("GET", "/v1")["pid"], signal.SIGKILL)
        server._host._process.wait()
        with pytest.raises(Exception, match="the host doesn't answer"):
            server.reset()
        with Server(emulated_version="1.36") as other:
            other.reset()
