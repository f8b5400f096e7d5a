package integration_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// dry makes a request a dry run, so that the test can repeat it.
var dry = []string{metav1.DryRunAll}

func thing() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "thing", Labels: map[string]string{"app": "thing"}},
		Data:       map[string]string{"made": "first"},
	}
}

// prepare deletes the ConfigMap "thing", and creates it again if exists is true.
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
