package customresources

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// preparedGears returns a prepared definition, made without a preparer.
func preparedGears(t *testing.T) *prepared {
	t.Helper()
	once := metav1.NewTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	names := apiextensionsv1.CustomResourceDefinitionNames{Plural: "gears", Singular: "gear", Kind: "Gear", ListKind: "GearList", ShortNames: []string{"g"}}
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: "gears.example.com", UID: "1", CreationTimestamp: once,
			Annotations:   map[string]string{"since": "2020-01-01T00:00:00Z"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", Time: &once}},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: "example.com", Names: names,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1"}}},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{
			Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, LastTransitionTime: once}},
		},
	}
	encoded, err := storage.NewTemplate(crd, func(o runtime.Object) ([]byte, error) { return json.Marshal(o) })
	if err != nil {
		t.Fatal(err)
	}
	return &prepared{crd: crd, encoded: encoded}
}

// TestPreparedCopy checks that a copy of a prepared definition has its own UID and times, both in the form for
// informers and in the form for etcd. A server may change the metadata and the status of its copy without an
// effect on other copies.
func TestPreparedCopy(t *testing.T) {
	t.Parallel()
	p := preparedGears(t)
	before := p.crd.DeepCopy()
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	crd, data, err := p.copy(now)
	other, _, errOther := p.copy(now)
	if err := errors.Join(err, errOther); err != nil {
		t.Fatal(err)
	}
	if crd.UID == p.crd.UID || crd.UID == other.UID {
		t.Errorf("UIDs are %s, %s and %s, want three", p.crd.UID, crd.UID, other.UID)
	}
	stored := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(data, stored); err != nil {
		t.Fatal(err)
	}
	for _, got := range []*apiextensionsv1.CustomResourceDefinition{crd, stored} {
		times := []metav1.Time{got.CreationTimestamp, *got.ManagedFields[0].Time, got.Status.Conditions[0].LastTransitionTime}
		if got.UID != crd.UID || slices.ContainsFunc(times, func(at metav1.Time) bool { return !at.Time.Equal(now.Time) }) {
			t.Errorf("UID %s, times %v, want %s and %v", got.UID, times, crd.UID, now)
		}
		if got.Annotations["since"] != "2020-01-01T00:00:00Z" {
			t.Errorf("annotations are %v, want what was given", got.Annotations)
		}
	}
	crd.Status.Conditions[0].Status = "changed"
	crd.ManagedFields[0].Manager = "changed"
	if other.Status.Conditions[0].Status != "" || other.ManagedFields[0].Manager != "m" || p.crd.UID != before.UID || p.crd.ManagedFields[0].Manager != "m" {
		t.Error("a change of one copy is a change of another")
	}
}

// TestPreparedIsBounded checks that Prepared prepares each definition only once, and never keeps more definitions
// than mostPrepared.
func TestPreparedIsBounded(t *testing.T) {
	t.Parallel()
	var p Prepared
	made := 0
	for n := range 3*mostPrepared + 1 {
		for range 2 {
			p.of("settings", "manager", []byte(strconv.Itoa(n)), func() *prepared {
				made++
				return nil
			})
		}
		if len(p.byContent) > mostPrepared {
			t.Fatalf("%d are kept, want at most %d", len(p.byContent), mostPrepared)
		}
	}
	if want := 3*mostPrepared + 1; made != want {
		t.Errorf("prepared %d times, want %d", made, want)
	}
}
