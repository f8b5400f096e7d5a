"""Puts a program into a wheel, as the command miniapi."""

import os
import sysconfig
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ProgramBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Makes a wheel for one platform if $MINIAPI_WHEEL_PROGRAM names the program for it.

    $MINIAPI_WHEEL_PLATFORM has the wheel's platform tags, such as manylinux_2_17_aarch64.musllinux_1_1_aarch64, and by
    default that of this machine. Without a program, the wheel is for any platform.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the program to the scripts of the wheel."""
        program = os.environ.get("MINIAPI_WHEEL_PROGRAM")
        if not program or version == "editable":
            return
        here = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        platform = os.environ.get("MINIAPI_WHEEL_PLATFORM") or here
        windows = platform.startswith("win")
        build_data["shared_scripts"][os.path.abspath(program)] = "miniapi.exe" if windows else "miniapi"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
