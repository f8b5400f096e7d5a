"""Lets pages link to files outside of docs/, such as ../examples: on the site, the links lead to the repository."""

import logging
import os
import re

REPOSITORY = "https://github.com/miniapi-dev/miniapi/blob/main/"
OUTSIDE = re.compile(r"\]\(\.\./([^)#\s]+)(#[^)\s]*)?\)")

log = logging.getLogger("mkdocs.hooks.links")


def on_page_markdown(markdown, page, config, files):
    root = os.path.dirname(config["docs_dir"])

    def to_repository(link):
        path, anchor = link.group(1), link.group(2) or ""
        if not os.path.exists(os.path.join(root, path)):
            log.warning("%s links to ../%s, which doesn't exist", page.file.src_path, path)
        return f"]({REPOSITORY}{path}{anchor})"

    return OUTSIDE.sub(to_repository, markdown)
