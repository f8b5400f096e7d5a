package builtin_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// TestDecodedWithoutKind checks that objects have no apiVersion and kind after they are decoded and converted to the
// hub, in every media type. The hub is the version to which all other versions convert.
func TestDecodedWithoutKind(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		version      schema.GroupVersion
		sent         runtime.Object
		into, want   runtime.Object
	}{
		{
			name:    "into the hub's type",
			reason:  "k8s.io/apimachinery's decoder converts nothing and keeps the kind, which the table's decoder clears",
			version: corev1.SchemeGroupVersion, sent: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}},
			into: &corev1.ConfigMap{}, want: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}},
		},
		{
			name: "without a target", reason: "the decoder converts to the hub and clears the kind",
			version: corev1.SchemeGroupVersion, sent: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}},
			want: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}},
		},
		{
			name: "from another version", reason: "a conversion does not copy the kind",
			version: appsv1beta2.SchemeGroupVersion,
			sent:    &appsv1beta2.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Revision: 1},
			into:    &appsv1.ControllerRevision{}, want: &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Revision: 1},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			serializer := builtin.Table().Serializer()
			for _, info := range serializer.SupportedMediaTypes() {
				var data bytes.Buffer
				if err := serializer.EncoderForVersion(info.Serializer, tc.version).Encode(tc.sent.DeepCopyObject(), &data); err != nil {
					t.Fatal(err)
				}
				var into runtime.Object
				if tc.into != nil {
					into = tc.into.DeepCopyObject()
				}
				hub := schema.GroupVersion{Group: tc.version.Group, Version: runtime.APIVersionInternal}
				got, gvk, err := serializer.DecoderToVersion(info.Serializer, hub).Decode(data.Bytes(), nil, into)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s: decoded (-want +got):\n%s%s", info.MediaType, diff, tc.reason)
				}
				if gvk.GroupVersion() != tc.version {
					t.Errorf("%s: the decoder returns version %s of the data, want %s", info.MediaType, gvk.GroupVersion(), tc.version)
				}
			}
		})
	}
}

// TestUnsafeConversionKeepsOriginal checks that a conversion doesn't change its original, which other goroutines
// may read.
func TestUnsafeConversionKeepsOriginal(t *testing.T) {
	t.Parallel()
	original := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Data: map[string]string{"key": "value"}}
	was := original.DeepCopy()
	got, err := builtin.Table().UnsafeConvertor().ConvertToVersion(original, corev1.SchemeGroupVersion)
	if err != nil {
		t.Fatal(err)
	}
	want := was.DeepCopy()
	want.APIVersion, want.Kind = "v1", "ConfigMap"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("converted (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(was, original); diff != "" {
		t.Errorf("the original has changed (-was +is):\n%s", diff)
	}
}
