package storage

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// A copy of a template is what encoding the renewed object gives, byte for byte.
func TestTemplate(t *testing.T) {
	t.Parallel()
	once := metav1.NewTime(time.Date(2024, 2, 29, 1, 2, 3, 0, time.UTC))
	original := &flowcontrolv1.FlowSchema{
		TypeMeta: metav1.TypeMeta{APIVersion: "flowcontrol.apiserver.k8s.io/v1", Kind: "FlowSchema"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "probes", UID: "a7a0b0b6-0d5e-4c53-9d3b-1d4a1d3c7f10", ResourceVersion: "7", CreationTimestamp: once,
			Annotations:   map[string]string{"since": once.Format(time.RFC3339), "of": "a7a0b0b6-0d5e-4c53-9d3b-1d4a1d3c7f10"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "a", Time: &once}, {Manager: "b", Time: &once}},
		},
		Status: flowcontrolv1.FlowSchemaStatus{Conditions: []flowcontrolv1.FlowSchemaCondition{{Type: "Dangling", LastTransitionTime: once}}},
	}
	before := original.DeepCopy()
	protobufs := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	for _, test := range []struct {
		name, reason string
		encode       func(runtime.Object) ([]byte, error)
	}{
		{"JSON", "custom resources and definitions are stored in it", func(o runtime.Object) ([]byte, error) { return json.Marshal(o) }},
		{"protobuf", "built-in kinds are stored in it, and have times as numbers", func(o runtime.Object) ([]byte, error) {
			var data bytes.Buffer
			err := protobufs.Encode(o, &data)
			return data.Bytes(), err
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			shared := *original
			template, err := NewTemplate(&shared, test.encode)
			if err != nil {
				t.Fatal(err)
			}
			for _, now := range []time.Time{once.Time, time.Date(2026, 11, 29, 23, 59, 59, 0, time.UTC), time.Date(3057, 1, 1, 0, 0, 0, 0, time.UTC)} {
				const uid = "11111111-2222-3333-4444-555555555555"
				want := original.DeepCopy()
				want.UID, want.ResourceVersion, want.CreationTimestamp = uid, "", metav1.NewTime(now)
				for i := range want.ManagedFields {
					want.ManagedFields[i].Time = &want.CreationTimestamp
				}
				want.Status.Conditions[0].LastTransitionTime = want.CreationTimestamp
				data, err := test.encode(want)
				if err != nil {
					t.Fatal(err)
				}
				if got := template.Copy(uid, now); !bytes.Equal(got, data) {
					t.Errorf("%s: a copy at %s differs:\n%q\nwant\n%q", test.reason, now, got, data)
				}
			}
		})
	}
	t.Cleanup(func() {
		if diff := cmp.Diff(before, original); diff != "" {
			t.Errorf("making a template of a shallow copy changed the original (- before, + after):\n%s", diff)
		}
	})
}

// Renew gives no UID to an object of a kind whose objects have none.
func TestRenewWithoutUID(t *testing.T) {
	t.Parallel()
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "7"}}
	object.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ComponentStatus"})
	now := metav1.Now()
	if err := Renew(object, "1", now); err != nil {
		t.Fatal(err)
	}
	if object.UID != "" || object.ResourceVersion != "" || !object.CreationTimestamp.Equal(&now) {
		t.Errorf("got %+v", object.ObjectMeta)
	}
}
