package integration_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// A client gets a warning if it uses a version that is deprecated in the emulated version of Kubernetes, and the audit
// event has an annotation. If only a later version of Kubernetes deprecates the used version, there is no warning and
// no annotation.
func TestDeprecatedVersions(t *testing.T) {
	t.Parallel()
	const agent = "deprecated"
	events := make(chan *auditv1.Event, 1)
	policy := &auditv1.Policy{Rules: []auditv1.PolicyRule{{Level: auditv1.LevelMetadata}}}
	srv := miniapitest.Start(t, miniapitest.WithAPIs("api/beta", "api/alpha"), miniapitest.WithFeatureGates(workloads), miniapitest.WithAudit(policy, func(e *auditv1.Event) {
		if e.UserAgent == agent && e.Stage == auditv1.StageResponseComplete {
			events <- e
		}
	}))
	client, seen := warned(t, srv)
	for _, tc := range []struct {
		path, reason string
		want         []string
		marked       string
	}{
		{
			"/apis/resource.k8s.io/v1beta2/resourceclaims", "the version is deprecated since 1.36",
			[]string{"299 - resource.k8s.io/v1beta2 ResourceClaim is deprecated in v1.36+, unavailable in v1.39+"}, "true",
		},
		{"/apis/resource.k8s.io/v1beta2/devicetaintrules", "the version will be deprecated in 1.39", nil, ""},
		{"/apis/scheduling.k8s.io/v1beta1/workloads", "the version will be deprecated in 1.40", nil, ""},
		{"/apis/resource.k8s.io/v1/resourceclaims", "the version isn't deprecated", nil, ""},
	} {
		ok(t, client.CoreV1().RESTClient().Get().AbsPath(tc.path).SetHeader("User-Agent", agent).Do(t.Context()).Error())
		if diff := cmp.Diff(tc.want, seen.take()); diff != "" {
			t.Errorf("%s: %s: warnings (-want +got):\n%s", tc.path, tc.reason, diff)
		}
		if got := (<-events).Annotations["k8s.io/deprecated"]; got != tc.marked {
			t.Errorf("%s: %s: marked %q in the audit log, want %q", tc.path, tc.reason, got, tc.marked)
		}
	}
}
