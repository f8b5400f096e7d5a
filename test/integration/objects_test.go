package integration_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// must returns the result of a function, and ends the test if the function returns an error. Use it as
// must(client.Create(…))(t).
func must[T any](result T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
}

// ok ends the test if err isn't nil.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually calls try again and again until try returns no error. After a minute, the test fails with the last error.
// Use eventually only for effects that may come after the server's answer.
func eventually(t testing.TB, try func(context.Context) error) {
	t.Helper()
	within(t, time.Minute, try)
}

// within does the same as eventually, but with a limit. Use it for an effect that would also come without the event
// under test, but only after the limit.
func within(t testing.TB, limit time.Duration, try func(context.Context) error) {
	t.Helper()
	var last error
	if err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	}); err != nil {
		t.Fatal(errors.Join(err, last))
	}
}

// orNone returns err, or an error with the text "no error" if err is nil. A message with the verb %w needs an error
// that isn't nil.
func orNone(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

// gone waits until get returns a NotFound error. The argument what names the object in the test's message.
func gone[Object any](t testing.TB, what string, get func(context.Context) (Object, error)) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		if found, err := get(ctx); !apierrors.IsNotFound(err) {
			return fmt.Errorf("want %s to be gone, got %v, %w", what, found, orNone(err))
		}
		return nil
	})
}

// resources returns a client for a resource of a version in the namespace "default".
func resources(srv *miniapitest.Server, groupVersion, resource string) dynamic.ResourceInterface {
	return srv.DynamicClient().Resource(groupVersionOf(groupVersion).WithResource(resource)).Namespace(metav1.NamespaceDefault)
}

// clusterResources returns a client for a resource without a namespace.
func clusterResources(srv *miniapitest.Server, groupVersion, resource string) dynamic.ResourceInterface {
	return srv.DynamicClient().Resource(groupVersionOf(groupVersion).WithResource(resource))
}

func groupVersionOf(s string) schema.GroupVersion {
	gv, err := schema.ParseGroupVersion(s)
	if err != nil {
		panic(err) // the test names an invalid group version
	}
	return gv
}

// object returns an object with fields, kind and name.
func object(groupVersion, kind, name string, fields map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	for key, value := range fields {
		o.Object[key] = value
	}
	o.SetAPIVersion(groupVersion)
	o.SetKind(kind)
	o.SetName(name)
	return o
}

// fieldOf returns the value of an object's field, or nil if the object doesn't have the field. If the path leads
// through a value that isn't an object, fieldOf returns an error as the value.
func fieldOf(o *unstructured.Unstructured, path ...string) any {
	value, _, err := unstructured.NestedFieldNoCopy(o.Object, path...)
	if err != nil {
		return err
	}
	return value
}

// define creates a CustomResourceDefinition in the group example.com, with the versions. The spec of an object can have
// any fields. Objects are stored in the first version.
func define(t testing.TB, srv *miniapitest.Server, resource, kind string, versions ...string) {
	t.Helper()
	defineIn(t, srv, "example.com", resource, kind, versions...)
}

// defineIn creates a CustomResourceDefinition as define does, but in any group.
func defineIn(t testing.TB, srv *miniapitest.Server, group, resource, kind string, versions ...string) {
	t.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: resource + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: resource, Kind: kind},
		},
	}
	for i, version := range versions {
		definition.Spec.Versions = append(definition.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: version, Served: true, Storage: i == 0,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"spec": {Type: "object", XPreserveUnknownFields: new(true)},
				},
			}},
		})
	}
	client, err := apiextensions.NewForConfig(srv.Config())
	if err == nil {
		_, err = client.CustomResourceDefinitions().Create(context.WithoutCancel(t.Context()), definition, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatalf("defining %s: %v", resource, err)
	}
}

// resourceOf returns the resource of a kind: "policies" of "Policy".
func resourceOf(kind string) string {
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
	return plural.Resource
}
