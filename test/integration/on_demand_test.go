package integration_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// workloads are the feature gates with which workloads, groups of pods and evictions are served.
var workloads = map[string]bool{"GenericWorkload": true, "TopologyAwareWorkloadScheduling": true, "CompositePodGroup": true, "EvictionRequestAPI": true}

// Kinds are served in v1 by default. An option can turn on older versions, and kinds without a version v1. A kind whose
// feature gate is off isn't served, even by name.
func TestKindsOnDemand(t *testing.T) {
	t.Parallel()
	versions := []struct{ gv, resource string }{
		{"certificates.k8s.io/v1", "clustertrustbundles"},
		{"certificates.k8s.io/v1", "podcertificaterequests"},
		{"resource.k8s.io/v1", "devicetaintrules"},
		{"storagemigration.k8s.io/v1", "storageversionmigrations"},
		{"certificates.k8s.io/v1beta1", "clustertrustbundles"},
		{"certificates.k8s.io/v1beta1", "podcertificaterequests"},
		{"resource.k8s.io/v1beta2", "devicetaintrules"},
		{"storagemigration.k8s.io/v1beta1", "storageversionmigrations"},
		{"coordination.k8s.io/v1beta1", "leasecandidates"},
		{"scheduling.k8s.io/v1beta1", "workloads"},
		{"scheduling.k8s.io/v1beta1", "podgroups"},
		{"resource.k8s.io/v1alpha3", "devicetaintrules"},
		{"coordination.k8s.io/v1alpha2", "leasecandidates"},
		{"scheduling.k8s.io/v1alpha3", "compositepodgroups"},
		{"scheduling.k8s.io/v1alpha3", "podgroups"},
		{"lifecycle.k8s.io/v1alpha1", "evictionrequests"},
		{"certificates.k8s.io/v1alpha1", "clustertrustbundles"},
	}
	const ga, gated, beta, alpha = 4, 9, 11, 16
	for _, test := range []struct {
		name, reason string
		apis         []string
		gates        map[string]bool
		served       []int
	}{
		{"default", "these versions are on by default in kube-apiserver", nil, nil, []int{0, ga}},
		{"one", "a version is asked for by name", []string{"scheduling.k8s.io/v1beta1"}, workloads, []int{0, ga, gated, beta}},
		{"gate off", "the feature gate GenericWorkload is off by default", []string{"scheduling.k8s.io/v1beta1"}, nil, []int{0, ga}},
		{"resource with its gate off", "the gate counts for a resource that is asked for by name, too",
			[]string{"scheduling.k8s.io/v1beta1/workloads"}, nil, []int{0, ga}},
		{"another gate off", "the feature gates of kinds that are served by default can be turned off", nil,
			map[string]bool{"ClusterTrustBundle": false, "PodCertificateRequest": false, "ClusterTrustBundleProjection": false},
			[]int{2, ga}},
		{"beta", "api/beta turns on all beta versions", []string{"api/beta"}, workloads, []int{0, beta}},
		{"alpha", "all alpha versions that kube-apiserver still has", []string{"api/alpha"}, workloads, []int{0, ga, beta, alpha}},
		{"legacy", "all versions that kube-apiserver no longer has", []string{"api/legacy"}, nil, []int{0, ga, alpha, len(versions)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := must(kubernetes.NewForConfig(miniapitest.Start(t, miniapitest.WithAPIs(test.apis...), miniapitest.WithFeatureGates(test.gates)).Config()))(t)
			for i, v := range versions {
				want := i >= test.served[0] && i < test.served[1] || len(test.served) > 2 && i >= test.served[2] && i < test.served[3]
				list, err := client.Discovery().ServerResourcesForGroupVersion(v.gv)
				got := err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == v.resource })
				if got != want {
					t.Errorf("%s: %s of %s served: %t, want %t", test.reason, v.resource, v.gv, got, want)
				}
			}
		})
	}
}
