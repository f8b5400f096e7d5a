package integration_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// severalVersions are kinds with several versions. Deployment isn't among them, because TestMatchPolicy tests it. The
// function spec returns a spec that is valid in the version.
var severalVersions = []struct {
	kind, reason string
	versions     []string
	spec         func(version string) map[string]any
	scales       bool
}{{
	kind: "ReplicaSet", reason: "the kind has moved from one group to another",
	versions: []string{"extensions/v1beta1", "apps/v1beta2", "apps/v1"}, spec: workload, scales: true,
}, {
	kind: "StatefulSet", reason: "the kind has two old versions in its own group",
	versions: []string{"apps/v1beta1", "apps/v1beta2", "apps/v1"}, scales: true,
	spec: func(version string) map[string]any {
		spec := workload(version)
		spec["serviceName"] = "web"
		return spec
	},
}, {
	kind: "DaemonSet", reason: "the kind has moved, and has no scale",
	versions: []string{"extensions/v1beta1", "apps/v1beta2", "apps/v1"},
	spec: func(version string) map[string]any {
		spec := workload(version)
		delete(spec, "replicas")
		return spec
	},
}, {
	kind: "Ingress", reason: "the kind has moved, and its backend has another form in v1",
	versions: []string{"extensions/v1beta1", "networking.k8s.io/v1beta1", "networking.k8s.io/v1"},
	spec: func(version string) map[string]any {
		if version == "networking.k8s.io/v1" {
			return map[string]any{"defaultBackend": map[string]any{"service": map[string]any{"name": "web", "port": map[string]any{"number": int64(80)}}}}
		}
		return map[string]any{"backend": map[string]any{"serviceName": "web", "servicePort": int64(80)}}
	},
}, {
	kind: "NetworkPolicy", reason: "the kind has moved from one group to another",
	versions: []string{"extensions/v1beta1", "networking.k8s.io/v1"},
	spec:     func(string) map[string]any { return map[string]any{"podSelector": map[string]any{}} },
}, {
	kind: "HorizontalPodAutoscaler", reason: "both versions are served today, and write metrics differently",
	versions: []string{"autoscaling/v1", "autoscaling/v2"},
	spec: func(string) map[string]any {
		return map[string]any{"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": int64(5)}
	},
}, {
	kind: "PodDisruptionBudget", reason: "an empty selector means something else in v1",
	versions: []string{"policy/v1beta1", "policy/v1"},
	spec:     func(string) map[string]any { return map[string]any{"minAvailable": int64(1)} },
}, {
	kind: "CronJob", reason: "the versions of the kind have the same JSON",
	versions: []string{"batch/v1beta1", "batch/v1"},
	spec: func(string) map[string]any {
		return map[string]any{"schedule": "@daily", "jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "containers": []any{map[string]any{"name": "web", "image": "web"}},
		}}}}}
	},
}}

// workload returns the spec of a Deployment, which is also valid for other kinds that make pods.
func workload(version string) map[string]any {
	return fieldOf(deployment(version, "web"), "spec").(map[string]any)
}

// A webhook with a rule for one version of a kind is called for requests in all versions. It gets objects in the
// version of its rule, and the client gets its patch.
func TestMatchPolicyOfOtherKinds(t *testing.T) {
	t.Parallel()
	for _, test := range severalVersions {
		t.Run(test.kind, func(t *testing.T) {
			t.Parallel()
			srv := miniapitest.Start(t, miniapitest.Legacy())
			resource, ofScale := resourceOf(test.kind), func(version string) string { return strings.ReplaceAll(version, "/", "-") + "-scale" }
			var hooks []hook
			for _, version := range test.versions {
				label := strings.ReplaceAll(version, "/", "_")
				hooks = append(hooks,
					mutating(hookName(equivalent, version), patch(miniapitest.Add("/metadata/labels/"+label, "seen")), matchPolicy(equivalent), on("CREATE", version, resource)),
					validating(hookName(exact, version), allow(), matchPolicy(exact), on("CREATE", version, resource)),
					validating(ofScale(version), allow(), matchPolicy(equivalent), on("UPDATE", version, resource+"/scale")),
				)
			}
			recorder := install(t, srv, hooks...)
			kinds := func() map[string][]string {
				kinds := map[string][]string{}
				for name, reviews := range reviewsBy(t, recorder) {
					for _, review := range reviews {
						kinds[name] = append(kinds[name], review.Object)
					}
				}
				return kinds
			}

			for _, version := range test.versions {
				recorder.Reset()
				client, name := resources(srv, version, resource), strings.ReplaceAll(version, "/", "-")
				o := object(version, test.kind, name, map[string]any{"spec": test.spec(version)})
				o.SetLabels(map[string]string{"own": "label"})
				created := must(client.Create(t.Context(), o, metav1.CreateOptions{}))(t)
				want, labels := map[string][]string{hookName(exact, version): {version + " " + test.kind}}, map[string]string{"own": "label"}
				for _, of := range test.versions {
					want[hookName(equivalent, of)] = []string{of + " " + test.kind}
					labels[strings.ReplaceAll(of, "/", "_")] = "seen"
				}
				if diff := cmp.Diff(want, kinds()); diff != "" {
					t.Errorf("created in %s: %s: objects that were sent (-want +got):\n%s", version, test.reason, diff)
				}
				if diff := cmp.Diff(labels, created.GetLabels()); diff != "" || created.GetAPIVersion() != version {
					t.Errorf("created in %s: %s: labels in %s (-want +got):\n%s", version, test.reason, created.GetAPIVersion(), diff)
				}

				if !test.scales {
					continue
				}
				recorder.Reset()
				must(client.Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{}, "scale"))(t)
				want = map[string][]string{}
				for _, of := range test.versions {
					scale := of
					if of == "apps/v1" {
						scale = "autoscaling/v1"
					}
					want[ofScale(of)] = []string{scale + " Scale"}
				}
				if diff := cmp.Diff(want, kinds()); diff != "" {
					t.Errorf("scaled in %s: %s: objects that were sent (-want +got):\n%s", version, test.reason, diff)
				}
			}
		})
	}
}

// convertBy adds a conversion webhook to a CustomResourceDefinition of the group example.com.
func convertBy(t testing.TB, srv *miniapitest.Server, resource string, converter http.Handler) {
	t.Helper()
	conversion := must(json.Marshal(map[string]any{"spec": map[string]any{"conversion": map[string]any{
		"strategy": "Webhook",
		"webhook":  map[string]any{"clientConfig": srv.Webhook("/convert", converter).ClientConfig(), "conversionReviewVersions": []string{"v1"}},
	}}}))(t)
	must(clusterResources(srv, "apiextensions.k8s.io/v1", "customresourcedefinitions").Patch(t.Context(), resource+".example.com", types.MergePatchType, conversion, metav1.PatchOptions{}))(t)
}

// renaming returns a conversion webhook for versions in which the only field of the spec has different names. The
// argument fields maps each version to the name.
func renaming(fields map[string]string) http.Handler {
	version := func(apiVersion string) string { return apiVersion[strings.LastIndex(apiVersion, "/")+1:] }
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		review := apiextensionsv1.ConversionReview{}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		to := review.Request.DesiredAPIVersion
		review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
		for _, raw := range review.Request.Objects {
			o := &unstructured.Unstructured{}
			if err := json.Unmarshal(raw.Raw, o); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			if spec, found := fieldOf(o, "spec").(map[string]any); found {
				from := fields[version(o.GetAPIVersion())]
				value := spec[from]
				delete(spec, from)
				spec[fields[version(to)]] = value
			}
			o.SetAPIVersion(to)
			review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Object: o})
		}
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review) // an error means that the client is gone
	})
}
