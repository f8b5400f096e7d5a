"""Finds the program miniapi."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

_EXECUTABLE = "miniapi.exe" if sys.platform == "win32" else "miniapi"


class MiniapiError(Exception):
    """Says why the host refused a request, or why there is no host."""


def find() -> str:
    """Returns the path of the program.

    It is that of $MINIAPI, or else the first one in the user's cache, on the PATH, or in the wheel of this package.
    """
    if named := os.environ.get("MINIAPI"):
        if not os.path.isfile(named):
            raise MiniapiError(f"$MINIAPI: {named} isn't a file: the value must be the path of a miniapi program")
        return os.path.abspath(named)
    cache = _user_cache() / "miniapi" / "fixture"
    # The names of other folders are those of checkouts, whose programs may be of any state.
    cached = sorted(cache.glob(f"v*/{_EXECUTABLE}"), key=lambda program: program.stat().st_mtime)
    if cached:
        return str(cached[-1])
    wheel = os.path.join(sysconfig.get_path("scripts"), _EXECUTABLE)
    if found := shutil.which("miniapi") or shutil.which(wheel):
        return found
    raise MiniapiError(
        f"there is no miniapi program in {cache}, on the PATH or in {os.path.dirname(wheel)}: install miniapi, or set "
        "$MINIAPI to the path of its program"
    )


def _user_cache() -> Path:
    """Returns the folder that is os.UserCacheDir in Go."""
    if sys.platform == "win32":
        return Path(os.environ["LOCALAPPDATA"])
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
