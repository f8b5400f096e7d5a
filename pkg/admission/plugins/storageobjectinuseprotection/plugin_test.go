package storageobjectinuseprotection

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, reason string
		object       runtime.Object
		want         []string
	}{
		{name: "claim", reason: "a pod may use the claim", object: &corev1.PersistentVolumeClaim{},
			want: []string{"kubernetes.io/pvc-protection"}},
		{name: "volume", reason: "a claim may be bound to the volume", object: &corev1.PersistentVolume{},
			want: []string{"kubernetes.io/pv-protection"}},
		{name: "attributes class", reason: "a volume may have the class", object: &storagev1.VolumeAttributesClass{},
			want: []string{"kubernetes.io/vac-protection"}},
		{name: "present", reason: "the finalizer isn't added twice, and the user's own finalizer stays",
			object: &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"kubernetes.io/pv-protection", "a/b"}}},
			want:   []string{"kubernetes.io/pv-protection", "a/b"}},
		{name: "other", reason: "other objects get no finalizer", object: &corev1.ConfigMap{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			plugintest.Run(t, New(), plugintest.Create(test.object), "")
			object, err := meta.Accessor(test.object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, object.GetFinalizers()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
