#!/usr/bin/env python3
"""An admission webhook that refuses namespaces without the label owner.

The webhook needs only Python. With a certificate by the server's authority, it needs no other configuration:

    miniapi serve --webhook-service owners-system/owners-webhook=127.0.0.1:9443 --apply ../webhook/config &
    miniapi cert owners-system/owners-webhook --dir certs
    python3 webhook.py --port 9443 --certs certs
"""

import argparse
import http.server
import json
import pathlib
import ssl
import urllib.parse


def review(request):
    """Answers the request of an AdmissionReview."""
    labels = request["object"]["metadata"].get("labels") or {}
    if labels.get("owner"):
        return {"uid": request["uid"], "allowed": True}
    return {
        "uid": request["uid"],
        "allowed": False,
        "status": {"code": 403, "message": "set the label owner"},
    }


class Webhook(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # the server reuses connections
    # The header and the body of an answer leave in one write. With two, the second waits 40 ms for the server to
    # acknowledge the first.
    wbufsize = -1

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        # The URL has a query, as in /validate?timeout=10s.
        if urllib.parse.urlsplit(self.path).path != "/validate":
            return self.answer(404, b"no webhook is served here")
        try:
            asked = json.loads(body)
            answer = {
                "apiVersion": asked["apiVersion"],
                "kind": asked["kind"],
                "response": review(asked["request"]),
            }
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return self.answer(400, b"want an AdmissionReview")
        return self.answer(200, json.dumps(answer).encode(), "application/json")

    def answer(self, code, body, content_type="text/plain"):
        self.send_response(code)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=9443, help="0 takes a free one")
    parser.add_argument("--certs", type=pathlib.Path, default=pathlib.Path("certs"), help="folder of tls.crt and tls.key")
    args = parser.parse_args()

    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(args.certs / "tls.crt", args.certs / "tls.key")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", args.port), Webhook)
    # The connection's own thread does the handshake, at its first read.
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print(f"listening on 127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
