package customresources

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// preparedGears returns a prepared definition, made without a preparer.
func preparedGears(t *testing.T) *prepared {
	t.Helper()
	differing := newPlaceholders()
	names := apiextensionsv1.CustomResourceDefinitionNames{Plural: "gears", Singular: "gear", Kind: "Gear", ListKind: "GearList", ShortNames: []string{"g"}}
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: "gears.example.com", UID: differing.uid, CreationTimestamp: differing.time,
			Annotations:   map[string]string{"since": "2020-01-01T00:00:00Z"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", Time: &differing.time}},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: "example.com", Names: names, Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1"}}},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{
			Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, LastTransitionTime: differing.time}},
		},
	}
	data, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	return newPrepared(crd, data, nil, differing)
}

// TestPreparedCopy checks that a copy of a prepared definition has its own UID and times, both in the form for
// informers and in the form for etcd. A server may change the metadata and the status of its copy without an
// effect on other copies.
func TestPreparedCopy(t *testing.T) {
	t.Parallel()
	p := preparedGears(t)
	before := p.crd.DeepCopy()
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	crd, data := p.copy(now)
	other, _ := p.copy(now)
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
	if strings.Contains(string(data), string(p.crd.UID)) {
		t.Errorf("the copy has the placeholder: %s", data)
	}
}

// TestWithoutConflicts checks that definitions of a group aren't prepared if two of them request the same name.
// Only requests can create such definitions, because the order of the requests decides which definition gets the
// name.
func TestWithoutConflicts(t *testing.T) {
	t.Parallel()
	define := func(group, plural, kind string, shortNames ...string) *prepared {
		return &prepared{crd: &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List", ShortNames: shortNames},
		}}}
	}
	gears := define("example.com", "gears", "Gear", "g")
	for _, test := range []struct {
		name, reason string
		other        *prepared
		want         bool
	}{
		{"another name", "both are accepted", define("example.com", "wheels", "Wheel", "w"), true},
		{"another group", "names belong to groups", define("other.com", "gears", "Gear", "g"), true},
		{"refused", "a refused definition, which is nil here, takes no names", nil, true},
		{"short name", "the first request gets the short name", define("example.com", "grids", "Grid", "g"), false},
		{"plural as short name", "resources have one space of names", define("example.com", "wheels", "Wheel", "gears"), false},
		{"kind", "the first request gets the kind", define("example.com", "wheels", "Gear"), false},
		{"list kind", "kinds have one space of names", define("example.com", "wheels", "GearList"), false},
		{"given twice", "the second definition changes the first", gears, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := withoutConflicts([]*prepared{gears, test.other})
			if (got[0] != nil) != test.want {
				t.Errorf("the definition is kept: %t, want %t: %s", got[0] != nil, test.want, test.reason)
			}
			if !test.want && got[1] != nil {
				t.Error("the other is kept")
			}
		})
	}
}

// TestInstalledIsTaken checks that take returns an installed definition only once, and only for the revision at which
// the definition was stored. The informer doesn't decode a definition that it gets from take.
func TestInstalledIsTaken(t *testing.T) {
	t.Parallel()
	crd, _ := preparedGears(t).copy(metav1.Now())
	crd.ResourceVersion = "7"
	var i installed
	i.add(crd)
	if got := i.take("gears.example.com", 8); got != nil {
		t.Errorf("the definition stands for a later write: %v", got)
	}
	i.add(crd)
	if got := i.take("gears.example.com", 7); got != crd {
		t.Errorf("got %v, want what was installed", got)
	}
	if got := i.take("gears.example.com", 7); got != nil {
		t.Error("the definition is kept after the first list")
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
