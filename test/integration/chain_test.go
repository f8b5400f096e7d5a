package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// requests has a request for each operation of admission, for the ConfigMap "thing" with the label app=thing. Except
// for the create, all requests need an existing ConfigMap.
var requests = []struct {
	name, reason string
	// creates is true if the ConfigMap must not exist before the request. deletes is true if it doesn't exist after the
	// request.
	creates, deletes bool
	do               func(context.Context, kubernetes.Interface) error
}{
	{"create", "a new object", true, false, func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().ConfigMaps("default").Create(ctx, thing(), metav1.CreateOptions{})
		return err
	}},
	{"apply to create", "apply creates an object that doesn't exist", true, false, applyThing},
	{"update", "the whole object is sent", false, false, func(ctx context.Context, client kubernetes.Interface) error {
		changed := thing()
		changed.Data = map[string]string{"by": "update"}
		_, err := client.CoreV1().ConfigMaps("default").Update(ctx, changed, metav1.UpdateOptions{})
		return err
	}},
	{"json patch", "operations are sent", false, false, patchThing(types.JSONPatchType, `[{"op":"add","path":"/data/by","value":"json patch"}]`)},
	{"merge patch", "a part is sent", false, false, patchThing(types.MergePatchType, `{"data":{"by":"merge patch"}}`)},
	{"strategic merge patch", "a part is sent, merged by the schema", false, false, patchThing(types.StrategicMergePatchType, `{"data":{"by":"strategic"}}`)},
	{"apply", "the part that a manager owns is sent", false, false, applyThing},
	{"delete", "one object is deleted", false, true, func(ctx context.Context, client kubernetes.Interface) error {
		return client.CoreV1().ConfigMaps("default").Delete(ctx, "thing", metav1.DeleteOptions{})
	}},
	{"deletecollection", "all selected objects are deleted", false, true, func(ctx context.Context, client kubernetes.Interface) error {
		return client.CoreV1().ConfigMaps("default").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=thing"})
	}},
}

func thing() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "thing", Labels: map[string]string{"app": "thing"}},
		Data:       map[string]string{"made": "first"},
	}
}

func applyThing(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().ConfigMaps("default").Apply(ctx,
		corev1ac.ConfigMap("thing", "default").WithData(map[string]string{"by": "apply"}), metav1.ApplyOptions{FieldManager: "test"})
	return err
}

func patchThing(patchType types.PatchType, patch string) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().ConfigMaps("default").Patch(ctx, "thing", patchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
}

// prepare creates the ConfigMap "thing" again, or deletes it.
func prepare(t *testing.T, client kubernetes.Interface, exists bool) {
	t.Helper()
	things := client.CoreV1().ConfigMaps("default")
	if err := things.Delete(t.Context(), "thing", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if exists {
		must(things.Create(t.Context(), thing(), metav1.CreateOptions{}))(t)
	}
}

// stamp returns a webhook's handler that adds a key to the data of the object, if the request has an object.
func stamp(key string) http.Handler {
	return answering(func(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if request.Object.Raw == nil {
			return miniapitest.Allowed()
		}
		return miniapitest.Patched(miniapitest.Add("/data/"+key, "stamped"))
	})
}

// stamps returns the keys that handlers of stamp have added, as one string.
func stamps(object *corev1.ConfigMap) string {
	var keys []string
	for key, value := range object.Data {
		if value == "stamped" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, "")
}

// stored returns the ConfigMap "thing", or nil if it doesn't exist.
func stored(t *testing.T, client kubernetes.Interface) *corev1.ConfigMap {
	t.Helper()
	found, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "thing", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return must(found, err)(t)
}

// For every request, the server first calls the mutating webhooks, in the order of their configurations' names, and
// then the validating ones.
func TestChainOrder(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	for _, tc := range requests {
		t.Run(tc.name, func(t *testing.T) {
			prepare(t, srv.Client(), !tc.creates)
			// The test creates the configurations in another order than the order of the calls.
			recorder := install(t, srv, validating("validate", allow()), mutating("second", allow()), mutating("first", allow()))
			ok(t, tc.do(t.Context(), srv.Client()))
			if diff := cmp.Diff([]string{"first", "second", "validate"}, called(recorder)); diff != "" {
				t.Errorf("calls when %s (-want +got):\n%s", tc.reason, diff)
			}
			for _, review := range recorder.Reviews() {
				for field, want := range map[string]bool{"object": !tc.deletes, "oldObject": !tc.creates} {
					if value, sent := sentAs(t, review, field); !sent || (value != nil) != want {
						t.Errorf("%s: %s isn't null: want %t, got %v", review.Path, field, want, value)
					}
				}
			}
		})
	}
}

// Each mutating webhook gets the object with the changes of the earlier ones. Validating webhooks get the final object,
// which is then stored.
func TestChainPassesTheObjectOn(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	for _, tc := range requests {
		if tc.deletes {
			continue // a deletion has no object that could change
		}
		t.Run(tc.name, func(t *testing.T) {
			prepare(t, srv.Client(), !tc.creates)
			recorder := install(t, srv, mutating("first", stamp("1")), mutating("second", stamp("2")), validating("validate", allow()))
			ok(t, tc.do(t.Context(), srv.Client()))
			var seen []string
			for _, review := range recorder.Reviews() {
				seen = append(seen, stamps(decode[corev1.ConfigMap](t, review.Request.Object.Raw)))
			}
			seen = append(seen, stamps(stored(t, srv.Client())))
			if diff := cmp.Diff([]string{"", "1", "12", "12"}, seen); diff != "" {
				t.Errorf("%s: what the webhooks, then the store, have of the patches (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// A request that a webhook refuses stores nothing. The client gets the webhook's message, and later mutating webhooks
// aren't called.
func TestRefusedRequestsStoreNothing(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	for _, phase := range []struct {
		name, reason string
		hooks        []hook
		calls        []string
	}{
		{
			"mutating", "later webhooks aren't called",
			[]hook{mutating("a", stamp("a")), mutating("b", deny("no")), mutating("c", allow()), validating("d", allow())},
			[]string{"a", "b"},
		},
		{
			"validating", "all validating webhooks are called at the same time",
			[]hook{mutating("a", stamp("a")), validating("b", deny("no")), validating("c", allow())},
			[]string{"a", "b", "c"},
		},
	} {
		for _, tc := range requests {
			t.Run(phase.name+" "+tc.name, func(t *testing.T) {
				prepare(t, srv.Client(), !tc.creates)
				before := stored(t, srv.Client())
				recorder := install(t, srv, phase.hooks...)
				err := tc.do(t.Context(), srv.Client())
				if want := `admission webhook "b.example.com" denied the request: no`; !apierrors.IsForbidden(err) || err.Error() != want {
					t.Errorf("%s: want the webhook's refusal, %q, got %v", tc.reason, want, err)
				}
				if diff := cmp.Diff(phase.calls, calledSorted(recorder)); diff != "" {
					t.Errorf("%s: calls (-want +got):\n%s", phase.reason, diff)
				}
				if diff := cmp.Diff(before, stored(t, srv.Client())); diff != "" {
					t.Errorf("what is stored has changed (-before +after):\n%s", diff)
				}
			})
		}
	}
}

// After each mutating webhook, new fields get their defaults before the next webhook is called.
func TestDefaultsFollowEachMutation(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	recorder := install(t, srv,
		mutating("add", patch(miniapitest.Add("/spec/containers/-", map[string]string{"name": "sidecar", "image": "sidecar:1"})), on("CREATE", "v1", "pods")),
		mutating("after", allow(), on("CREATE", "v1", "pods")),
		validating("validate", allow(), on("CREATE", "v1", "pods")))
	created := must(srv.Client().CoreV1().Pods("default").Create(t.Context(), pod("a"), metav1.CreateOptions{}))(t)

	reviews := recorder.Reviews()
	if diff := cmp.Diff([]string{"add", "after", "validate"}, called(recorder)); diff != "" {
		t.Fatalf("calls (-want +got):\n%s", diff)
	}
	for who, seen := range map[string]*corev1.Pod{
		"the next webhook":       decode[corev1.Pod](t, reviews[1].Request.Object.Raw),
		"the validating webhook": decode[corev1.Pod](t, reviews[2].Request.Object.Raw),
		"the client":             created,
	} {
		if len(seen.Spec.Containers) != 2 {
			t.Errorf("%s sees %d containers, want the pod's and the one added", who, len(seen.Spec.Containers))
			continue
		}
		sidecar := seen.Spec.Containers[1]
		if sidecar.ImagePullPolicy != corev1.PullIfNotPresent || sidecar.TerminationMessagePath != corev1.TerminationMessagePathDefault {
			t.Errorf("%s sees the added container without its defaults: %+v", who, sidecar)
		}
	}
}

// writes has the requests that store the ConfigMap "thing" with other data.
var writes = []struct {
	name, reason string
	exists       bool // whether the ConfigMap exists before the request
	do           func(context.Context, corev1client.ConfigMapInterface, map[string]string) error
}{
	{"create", "a new object", false, func(ctx context.Context, maps corev1client.ConfigMapInterface, data map[string]string) error {
		_, err := maps.Create(ctx, thingWith(data), metav1.CreateOptions{})
		return err
	}},
	{"apply to create", "apply creates an object that doesn't exist", false, applyData},
	{"update", "the whole object is sent", true, func(ctx context.Context, maps corev1client.ConfigMapInterface, data map[string]string) error {
		_, err := maps.Update(ctx, thingWith(data), metav1.UpdateOptions{})
		return err
	}},
	{"json patch", "the operations change the stored object", true, patchData(types.JSONPatchType, `[{"op":"replace","path":"/data","value":%s}]`)},
	{"merge patch", "the sent part is merged into the stored object", true, patchData(types.MergePatchType, `{"data":%s}`)},
	{"strategic merge patch", "the sent part is merged into the stored object", true, patchData(types.StrategicMergePatchType, `{"data":%s}`)},
	{"apply", "the sent part is merged into the stored object", true, applyData},
}

func thingWith(data map[string]string) *corev1.ConfigMap {
	o := thing()
	o.Data = data
	return o
}

func applyData(ctx context.Context, maps corev1client.ConfigMapInterface, data map[string]string) error {
	_, err := maps.Apply(ctx, corev1ac.ConfigMap("thing", "default").WithData(data), metav1.ApplyOptions{FieldManager: "test", Force: true})
	return err
}

// patchData returns a function that patches the ConfigMap. The data replaces %s in the patch.
func patchData(patchType types.PatchType, patch string) func(context.Context, corev1client.ConfigMapInterface, map[string]string) error {
	return func(ctx context.Context, maps corev1client.ConfigMapInterface, data map[string]string) error {
		encoded, err := json.Marshal(data)
		if err == nil {
			_, err = maps.Patch(ctx, "thing", patchType, fmt.Appendf(nil, patch, encoded), metav1.PatchOptions{})
		}
		return err
	}
}

// For every write, the API validates the object after the mutating webhooks and before the validating ones. Mutating
// webhooks can make the object valid or invalid. Validating webhooks never get an invalid object.
func TestValidationIsBetweenThePhases(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	for _, tc := range []struct {
		name, reason, key string
		patch             http.Handler
		calls             []string
		valid             bool
	}{
		{"invalid", "validating webhooks get only valid objects", "not valid", allow(), []string{"mutate"}, false},
		{"made valid", "a mutating webhook may make an invalid object valid", "not valid", patch(miniapitest.Remove("/data/not valid")), []string{"mutate", "validate"}, true},
		{"made invalid", "a webhook can't get around the API's rules", "valid", patch(miniapitest.Add("/data/not valid", "")), []string{"mutate"}, false},
	} {
		for _, write := range writes {
			t.Run(tc.name+" "+write.name, func(t *testing.T) {
				prepare(t, srv.Client(), write.exists)
				before := stored(t, srv.Client())
				recorder := install(t, srv, mutating("mutate", tc.patch), validating("validate", allow()))
				err := write.do(t.Context(), srv.Client().CoreV1().ConfigMaps("default"), map[string]string{"made": "second", tc.key: ""})
				if tc.valid && err != nil || !tc.valid && !apierrors.IsInvalid(err) {
					t.Errorf("%s, and %s: valid is %t, got %v", write.reason, tc.reason, tc.valid, err)
				}
				if diff := cmp.Diff(tc.calls, called(recorder)); diff != "" {
					t.Errorf("%s: calls (-want +got):\n%s", tc.reason, diff)
				}
				after := stored(t, srv.Client())
				if !tc.valid {
					if diff := cmp.Diff(before, after); diff != "" {
						t.Errorf("%s: what is stored has changed (-before +after):\n%s", tc.reason, diff)
					}
					return
				}
				if diff := cmp.Diff(map[string]string{"made": "second"}, after.Data); diff != "" {
					t.Errorf("%s: data that are stored (-want +got):\n%s", tc.reason, diff)
				}
			})
		}
	}
}

// The server sets fields of the object after the mutating webhooks and before the validating ones. So validating
// webhooks get the values that the server sets, and mutating webhooks can't change them.
func TestPreparationIsBetweenThePhases(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	recorder := install(t, srv,
		mutating("mutate", patch(miniapitest.Add("/status", map[string]any{"phase": "Running"})), on("CREATE", "v1", "pods")),
		validating("validate", allow(), on("CREATE", "v1", "pods")))
	created := must(srv.Client().CoreV1().Pods("default").Create(t.Context(), pod("a"), metav1.CreateOptions{}))(t)

	reviews := recorder.Reviews()
	before := decode[corev1.Pod](t, reviews[0].Request.Object.Raw)
	after := decode[corev1.Pod](t, reviews[1].Request.Object.Raw)
	if before.UID != "" || !before.CreationTimestamp.IsZero() || before.Status.QOSClass != "" {
		t.Errorf("a mutating webhook sees the object as it was sent, but uid %q, created %s, status %+v", before.UID, before.CreationTimestamp, before.Status)
	}
	if after.UID != created.UID || after.CreationTimestamp.IsZero() || after.Status.Phase != corev1.PodPending || after.Status.QOSClass != corev1.PodQOSBestEffort {
		t.Errorf("a validating webhook sees what is stored, but uid %q, created %s, status %+v", after.UID, after.CreationTimestamp, after.Status)
	}
}

// A change of the spec increases the generation, and an update doesn't change the status. Mutating webhooks can't
// change either field.
func TestPreparationOfChanges(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	deployments := srv.Client().AppsV1().Deployments("default")
	const two = `{"spec":{"replicas":2}}`
	patched := func(patchType types.PatchType, patch string) func(context.Context, string) error {
		return func(ctx context.Context, name string) error {
			_, err := deployments.Patch(ctx, name, patchType, []byte(patch), metav1.PatchOptions{})
			return err
		}
	}
	for _, change := range []struct {
		name, reason string
		do           func(context.Context, string) error
		sent         int64 // the generation in the review of the mutating webhook
	}{
		{"update", "the object is sent without a generation", func(ctx context.Context, name string) error {
			changed := appsDeployment(name)
			changed.Spec.Replicas = new(int32(2))
			_, err := deployments.Update(ctx, changed, metav1.UpdateOptions{})
			return err
		}, 0},
		{"json-patch", "the stored object is patched", patched(types.JSONPatchType, `[{"op":"replace","path":"/spec/replicas","value":2}]`), 1},
		{"merge-patch", "the stored object is patched", patched(types.MergePatchType, two), 1},
		{"strategic-merge-patch", "the stored object is patched", patched(types.StrategicMergePatchType, two), 1},
		{"apply", "the stored object is patched", func(ctx context.Context, name string) error {
			_, err := deployments.Apply(ctx, appsv1ac.Deployment(name, "default").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(2)),
				metav1.ApplyOptions{FieldManager: "test", Force: true})
			return err
		}, 1},
	} {
		t.Run(change.name, func(t *testing.T) {
			created := must(deployments.Create(t.Context(), appsDeployment(change.name), metav1.CreateOptions{}))(t)
			created.Status.Replicas = 1
			must(deployments.UpdateStatus(t.Context(), created, metav1.UpdateOptions{}))(t)
			onUpdate := on("UPDATE", "apps/v1", "deployments")
			recorder := install(t, srv,
				mutating("mutate", patch(miniapitest.Add("/metadata/generation", 77), miniapitest.Add("/status", map[string]any{"replicas": 7})), onUpdate),
				validating("validate", allow(), onUpdate))
			ok(t, change.do(t.Context(), change.name))

			type prepared struct{ Generation, Replicas int64 }
			var seen []prepared
			for _, review := range recorder.Reviews() {
				o := decode[appsv1.Deployment](t, review.Request.Object.Raw)
				seen = append(seen, prepared{o.Generation, int64(o.Status.Replicas)})
			}
			changed := must(deployments.Get(t.Context(), change.name, metav1.GetOptions{}))(t)
			seen = append(seen, prepared{changed.Generation, int64(changed.Status.Replicas)})
			want := []prepared{{change.sent, change.sent}, {2, 1}, {2, 1}}
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Errorf("%s: generation, and replicas of the status, that the webhooks and the store have (-want +got):\n%s", change.reason, diff)
			}
		})
	}
}

// The server generates a name after the mutating webhooks and before the validating ones. Mutating webhooks get only
// the generateName.
func TestGeneratedNames(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	recorder := install(t, srv, mutating("mutate", allow()), validating("validate", allow()))
	created := must(srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "thing-"},
	}, metav1.CreateOptions{}))(t)
	var inRequest, inObject []string
	for _, review := range recorder.Reviews() {
		inRequest = append(inRequest, review.Request.Name)
		inObject = append(inObject, decode[corev1.ConfigMap](t, review.Request.Object.Raw).Name)
	}
	want := []string{"", created.Name}
	if diff := cmp.Diff([][]string{want, want}, [][]string{inRequest, inObject}); diff != "" {
		t.Errorf("names in the requests and in their objects (-want +got):\n%s", diff)
	}
}

// A namespace with a generated name gets the label with its name before selectors of validating webhooks are evaluated.
func TestGeneratedNamespaceIsLabelled(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	recorder := install(t, srv, validating("validate", allow(), on("CREATE", "v1", "namespaces"), func(h *hook) {
		h.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpExists},
		}}
	}))
	created := must(srv.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "made-"},
	}, metav1.CreateOptions{}))(t)
	seen := decode[corev1.Namespace](t, only(t, recorder).Object.Raw).Labels
	if diff := cmp.Diff(map[string]string{corev1.LabelMetadataName: created.Name}, seen); diff != "" {
		t.Errorf("labels that the webhook sees (-want +got):\n%s", diff)
	}
}

// Mutating webhooks are called one after the other, validating webhooks in parallel.
func TestValidatingWebhooksAreCalledInParallel(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	const hooks = 3
	var working sync.WaitGroup
	working.Add(hooks)
	// Each webhook answers when all webhooks have been called.
	meet := answering(func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		working.Done()
		working.Wait()
		return miniapitest.Allowed()
	})
	install(t, srv, validating("a", meet), validating("b", meet), validating("c", meet))
	prepare(t, srv.Client(), false)
	must(srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), thing(), metav1.CreateOptions{}))(t)
}

// If several validating webhooks refuse a request, the client gets the message of one webhook.
func TestSeveralRefusals(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	recorder := install(t, srv, validating("a", deny("a says no")), validating("b", deny("b says no")))
	_, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), thing(), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.HasSuffix(err.Error(), " says no") || strings.Count(err.Error(), "denied") != 1 {
		t.Errorf("want one of the two refusals, got %v", err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, calledSorted(recorder)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
