package conformance_test

import (
	"net/http"
	"strings"
)

// observedMutations break promises about the metrics and the audit log of admission.
var observedMutations = []mutation{
	{name: "writes no audit log", caughtBy: "dryRun.audited audit.*", unaudited: true},
	{name: "counts no rejections", caughtBy: "metrics.rejection.*", request: func(r *http.Request) { r.Header.Del("Accept-Encoding") }, response: answeredBy("GET", "/metrics", func(r *http.Response) {
		setBody(r, []byte(strings.ReplaceAll(string(readAll(r.Body)), "apiserver_admission_webhook_rejection_count", "rejections")))
	})},
}
