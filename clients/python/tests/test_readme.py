"""README.md shows the files of the example as they are."""

import re
from pathlib import Path

PROJECT = Path(__file__).parents[1]


def test_files() -> None:
    shown = re.findall(r"<!-- (\S+) -->\n```\w+\n(.*?)```", (PROJECT / "README.md").read_text(), re.DOTALL)
    assert len(shown) == 2
    for name, content in shown:
        assert content == (PROJECT / name).read_text()
