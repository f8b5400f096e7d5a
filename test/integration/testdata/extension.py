# A runtime extension that knows the hooks from their OpenAPI document alone. The arguments are the files of a certificate and
# of its key. The first line of the output is the port.
import http.server, json, ssl, sys

GROUP = "hooks.runtime.cluster.x-k8s.io/v1alpha1"
HANDLERS = [{"name": "quota", "requestHook": {"apiVersion": GROUP, "hook": "BeforeClusterCreate"}}]


class Extension(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        hook = request["kind"].removesuffix("Request")
        response = {"apiVersion": GROUP, "kind": hook + "Response", "status": "Success"}
        if hook == "Discovery":
            response["handlers"] = HANDLERS
        else:
            response["message"] = "hello " + request["cluster"]["metadata"]["name"]
            response["retryAfterSeconds"] = 7
        body = json.dumps(response).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server, tls = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Extension), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(*sys.argv[1:])
server.socket = tls.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
