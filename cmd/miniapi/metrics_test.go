package main

import (
	"bytes"
	"regexp"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
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

// By default, a scraper that accepts protobuf gets the histograms in their native form, too. kube-apiserver has this
// default since 1.37 (KEP-5808).
func TestNativeHistograms(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		flag         string
		want         bool
	}{
		{"by default", "the gate is on in Kubernetes 1.37", "--feature-gates=", true},
		{"off", "the gate turns the native form off", "--feature-gates=NativeHistograms=false", false},
		{"of an earlier version", "the gate is off in Kubernetes 1.36", "--emulated-version=1.36", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, config := serve(t, test.flag)
			delimited := expfmt.NewFormat(expfmt.TypeProtoDelim)
			content, err := client(t, config).CoreV1().RESTClient().Get().AbsPath("/metrics").SetHeader("Accept", string(delimited)).DoRaw(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var family dto.MetricFamily
			for decoder := expfmt.NewDecoder(bytes.NewReader(content), delimited); family.GetName() != "apiserver_request_duration_seconds"; {
				family.Reset()
				if err := decoder.Decode(&family); err != nil {
					t.Fatalf("read the metrics up to apiserver_request_duration_seconds: %v", err)
				}
			}
			for _, metric := range family.GetMetric() {
				histogram := metric.GetHistogram()
				if len(histogram.GetBucket()) == 0 {
					t.Errorf("want buckets of the classic form: %v", metric)
				}
				if native := len(histogram.GetPositiveSpan()) > 0; native != test.want {
					t.Errorf("want native form %t because %s: %v", test.want, test.reason, metric)
				}
			}
		})
	}
}
