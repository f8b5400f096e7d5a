package miniapitest_test

import (
	"encoding/json"
	"net/http"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// The conversion webhook that a definition names is the fixture's, from the first object on.
func TestConversion(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t,
		miniapitest.WithCRDs("testdata/conversion"),
		miniapitest.WithObjects(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v2", "kind": "Gear", "metadata": map[string]any{"name": "first"},
		}}),
		miniapitest.WithWebhook("/convert", http.HandlerFunc(convert)),
	)
	for version, want := range map[string]string{"v1": "v2", "v2": "v1"} {
		gears := schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "gears"}
		got, err := srv.DynamicClient().Resource(gears).Namespace("default").Get(t.Context(), "first", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if from, _, _ := unstructured.NestedString(got.Object, "convertedFrom"); from != want {
			t.Errorf("want %s to be converted from %s, got %v", version, want, got.Object)
		}
	}
}

// convert adds the version from which an object is converted to the object.
func convert(w http.ResponseWriter, r *http.Request) {
	review := apiextensionsv1.ConversionReview{}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range review.Request.Objects {
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal(raw.Raw, object); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		object.Object["convertedFrom"] = object.GroupVersionKind().Version
		object.SetAPIVersion(review.Request.DesiredAPIVersion)
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Object: object})
	}
	review.Request = nil
	_ = json.NewEncoder(w).Encode(review)
}
