package kubelet

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// A stage may fail because its object has changed meanwhile. The pod of a StatefulSet may be deleted and made again while
// the kubelet patches the old one.
func TestErrorsOfStages(t *testing.T) {
	t.Parallel()
	widgets := schema.GroupResource{Resource: "widgets"}
	invalid := func(name string) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "db-0", field.ErrorList{field.Invalid(field.NewPath(name), "a", "field is immutable")})
	}
	for _, test := range []struct {
		name, reason string
		err          error
		stale, again bool
	}{
		{"uid", "another pod has the name", invalid("metadata.uid"), true, true},
		{"status", "the stage writes what is invalid", invalid("status.phase"), false, true},
		{"gone", "the object was deleted", apierrors.NewNotFound(widgets, "w"), true, false},
		{"conflict", "the object has changed", apierrors.NewConflict(widgets, "w", errors.New("changed")), true, false},
		{"subresource", "the definition has no status", apierrors.NewGenericServerResponse(http.StatusNotFound, "PATCH", widgets, "w", "", 0, true), false, true},
		{"template", "the template can't be executed", errors.New("template"), false, true},
		{"server", "the server may answer later", apierrors.NewInternalError(errors.New("etcd")), false, false},
	} {
		err := fmt.Errorf("step: %w", test.err)
		if stale, again := isStale(err), failsAgain(err); stale != test.stale || again != test.again {
			t.Errorf("%s: want stale %t and again %t, got %t and %t: %s", test.name, test.stale, test.again, stale, again, test.reason)
		}
	}
}

// The error of a patch is the Status that the server answers with, so a missing object isn't taken for a missing subresource.
func TestErrorOfPatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		answer       func(http.ResponseWriter)
		stale        bool
	}{
		{"gone", "the pod was deleted", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		}, true},
		{"subresource", "no handler has the path", func(w http.ResponseWriter) { http.Error(w, "404 page not found", http.StatusNotFound) }, false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { test.answer(w) }))
		t.Cleanup(server.Close)
		client, err := rest.RESTClientFor(&rest.Config{Host: server.URL, APIPath: "/api", ContentConfig: rest.ContentConfig{
			GroupVersion: &corev1.SchemeGroupVersion, NegotiatedSerializer: scheme.Codecs.WithoutConversion()}})
		if err != nil {
			t.Fatal(err)
		}
		pods := newPlayer(New(Options{}), corev1.SchemeGroupVersion.WithKind("Pod"), "pods", client, nil, nil)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u"}}
		_, err = pods.patch(t.Context(), "", pod, &lifecycle.Patch{Type: types.MergePatchType, Data: []byte(`{"status":{"phase":"Failed"}}`)})
		if !apierrors.IsNotFound(err) || isStale(err) != test.stale {
			t.Errorf("%s: want a missing object that is stale: %t, got %v: %s", test.name, test.stale, err, test.reason)
		}
	}
}

// A patch names the object for which it was made, unless it changes nothing.
func TestWithUID(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, patch, want string }{
		{"status", "the UID is added", `{"status":{"a":1}}`, `{"metadata":{"uid":"u"},"status":{"a":1}}`},
		{"metadata", "the metadata of the patch stays", `{"metadata":{"labels":{"a":"b"}}}`, `{"metadata":{"labels":{"a":"b"},"uid":"u"}}`},
		{"no status", "nothing changes", `{"status":{}}`, ``},
		{"nothing", "nothing changes", `{}`, ``},
	} {
		if got, err := withUID([]byte(test.patch), "u"); err != nil || string(got) != test.want {
			t.Errorf("%s: want %s, got %s and %v: %s", test.name, test.want, got, err, test.reason)
		}
	}
}
