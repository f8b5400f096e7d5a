package validation

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestUnversioned(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		value        any
		want         string
	}{
		{
			name: "struct", reason: "fields have Go names, and empty fields are written too",
			value: corev1.TypedLocalObjectReference{APIGroup: ptr.To("g"), Kind: "K"},
			want:  `{"APIGroup":"g","Kind":"K","Name":""}`,
		},
		{
			name: "nested", reason: "items of lists, maps and pointers are converted; quantities keep their form",
			value: []*corev1.VolumeResourceRequirements{{Limits: corev1.ResourceList{}}},
			want:  `[{"Limits":{},"Requests":null}]`,
		},
		{
			name: "embedded", reason: "the fields of an embedded struct become fields of the outer struct, and metadata has JSON names",
			value: corev1.PersistentVolumeClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
			want: `{"name":"n","Spec":{"AccessModes":null,"Selector":null,"Resources":{"Limits":null,"Requests":null},` +
				`"VolumeName":"","StorageClassName":null,"VolumeMode":null,"DataSource":null,"DataSourceRef":null,"VolumeAttributesClassName":null}}`,
		},
		{
			name: "object", reason: "an internal object names no version and no kind",
			value: corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}},
			want:  `{"Spec":{"Finalizers":null},"Status":{"Phase":"","Conditions":null}}`,
		},
		{name: "nothing", reason: "nil is null", value: (*corev1.NodeSelector)(nil), want: "null"},
		{name: "plain", reason: "a value without a struct of k8s.io/api is written as usual", value: []string{"a"}, want: `["a"]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(Unversioned(tc.value))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
