"""Kubernetes API servers for tests, in milliseconds.

    with miniapi.Server(crds="config/crd") as server:
        client = kubernetes.config.new_client_from_config(server.kubeconfig)

The servers run in one process, "miniapi host", which starts with the first of them and ends with the test process.
"""

from ._options import Options
from ._program import MiniapiError
from ._server import Answer, Server
from ._webhooks import Webhooks, allowed, denied, patched

__all__ = ["Answer", "MiniapiError", "Options", "Server", "Webhooks", "allowed", "denied", "patched"]
