package openapi

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

func TestTypeConverter(t *testing.T) {
	t.Parallel()
	converter := New(builtin.Table()).TypeConverter()
	for _, c := range []struct {
		name, reason string
		gvk          schema.GroupVersionKind
		obj          runtime.Object
		err          string
	}{
		{"current version", "the internal version has the same Go type",
			appsv1.SchemeGroupVersion.WithKind("Deployment"), &appsv1.Deployment{}, ""},
		{"older version", "extensions and apps store the same Deployments",
			extensionsv1beta1.SchemeGroupVersion.WithKind("Deployment"), &extensionsv1beta1.Deployment{}, ""},
		{"unstructured", "a patch is an unstructured object", appsv1.SchemeGroupVersion.WithKind("Deployment"),
			&unstructured.Unstructured{Object: map[string]any{}}, ""},
		{"unknown", "the table doesn't have this kind",
			schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"},
			&unstructured.Unstructured{Object: map[string]any{}}, "no corresponding type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.obj.GetObjectKind().SetGroupVersionKind(c.gvk)
			value, err := converter.ObjectToTyped(c.obj)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want one with %q: %s", err, c.err, c.reason)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v: %s", err, c.reason)
			}
			again, err := converter.ObjectToTyped(c.obj)
			if err != nil {
				t.Fatal(err)
			}
			// Compare returns an error if the two values have different schemas.
			if _, err := value.Compare(again); err != nil {
				t.Errorf("%v: %s", err, c.reason)
			}
			if _, err := converter.TypedToObject(value); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTypeConverterOfGroup checks which kinds the converter of a group knows.
func TestTypeConverterOfGroup(t *testing.T) {
	t.Parallel()
	converter := New(builtin.Table()).TypeConverter()
	for _, c := range []struct {
		group, reason string
		obj           runtime.Object
		gvk           schema.GroupVersionKind
		want          bool
	}{
		{"", "requests through core/v1", &corev1.Event{}, corev1.SchemeGroupVersion.WithKind("Event"), true},
		{"", "events.k8s.io is on the other side", &eventsv1.Event{}, eventsv1.SchemeGroupVersion.WithKind("Event"), false},
		{"events.k8s.io", "requests through events.k8s.io/v1", &eventsv1.Event{}, eventsv1.SchemeGroupVersion.WithKind("Event"), true},
		{"events.k8s.io", "core/v1 is on the other side", &corev1.Event{}, corev1.SchemeGroupVersion.WithKind("Event"), false},
		{"", "replicationcontrollers/scale is of the core group", &autoscalingv1.Scale{},
			autoscalingv1.SchemeGroupVersion.WithKind("Scale"), true},
		{"apps", "extensions and apps are on the same side", &extensionsv1beta1.Deployment{},
			extensionsv1beta1.SchemeGroupVersion.WithKind("Deployment"), true},
	} {
		c.obj.GetObjectKind().SetGroupVersionKind(c.gvk)
		if _, err := converter.Of(c.group).ObjectToTyped(c.obj); (err == nil) != c.want {
			t.Errorf("group %q: knows %s: want %t because %s, got %v", c.group, c.gvk, c.want, c.reason, err)
		}
	}
}

// TestTypeConverterOfResources checks which kinds mutating policies can apply configurations to.
func TestTypeConverterOfResources(t *testing.T) {
	t.Parallel()
	converter := New(builtin.Table()).TypeConverter().OfResources()
	for _, c := range []struct {
		name, reason string
		gvk          schema.GroupVersionKind
		want         bool
	}{
		{"stored", "deployments is a resource", appsv1.SchemeGroupVersion.WithKind("Deployment"), true},
		{"older version", "extensions serves the resource of apps", extensionsv1beta1.SchemeGroupVersion.WithKind("Deployment"), true},
		{"not stored", "bindings is a resource, beside the subresource of pods", corev1.SchemeGroupVersion.WithKind("Binding"), true},
		{"scale", "only subresources are Scales", autoscalingv1.SchemeGroupVersion.WithKind("Scale"), false},
		{"options", "the options of a connection are of a subresource", corev1.SchemeGroupVersion.WithKind("PodExecOptions"), false},
	} {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(c.gvk)
		if _, err := converter.ObjectToTyped(obj); (err == nil) != c.want {
			t.Errorf("%s: knows %s: want %t because %s, got %v", c.name, c.gvk, c.want, c.reason, err)
		}
	}
}
