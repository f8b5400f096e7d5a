package integration_test

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

//go:embed testdata/objects.yaml
var objectsYAML []byte

// The test makes a request for every verb that writes, of every resource, in each version of discovery. Webhooks of
// both kinds review each request twice: in the version of the request, and in the version that walk.equivalent has for
// the resource. The server converts patches of that version back. The cases every.* of the conformance suite review
// each request only in its own version, and allow several reviews.
func TestEveryResource(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithAPIs("api/all", "api/legacy"), miniapitest.WithFeatureGates(workloads),
		// The plugin would add finalizers to objects, and no controller would remove them.
		miniapitest.WithoutAdmissionPlugins("StorageObjectInUseProtection"))
	define(t, srv, "widgets", "Widget", "v1", "v1beta1")
	w := newWalk(t, srv)
	for _, gvr := range w.order {
		t.Run(strings.ReplaceAll(w.name(gvr), "/", " "), func(t *testing.T) {
			for _, v := range w.verbs(gvr) {
				if !slices.Contains(w.served[gvr].Verbs, v.name) {
					continue
				}
				if err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return v.take(t, gvr) }); err != nil {
					t.Errorf("%s: %v", v.name, err)
					continue
				}
				w.check(t, gvr, v.name)
			}
		})
	}
}

// walk requests all resources.
type walk struct {
	client   dynamic.Interface
	recorder *miniapitest.Recorder
	objects  map[string]map[string]any

	served map[schema.GroupVersionResource]metav1.APIResource
	order  []schema.GroupVersionResource
	// equivalent has one version of each resource, by the resource's name. Webhooks with the matchPolicy Equivalent get
	// reviews in that version.
	equivalent map[string]schema.GroupVersionResource
}

const walker = "walker"

// newWalk returns a walk through all resources of a server, and installs webhooks that review the walk's requests.
func newWalk(t *testing.T, srv *miniapitest.Server) *walk {
	t.Helper()
	w := unreviewed(t, srv)
	var rules []admissionregistrationv1.RuleWithOperations
	for _, gvr := range w.order {
		if _, known := w.equivalent[gvr.Resource]; !known {
			w.equivalent[gvr.Resource] = gvr
			rules = append(rules, rule("*", gvr.GroupVersion().String(), gvr.Resource))
		}
	}
	as := func(policy admissionregistrationv1.MatchPolicyType, rules ...admissionregistrationv1.RuleWithOperations) change {
		return func(h *hook) { h.MatchPolicy, h.Rules = &policy, rules }
	}
	exactly, converted := as(exact, rule("*", "*/*", "*/*")), as(equivalent, rules...)
	unknownField := answering(func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if r.Object.Raw == nil {
			return miniapitest.Allowed()
		}
		return miniapitest.Patched(miniapitest.Add("/nobodyKnowsThis", "value"))
	})
	w.recorder = install(t, srv,
		mutating("mutating-exact", unknownField, exactly), mutating("mutating-equivalent", unknownField, converted),
		validating("validating-exact", allow(), exactly), validating("validating-equivalent", allow(), converted))
	return w
}

// unreviewed returns a walk through all resources of a server, without webhooks that review the requests.
func unreviewed(t *testing.T, srv *miniapitest.Server) *walk {
	t.Helper()
	w := &walk{
		client:  must(dynamic.NewForConfig(srv.AddUser(walker, "system:masters")))(t),
		objects: map[string]map[string]any{}, served: map[schema.GroupVersionResource]metav1.APIResource{},
		equivalent: map[string]schema.GroupVersionResource{},
	}
	ok(t, yaml.UnmarshalStrict(objectsYAML, &w.objects))
	own := must(newAuthority())(t)
	request := must(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: walker}}, own.key))(t)
	spec := func(resource string) map[string]any { return w.objects[resource]["spec"].(map[string]any) }
	spec("certificatesigningrequests")["request"] = base64.StdEncoding.EncodeToString(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}))
	spec("podcertificaterequests")["stubPKCS10Request"] = base64.StdEncoding.EncodeToString(request)
	spec("clustertrustbundles")["trustBundle"] = string(own.pem)
	_, lists, err := srv.Client().Discovery().ServerGroupsAndResources()
	ok(t, err)
	for _, list := range lists {
		gv := groupVersionOf(list.GroupVersion)
		for _, resource := range list.APIResources {
			if resource.Version == "" { // a subresource may belong to another group than its resource
				resource.Group, resource.Version = gv.Group, gv.Version
			}
			w.served[gv.WithResource(resource.Name)] = resource
			w.order = append(w.order, gv.WithResource(resource.Name))
		}
	}
	slices.SortFunc(w.order, func(a, b schema.GroupVersionResource) int { return strings.Compare(w.name(a), w.name(b)) })
	return w
}

func (w *walk) name(gvr schema.GroupVersionResource) string {
	return gvr.GroupVersion().String() + " " + gvr.Resource
}

// verb is a verb, with the function that makes its request for a resource.
type verb struct {
	name string
	take func(*testing.T, schema.GroupVersionResource) error
}

// verbs returns the verbs of a resource, in an order in which their requests succeed. Other tests are about
// connections, and about subresources whose verb is create.
func (w *walk) verbs(gvr schema.GroupVersionResource) []verb {
	change := []verb{{"update", w.update}, {"patch", w.patch}}
	switch _, subresource, is := strings.Cut(gvr.Resource, "/"); {
	case gvr.Resource == "bindings" || subresource == "proxy":
		return nil
	case is:
		return change
	}
	return slices.Concat([]verb{{"create", w.create}}, change, []verb{{"delete", w.delete}, {"deletecollection", w.deleteCollection}})
}

func (w *walk) create(t *testing.T, gvr schema.GroupVersionResource) error {
	w.recorder.Reset()
	o, err := w.resource(gvr).Create(t.Context(), w.object(t, gvr), metav1.CreateOptions{})
	if err == nil {
		w.settle(t, gvr, o.GetName())
	}
	return err
}

// settle waits until the server has made its own writes to a new object. A write at the same time would cause a
// conflict and a second review.
func (w *walk) settle(t *testing.T, gvr schema.GroupVersionResource, name string) {
	t.Helper()
	if gvr.Resource != "flowschemas" {
		return
	}
	eventually(t, func(ctx context.Context) error {
		o, err := w.resource(gvr).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions"); len(conditions) == 0 {
			return fmt.Errorf("%s has no condition yet: %w", name, orNone(err))
		}
		return nil
	})
}

func (w *walk) update(t *testing.T, gvr schema.GroupVersionResource) error {
	o := w.existing(t, gvr)
	if slices.Contains(w.served[gvr].Verbs, "get") {
		o = must(w.resource(gvr).Get(t.Context(), o.GetName(), metav1.GetOptions{}, subresources(gvr)...))(t)
	}
	o.SetAnnotations(map[string]string{"updated": gvr.Resource})
	w.recorder.Reset()
	_, err := w.resource(gvr).Update(t.Context(), o, metav1.UpdateOptions{}, subresources(gvr)...)
	return err
}

func (w *walk) patch(t *testing.T, gvr schema.GroupVersionResource) error {
	o := w.existing(t, gvr)
	w.recorder.Reset()
	_, err := w.resource(gvr).Patch(t.Context(), o.GetName(), types.MergePatchType, []byte(`{"metadata":{"annotations":{"patched":"yes"}}}`), metav1.PatchOptions{}, subresources(gvr)...)
	return err
}

func (w *walk) delete(t *testing.T, gvr schema.GroupVersionResource) error {
	o := w.existing(t, gvr)
	w.recorder.Reset()
	err := w.resource(gvr).Delete(t.Context(), o.GetName(), atOnce())
	if err == nil && gvr.Resource == "customresourcedefinitions" { // the custom resources are deleted before the definition
		gone(t, o.GetName(), func(ctx context.Context) (*unstructured.Unstructured, error) {
			return w.resource(gvr).Get(ctx, o.GetName(), metav1.GetOptions{})
		})
	}
	return err
}

// atOnce returns options that delete an object without a grace period, and its dependents in the background.
func atOnce() metav1.DeleteOptions {
	return metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), PropagationPolicy: new(metav1.DeletePropagationBackground)}
}

func (w *walk) deleteCollection(t *testing.T, gvr schema.GroupVersionResource) error {
	o := w.existing(t, gvr)
	o.SetLabels(map[string]string{"collected": "yes"})
	if _, err := w.resource(gvr).Update(t.Context(), o, metav1.UpdateOptions{}); err != nil {
		return err
	}
	w.recorder.Reset()
	return w.resource(gvr).DeleteCollection(t.Context(), atOnce(), metav1.ListOptions{LabelSelector: "collected=yes"})
}

// existing returns an object of the resource, and creates it if needed. For a subresource, it returns the object of the
// resource.
func (w *walk) existing(t *testing.T, gvr schema.GroupVersionResource) *unstructured.Unstructured {
	t.Helper()
	gvr.Resource, _, _ = strings.Cut(gvr.Resource, "/")
	o := w.object(t, gvr)
	found, err := w.resource(gvr).Get(t.Context(), o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if found, err = w.resource(gvr).Create(t.Context(), o, metav1.CreateOptions{}); err == nil {
			w.settle(t, gvr, o.GetName())
			found, err = w.resource(gvr).Get(t.Context(), o.GetName(), metav1.GetOptions{})
		}
	}
	ok(t, err)
	return found
}

// object returns the object of testdata/objects.yaml for a resource. For a resource that the file lacks, the object has
// only a name, which is enough for most simple kinds.
func (w *walk) object(t *testing.T, gvr schema.GroupVersionResource) *unstructured.Unstructured {
	t.Helper()
	content, found := w.objects[w.name(gvr)]
	if !found {
		content, found = w.objects[gvr.Resource]
	}
	if !found {
		t.Logf("testdata/objects.yaml has no %s: the object has only a name", w.name(gvr))
	}
	o := (&unstructured.Unstructured{Object: content}).DeepCopy()
	o.SetAPIVersion(gvr.GroupVersion().String())
	o.SetKind(w.served[gvr].Kind)
	if _, named, _ := unstructured.NestedString(content, "metadata", "name"); !named {
		o.SetName(strings.ReplaceAll(gvr.GroupVersion().String(), "/", "-"))
	}
	return o
}

func (w *walk) resource(gvr schema.GroupVersionResource) dynamic.ResourceInterface {
	namespaced := w.served[gvr].Namespaced
	gvr.Resource, _, _ = strings.Cut(gvr.Resource, "/")
	if namespaced {
		return w.client.Resource(gvr).Namespace(metav1.NamespaceDefault)
	}
	return w.client.Resource(gvr)
}

func subresources(gvr schema.GroupVersionResource) []string {
	if _, subresource, found := strings.Cut(gvr.Resource, "/"); found {
		return []string{subresource}
	}
	return nil
}

// check compares the recorded reviews with the expected reviews.
func (w *walk) check(t *testing.T, gvr schema.GroupVersionResource, verb string) {
	t.Helper()
	got := map[string][]asked{}
	for _, review := range w.recorder.Reviews() {
		if review.Request.UserInfo.Username == walker {
			name := strings.TrimPrefix(review.Path, "/")
			got[name] = append(got[name], askedOf(t, review.Request))
		}
	}
	want, times := map[string][]asked{}, 1
	if gvr.Resource == "pods" && strings.HasPrefix(verb, "delete") {
		times = 2 // one review when the grace period is set, and one for the deletion
	}
	// Webhooks review neither webhook configurations and policies, nor requests such as TokenReview, which aren't stored.
	if !slices.Contains([]string{admissionregistrationv1.GroupName, authenticationv1.GroupName, authorizationv1.GroupName}, gvr.Group) {
		for _, phase := range []string{"mutating", "validating"} {
			want[phase+"-exact"] = slices.Repeat([]asked{w.want(gvr, gvr, verb)}, times)
			want[phase+"-equivalent"] = slices.Repeat([]asked{w.want(gvr, w.equivalent[gvr.Resource], verb)}, times)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: reviews (-want +got):\n%s", verb, diff)
	}
}

// want returns the expected review of a request. The argument "as" is the resource in the version of the review.
func (w *walk) want(request, as schema.GroupVersionResource, verb string) asked {
	kind := func(gvr schema.GroupVersionResource) string {
		r := w.served[gvr]
		return groupVersion(r.Group, r.Version) + " " + r.Kind
	}
	a := asked{Resource: w.name(as), Kind: kind(as), RequestResource: w.name(request), RequestKind: kind(request)}
	switch verb {
	case "create":
		a.Operation, a.Object = admissionv1.Create, a.Kind
	case "update", "patch":
		a.Operation, a.Object, a.OldObject = admissionv1.Update, a.Kind, a.Kind
	default:
		a.Operation, a.OldObject = admissionv1.Delete, a.Kind
	}
	return a
}
