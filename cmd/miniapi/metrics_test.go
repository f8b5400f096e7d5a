package main

import (
	"regexp"
	"testing"
)

// The program serves metrics that only a main function may register in the process.
func TestMetrics(t *testing.T) {
	t.Parallel()
	_, config := serve(t, "--feature-gates=WatchList=false")
	content, err := client(t, config).CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, sample, reason string }{
		{"build", `kubernetes_build_info{.*git_version="v1\.\d+\.\d+\+miniapi.*} 1`, "it says what /version says"},
		{"feature gate that is on", `kubernetes_feature_enabled{name="APIServerIdentity",stage="[A-Z]*"} 1`, "it is on by default"},
		{"feature gate that is off", `kubernetes_feature_enabled{name="WatchList",stage="[A-Z]*"} 0`, "the flag says so"},
		{"requests", `rest_client_requests_total{code="200",.*} \d+`, "the server asks itself"},
		{"version", `version_info{.*component="kube",.*} 1`, "it may be emulated"},
	} {
		if !regexp.MustCompile(`(?m)^` + test.sample + `$`).Match(content) {
			t.Errorf("%s: no sample is like %s: %s", test.name, test.sample, test.reason)
		}
	}
}
