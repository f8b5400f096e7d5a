package mutations_test

import (
	"net/http"
)

// serviceMutations break promises about webhooks that are behind a Service.
var serviceMutations = []mutation{
	{name: "drops the port of a service", caughtBy: "service.port", request: onServices(func(s object) { delete(s, "port") })},
	{name: "calls a service at port 80 by default", caughtBy: "service.port.default",
		request: onServices(func(s object) { s["port"] = 80 })},
	{name: "drops the path of a service", caughtBy: "service.path", request: onServices(func(s object) { delete(s, "path") })},
	{name: "calls a service at another path by default", caughtBy: "service.path.default",
		request: onServices(func(s object) { s["path"] = "/admit" })},
	{name: "names another server in handshakes", caughtBy: "service.serverName", review: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hook" {
				r.TLS.ServerName = "hook.default.svc"
			}
			next.ServeHTTP(w, r)
		})
	}},
	{name: "ignores missing services", caughtBy: "service.fail.* service.certificate", request: field("failurePolicy", "Ignore")},
	{name: "refuses for missing services", caughtBy: "service.ignore.*", request: field("failurePolicy", "Fail")},
}
