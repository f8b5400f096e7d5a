package defaultstorageclass

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	class := func(name string, age time.Duration, annotation string) runtime.Object {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{annotation: "true"},
			CreationTimestamp: metav1.NewTime(time.Unix(1700000000, 0).Add(-age)),
		}}
	}
	plain := class("plain", 0, "unrelated")
	tests := []struct {
		name, reason string
		classes      []runtime.Object
		claim        corev1.PersistentVolumeClaim
		want         *string
	}{
		{name: "none", reason: "without a default class, the claim stays unchanged", classes: []runtime.Object{plain}},
		{name: "default", reason: "the marked class is set",
			classes: []runtime.Object{plain, class("marked", 0, isDefaultClass)}, want: new("marked")},
		{name: "beta annotation", reason: "old classes still count",
			classes: []runtime.Object{class("old", 0, isDefaultClassBeta)}, want: new("old")},
		{name: "two", reason: "the newer default class replaces the older default class",
			classes: []runtime.Object{class("a", time.Hour, isDefaultClass), class("b", 0, isDefaultClass)},
			want:    new("b")},
		{name: "two of an age", reason: "names decide",
			classes: []runtime.Object{class("b", 0, isDefaultClass), class("a", 0, isDefaultClass)}, want: new("a")},
		{name: "empty class", reason: "a claim with an empty class has no storage class on purpose",
			classes: []runtime.Object{class("marked", 0, isDefaultClass)},
			claim:   corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: new("")}},
			want:    new("")},
		{name: "annotated claim", reason: "an older annotation of a claim names the class",
			classes: []runtime.Object{class("marked", 0, isDefaultClass)},
			claim:   corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.BetaStorageClassAnnotation: "x"}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, nil, test.classes...)
			claim := test.claim.DeepCopy()
			plugintest.Run(t, p, plugintest.Create(claim), "")
			if diff := cmp.Diff(test.want, claim.Spec.StorageClassName); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
