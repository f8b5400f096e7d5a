package storedmetadata

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/miniapi-dev/miniapi/pkg/controllers/objects"
)

// storedPod returns a pod with all fields that an objects.Object needs, and with many further fields.
func storedPod(change func(*corev1.Pod)) *corev1.Pod {
	blocks, isController := true, true
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "p", GenerateName: "p-", Namespace: "ns", UID: "uid", ResourceVersion: "7", Generation: 1 << 40,
			CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0)), DeletionGracePeriodSeconds: new(int64(30)),
			Labels: map[string]string{"name": "label"}, Annotations: map[string]string{"uid": "annotation"},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "set", UID: "owner", Controller: &isController,
					BlockOwnerDeletion: &blocks},
				{APIVersion: "v1", Kind: "Node", Name: "node", UID: "other"},
			},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{}}`)}},
		},
		Spec: corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	change(pod)
	return pod
}

// decode returns the metadata of the object from which a value was encoded, in protobuf or in JSON.
func TestDecode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		change       func(*corev1.Pod)
	}{
		{"stored", "the decoder skips the fields that an objects.Object doesn't have", func(*corev1.Pod) {}},
		{"deleted", "a time is a nested message", func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(time.Unix(2e9, 0))) }},
		{"orphaning", "the message has a field of its own for each value of a list", func(p *corev1.Pod) {
			p.Finalizers = []string{"example.com/hold", metav1.FinalizerOrphanDependents}
		}},
		{"foreground", "another finalizer has another meaning",
			func(p *corev1.Pod) { p.Finalizers = []string{metav1.FinalizerDeleteDependents} }},
		{"bare", "fields may be absent", func(p *corev1.Pod) { p.OwnerReferences, p.Namespace = nil, "" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pod := storedPod(test.change)
			want := objects.New(corev1.SchemeGroupVersion.WithKind("Pod"), pod)
			asJSON, err := json.Marshal(pod)
			if err != nil {
				t.Fatal(err)
			}
			var asProtobuf bytes.Buffer
			if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(pod, &asProtobuf); err != nil {
				t.Fatal(err)
			}
			for encoding, value := range map[string][]byte{"JSON": asJSON, "protobuf": asProtobuf.Bytes()} {
				got, err := decode(value)
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("%s: as %s, the object differs (-want +got), %v:\n%s", test.reason, encoding, err, diff)
				}
			}
		})
	}
}

// For a value that breaks off within the metadata, decode returns an error or an object without a UID.
func TestDecodeBroken(t *testing.T) {
	t.Parallel()
	var value bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(storedPod(func(*corev1.Pod) {}), &value); err != nil {
		t.Fatal(err)
	}
	whole := value.String()
	for end := len(protobufPrefix) + 1; end < strings.Index(whole, "kubectl"); end++ {
		if object, err := decode([]byte(whole[:end])); err == nil && object.UID != "" {
			t.Fatalf("want an error for the first %d of %d bytes, got %v", end, len(whole), object)
		}
	}
}

// decode reads a large value in JSON as far as the metadata, and further only for the kind.
func TestDecodeReadsTheBeginning(t *testing.T) {
	t.Parallel()
	want := objects.New(corev1.SchemeGroupVersion.WithKind("Pod"), &metav1.ObjectMeta{Name: "p", UID: "uid"})
	for _, test := range []struct {
		name, reason, value string
		fails               bool
	}{
		{"sorted", "the server stores custom resources so", `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "uid": "uid"}, "spec": {`, false},
		{"kind first", "the server stores definitions so", `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "uid": "uid"}, "spec": {`, false},
		{"kind last", "another server may store fields in any order",
			`{"metadata": {"name": "p", "uid": "uid"}, "spec": {"kind": "other"}, "apiVersion": "v1", "kind": "Pod"}`, false},
		{"broken", "the kind may come later", `{"metadata": {"name": "p", "uid": "uid"}, "spec": {`, true},
		{"no object", "a list has no metadata", `[{"kind": "Pod"}]`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := decode([]byte(test.value + strings.Repeat(" ", largeObject)))
			if test.fails != (err != nil) {
				t.Fatalf("%s: want an error %t, got %v", test.reason, test.fails, err)
			}
			if diff := cmp.Diff(want, got); diff != "" && !test.fails {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	var value bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(storedPod(func(*corev1.Pod) {}), &value); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decode(value.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}
