package main

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// With the feature gate CBORServingAndStorage, the server answers in CBOR to a client that accepts CBOR, also if
// --runtime-config is set.
func TestCBOR(t *testing.T) {
	t.Parallel()
	const gate = "--feature-gates=CBORServingAndStorage=true"
	for _, test := range []struct {
		name, reason string
		args         []string
		want         bool
	}{
		{"default", "kube-apiserver has the gate off by default", nil, false},
		{"gate", "the gate is on", []string{gate}, true},
		{"with versions", "the versions are checked before the gates are set",
			[]string{"--runtime-config=batch/v1beta1=true", gate}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, config := serve(t, test.args...)
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.RESTClient().Get().AbsPath("/api/v1/namespaces/default").SetHeader("Accept", "application/cbor").DoRaw(t.Context())
			if got := err == nil; got != test.want {
				t.Errorf("%s: a namespace in CBOR: %t (%v), want %t", test.reason, got, err, test.want)
			}
		})
	}
}

// A request in CBOR that doesn't change the object writes nothing to etcd.
func TestUnchangedInCBOR(t *testing.T) {
	t.Parallel()
	_, config := serve(t, "--feature-gates=CBORServingAndStorage=true")
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	const path, cbor = "/api/v1/namespaces/default/configmaps/unchanged", "application/cbor"
	version := func() string {
		t.Helper()
		object, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "unchanged", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return object.ResourceVersion
	}
	write := func(verb, contentType string, body []byte) {
		t.Helper()
		if _, err := client.RESTClient().Verb(verb).AbsPath(path).Param("fieldManager", "test").
			SetHeader("Content-Type", contentType).SetHeader("Accept", cbor).Body(body).DoRaw(t.Context()); err != nil {
			t.Fatalf("%s: %v", contentType, err)
		}
	}
	applied, err := direct.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"key": "value"},
		"metadata": map[string]any{"name": "unchanged", "creationTimestamp": nil},
	})
	if err != nil {
		t.Fatal(err)
	}
	write("PATCH", string(types.ApplyCBORPatchType), applied)
	was, second := version(), time.Now().Unix()
	if err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return time.Now().Unix() != second, nil
	}); err != nil {
		t.Fatalf("the clock's second hasn't changed: %v", err)
	}
	write("PATCH", string(types.ApplyCBORPatchType), applied)
	if is := version(); is != was {
		t.Errorf("the second apply has made version %s of %s", is, was)
	}
	read, err := client.RESTClient().Get().AbsPath(path).SetHeader("Accept", cbor).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write("PUT", cbor, read)
	if is := version(); is != was {
		t.Errorf("an update with what was read has made version %s of %s", is, was)
	}
}

// The discovery of custom resources is JSON even for a client that prefers CBOR, because client-go can't decode a
// discovery document in CBOR.
func TestDiscoveryWithoutCBOR(t *testing.T) {
	t.Parallel()
	_, config := serve(t, "--feature-gates=CBORServingAndStorage=true")
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	definition := []byte(`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "foos.example.com"},
		"spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
			"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}`)
	if err := client.RESTClient().Post().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").
		SetHeader("Content-Type", "application/json").Body(definition).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	var contentType string
	result := client.RESTClient().Get().AbsPath("/apis/example.com/v1").SetHeader("Accept", "application/cbor, application/json").Do(t.Context())
	if err := result.ContentType(&contentType).Error(); err != nil || contentType != "application/json" {
		t.Errorf("the content type is %q, error %v, want application/json", contentType, err)
	}
	if resources, err := client.Discovery().ServerResourcesForGroupVersion("example.com/v1"); err != nil || len(resources.APIResources) != 1 {
		t.Errorf("want the resource foos, got %v, error %v", resources, err)
	}
}
