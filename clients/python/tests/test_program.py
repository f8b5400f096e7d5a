"""The program is found, or the error says what to do."""

import os
import platform
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

import pytest

from miniapi import MiniapiError
from miniapi._host import Host
from miniapi._program import find

PROJECT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes an environment without a program."""
    monkeypatch.delenv("MINIAPI", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def program(path: Path, script: str = "") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="has the places of Linux")
def test_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MiniapiError, match=r"no miniapi program in .*set \$MINIAPI to the path"):
        find()
    on_path = program(tmp_path / "bin" / "miniapi")
    assert find() == on_path
    program(tmp_path / "cache" / "miniapi" / "fixture" / "checkout-1" / "miniapi")
    assert find() == on_path
    older = program(tmp_path / "cache" / "miniapi" / "fixture" / "v0.1.0" / "miniapi")
    os.utime(older, (1, 1))
    newer = program(tmp_path / "cache" / "miniapi" / "fixture" / "v0.0.9" / "miniapi")
    assert find() == newer
    named = program(tmp_path / "named")
    monkeypatch.setenv("MINIAPI", named)
    assert find() == named
    monkeypatch.setenv("MINIAPI", str(tmp_path))
    with pytest.raises(MiniapiError, match=r"\$MINIAPI: .* isn't a file"):
        find()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo unknown command >&2; exit 1", "failed: unknown command"),
        ('echo \'{"protocol": "v9"}\'; cat', "has the protocol v9: this package needs a miniapi with the protocol v1"),
    ],
)
def test_other_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str) -> None:
    monkeypatch.setenv("PATH", os.defpath)
    with pytest.raises(MiniapiError, match=message):
        Host(program(tmp_path / "other", script))


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="installs the wheel of Linux")
def test_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheels of a release bring the command miniapi."""
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.setenv("PYTHON", sys.executable)
    for system, name in [("linux_amd64", "miniapi"), ("windows_arm64", "miniapi.exe")]:
        program(tmp_path / name, "echo from the wheel")
        with tarfile.open(tmp_path / f"miniapi_1.2.3_{system}.tar.gz", "w:gz") as archive:
            archive.add(tmp_path / name, name)
    subprocess.run([PROJECT / "pack", "v1.2.3", tmp_path, tmp_path], check=True)
    assert {built.name for built in tmp_path.glob("miniapi-*")} == {
        "miniapi-1.2.3-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl",
        "miniapi-1.2.3-py3-none-win_arm64.whl",
        "miniapi-1.2.3-py3-none-any.whl",
        "miniapi-1.2.3.tar.gz",
    }
    venv.create(tmp_path / "venv")
    python = str(tmp_path / "venv" / "bin" / "python")
    install = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*install, *tmp_path.glob("*manylinux*.whl")], check=True)
    found = subprocess.run(
        [python, "-c", "from miniapi._program import find; print(find())"], check=True, capture_output=True, text=True
    ).stdout.strip()
    assert found == str(tmp_path / "venv" / "bin" / "miniapi")
    assert subprocess.run([found], check=True, capture_output=True, text=True).stdout == "from the wheel\n"
