package integration_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

const (
	exact      = admissionregistrationv1.Exact
	equivalent = admissionregistrationv1.Equivalent
)

func matchPolicy(policy admissionregistrationv1.MatchPolicyType) change {
	return func(h *hook) { h.MatchPolicy = &policy }
}

// deploymentVersions are the versions in which a Deployment can be read and written.
var deploymentVersions = []string{"extensions/v1beta1", "apps/v1beta1", "apps/v1beta2", "apps/v1"}

func deployment(groupVersion, name string) *unstructured.Unstructured {
	labels := map[string]any{"app": "web"}
	return object(groupVersion, "Deployment", name, map[string]any{"spec": map[string]any{
		"replicas": int64(1),
		"selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web"}}},
		},
	}})
}

// asked has the parts of a review that depend on versions. The resource and the kind are in the version of the review.
// The request's resource and kind are in the version of the client's request. The other fields are the versions and
// kinds of the objects.
type asked struct {
	Operation                    admissionv1.Operation
	Resource, Kind               string
	RequestResource, RequestKind string
	Object, OldObject            string
}

func askedOf(t testing.TB, r *admissionv1.AdmissionRequest) asked {
	t.Helper()
	resource := func(r metav1.GroupVersionResource, subresource string) string {
		return strings.TrimSuffix(groupVersion(r.Group, r.Version)+" "+r.Resource+"/"+subresource, "/")
	}
	kind := func(k metav1.GroupVersionKind) string { return groupVersion(k.Group, k.Version) + " " + k.Kind }
	version := func(raw []byte) string {
		if raw == nil {
			return ""
		}
		var object metav1.TypeMeta
		if err := json.Unmarshal(raw, &object); err != nil {
			t.Errorf("reading what the webhook was sent: %v", err)
		}
		return object.APIVersion + " " + object.Kind
	}
	return asked{
		Operation: r.Operation,
		Resource:  resource(r.Resource, r.SubResource), Kind: kind(r.Kind),
		RequestResource: resource(*r.RequestResource, r.RequestSubResource), RequestKind: kind(*r.RequestKind),
		Object: version(r.Object.Raw), OldObject: version(r.OldObject.Raw),
	}
}

func groupVersion(group, version string) string { return strings.TrimPrefix(group+"/"+version, "/") }

// With Exact, a webhook is called only for requests in the versions of its rules. With Equivalent, it is called for
// requests in every version. The objects are then in the version of its rule, and the review names that version. The
// cases match.policy.* of the conformance suite test two versions at a time. This test has four versions of a resource,
// and tests each pair.
func TestMatchPolicy(t *testing.T) {
	t.Parallel()
	sameKind := func(version string) string { return version + " Deployment" }
	scale := func(version string) string {
		if version == "apps/v1" {
			return "autoscaling/v1 Scale"
		}
		return version + " Scale"
	}
	tests := []struct {
		name, reason string
		resource     string
		kind         func(version string) string
		// request makes requests in a version, and returns the operations that are reviewed.
		request func(t *testing.T, srv *miniapitest.Server, version string) []admissionv1.Operation
	}{{
		name:     "deployments",
		reason:   "all versions, including extensions/v1beta1, have the same objects",
		resource: "deployments", kind: sameKind,
		request: func(t *testing.T, srv *miniapitest.Server, version string) []admissionv1.Operation {
			deployments := resources(srv, version, "deployments")
			must(deployments.Create(t.Context(), deployment(version, "web"), metav1.CreateOptions{}))(t)
			must(deployments.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":2}}`), metav1.PatchOptions{}))(t)
			ok(t, deployments.Delete(t.Context(), "web", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
			return []admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete}
		},
	}, {
		name:     "status",
		reason:   "a subresource is equivalent to itself in other versions",
		resource: "deployments/status", kind: sameKind,
		request: func(t *testing.T, srv *miniapitest.Server, version string) []admissionv1.Operation {
			must(resources(srv, version, "deployments").Patch(t.Context(), "scaled", types.MergePatchType, []byte(`{"status":{"observedGeneration":1}}`), metav1.PatchOptions{}, "status"))(t)
			return []admissionv1.Operation{admissionv1.Update}
		},
	}, {
		name:     "scale",
		reason:   "the kind of a scale depends on the version of the scaled object",
		resource: "deployments/scale", kind: scale,
		request: func(t *testing.T, srv *miniapitest.Server, version string) []admissionv1.Operation {
			must(resources(srv, version, "deployments").Patch(t.Context(), "scaled", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{}, "scale"))(t)
			return []admissionv1.Operation{admissionv1.Update}
		},
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv := miniapitest.Start(t, miniapitest.Legacy())
			must(resources(srv, "apps/v1", "deployments").Create(t.Context(), deployment("apps/v1", "scaled"), metav1.CreateOptions{}))(t)
			var hooks []hook
			for _, version := range deploymentVersions {
				for _, policy := range []admissionregistrationv1.MatchPolicyType{exact, equivalent} {
					hooks = append(hooks, validating(hookName(policy, version), allow(), matchPolicy(policy), on("*", version, test.resource)))
				}
			}
			recorder := install(t, srv, hooks...)

			for _, version := range deploymentVersions {
				recorder.Reset()
				operations := test.request(t, srv, version)
				want := map[string][]asked{}
				for _, operation := range operations {
					for _, of := range deploymentVersions {
						a := asked{
							Operation: operation, Resource: of + " " + test.resource, Kind: test.kind(of),
							RequestResource: version + " " + test.resource, RequestKind: test.kind(version),
						}
						if operation != admissionv1.Delete {
							a.Object = a.Kind
						}
						if operation != admissionv1.Create {
							a.OldObject = a.Kind
						}
						want[hookName(equivalent, of)] = append(want[hookName(equivalent, of)], a)
					}
				}
				want[hookName(exact, version)] = want[hookName(equivalent, version)]
				if diff := cmp.Diff(want, reviewsBy(t, recorder)); diff != "" {
					t.Errorf("a request in %s: %s: reviews (-want +got):\n%s", version, test.reason, diff)
				}
			}
		})
	}
}

func hookName(policy admissionregistrationv1.MatchPolicyType, version string) string {
	return strings.ToLower(string(policy)) + "-" + strings.ReplaceAll(version, "/", "-")
}

// reviewsBy returns the reviews by the name of the hook.
func reviewsBy(t testing.TB, recorder *miniapitest.Recorder) map[string][]asked {
	t.Helper()
	reviews := map[string][]asked{}
	for _, review := range recorder.Reviews() {
		name := strings.TrimPrefix(review.Path, "/")
		reviews[name] = append(reviews[name], askedOf(t, review.Request))
	}
	return reviews
}

// The server really converts the objects in a review: their fields differ. A patch applies to the version of the
// review, and the server converts the result back. The cases match.policy.converted and match.policy.patchedBack of the
// conformance suite convert from autoscaling/v2 to v1. This test has the other direction, and other kinds and groups.
func TestMatchPolicyConversion(t *testing.T) {
	t.Parallel()
	// This annotation stands for the old field spec.rollbackTo.revision.
	const rollback = "deprecated.deployment.rollback.to"
	srv := miniapitest.Start(t, miniapitest.Legacy())
	tests := []struct {
		name, reason string
		object       *unstructured.Unstructured
		resource     string
		// version is the version of the hook's rule. sees is the path of a field of the objects in the hook's reviews,
		// and seesThis is the field's value.
		version  string
		sees     []string
		seesThis any
		patch    miniapitest.PatchOperation
		// field is the path of a field of the object in the response to the client, in the client's version, and want
		// is the field's value.
		field []string
		want  any
	}{{
		name: "annotation-to-field", reason: "apps/v1 has an annotation where apps/v1beta1 has a field",
		object: func() *unstructured.Unstructured {
			d := deployment("apps/v1", "new")
			d.SetAnnotations(map[string]string{rollback: "7"})
			return d
		}(),
		resource: "deployments", version: "apps/v1beta1",
		sees: []string{"spec", "rollbackTo", "revision"}, seesThis: int64(7),
		patch: miniapitest.Replace("/spec/rollbackTo/revision", 8),
		field: []string{"metadata", "annotations", rollback}, want: "8",
	}, {
		name: "field-to-annotation", reason: "a field of extensions/v1beta1 becomes an annotation in apps/v1",
		object: func() *unstructured.Unstructured {
			d := deployment("extensions/v1beta1", "old")
			_ = unstructured.SetNestedField(d.Object, int64(7), "spec", "rollbackTo", "revision")
			return d
		}(),
		resource: "deployments", version: "apps/v1",
		sees: []string{"metadata", "annotations", rollback}, seesThis: "7",
		patch: miniapitest.Add("/metadata/annotations/"+rollback, "9"),
		field: []string{"spec", "rollbackTo", "revision"}, want: int64(9),
	}, {
		name: "default", reason: "the object has the defaults of the client's version",
		object: deployment("apps/v1", "defaults"), resource: "deployments", version: "extensions/v1beta1",
		sees: []string{"spec", "progressDeadlineSeconds"}, seesThis: int64(600),
		patch: miniapitest.Replace("/spec/progressDeadlineSeconds", 700),
		field: []string{"spec", "progressDeadlineSeconds"}, want: int64(700),
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			recorder := install(t, srv, mutating(test.name, patch(test.patch), matchPolicy(equivalent), on("CREATE", test.version, test.resource)))
			created := must(resources(srv, test.object.GetAPIVersion(), test.resource).Create(t.Context(), test.object, metav1.CreateOptions{}))(t)

			seen := &unstructured.Unstructured{}
			if err := seen.UnmarshalJSON(only(t, recorder).Object.Raw); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.version, seen.GetAPIVersion()); diff != "" {
				t.Errorf("the version that the webhook sees (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.seesThis, fieldOf(seen, test.sees...)); diff != "" {
				t.Errorf("%s: what the webhook sees (-want +got):\n%s", test.reason, diff)
			}
			if diff := cmp.Diff(test.object.GetAPIVersion(), created.GetAPIVersion()); diff != "" {
				t.Errorf("the version that the client gets (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, fieldOf(created, test.field...)); diff != "" {
				t.Errorf("%s: what the client gets (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// If webhooks have rules for different versions, each webhook gets the changes of the earlier webhooks. A change of a
// scale applies in all versions.
func TestMatchPolicyVersionsInOneChain(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.Legacy())
	var hooks []hook
	for i, version := range deploymentVersions {
		hooks = append(hooks, mutating(string(rune('a'+i)), answering(func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			var scale struct{ Spec struct{ Replicas int } }
			if err := json.Unmarshal(r.Object.Raw, &scale); err != nil {
				return miniapitest.Denied(err.Error())
			}
			return miniapitest.Patched(miniapitest.Replace("/spec/replicas", scale.Spec.Replicas*2))
		}), matchPolicy(equivalent), on("UPDATE", version, "deployments/scale")))
	}
	recorder := install(t, srv, hooks...)
	for _, version := range deploymentVersions {
		recorder.Reset()
		deployments, name := resources(srv, version, "deployments"), strings.ReplaceAll(version, "/", "-")
		must(deployments.Create(t.Context(), deployment(version, name), metav1.CreateOptions{}))(t)
		scale := must(deployments.Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{}, "scale"))(t)
		if diff := cmp.Diff(any(int64(48)), fieldOf(scale, "spec", "replicas")); diff != "" {
			t.Errorf("%s: replicas after four webhooks have doubled them (-want +got):\n%s", version, diff)
		}
		if diff := cmp.Diff([]string{"a", "b", "c", "d"}, called(recorder)); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", version, diff)
		}
	}
}
