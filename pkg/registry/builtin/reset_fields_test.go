package builtin_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand" //nolint:depguard // randfill takes a Source of math/rand
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// endpoints returns the update strategies of the endpoints of a kind, by the path of the endpoint below the resource.
func endpoints(main registry.Strategy) map[string]registry.UpdateStrategy {
	all := map[string]registry.UpdateStrategy{"": main}
	if main.Kind.Status {
		all["/status"] = registry.StatusStrategy{Strategy: main}
	}
	for _, s := range main.Kind.Subresources {
		// TestPodPartsOwnTheirFields checks the subresources of pods, so endpoints leaves them out.
		if s.Update != nil && main.Kind.Resource != "pods" {
			all["/"+s.Name] = s.Update(main)
		}
	}
	return all
}

// ownedButFixed has the fields that an apply owns, although the endpoint doesn't change them. The value of a field is
// the reason. kube-apiserver has the same exceptions.
var ownedButFixed = map[string]string{
	"namespaces spec.finalizers": "another endpoint changes them",
}

// changedButNeverOwned has the fields that an endpoint can change, although an apply never owns them. The value of a
// field is the reason. kube-apiserver has the same exceptions.
var changedButNeverOwned = map[string]string{
	"certificatesigningrequests/status status.conditions": "the endpoint keeps approvals and denials, and signers update the other conditions",
	"services status.loadBalancer":                        "a service that is no load balancer any more loses the addresses of its load balancer",
}

// TestResetFields compares two lists of fields for the endpoints of each stored kind: the fields that an update doesn't
// change, and the fields that an apply never owns. Apart from ownedButFixed and changedButNeverOwned, the lists must be
// the same. If an apply owned a field that it can't change, other applies of the field would conflict without a reason.
func TestResetFields(t *testing.T) {
	t.Parallel()
	table := builtin.Table().Groups()
	for i := range table {
		for j := range table[i].Kinds {
			k := &table[i].Kinds[j]
			if k.List == nil {
				continue
			}
			s := builtin.Table().Strategy(k, registry.Dependencies{})
			for path, e := range endpoints(s) {
				t.Run(k.Resource+path, func(t *testing.T) {
					t.Parallel()
					neverOwned := e.GetResetFields()
					fixed, changed := fieldChanges(t, k, e)
					for _, gv := range s.Versions {
						set := neverOwned[fieldpath.APIVersion(gv.String())]
						var owned, unowned []string
						for _, field := range fixed {
							if !covers(set, field) && ownedButFixed[k.Resource+path+" "+field] == "" {
								owned = append(owned, field)
							}
						}
						for _, field := range changed {
							if covers(set, field) && changedButNeverOwned[k.Resource+path+" "+field] == "" {
								unowned = append(unowned, field)
							}
						}
						if diff := cmp.Diff([]string(nil), owned); diff != "" {
							t.Errorf("%s: fields that an update never changes, but an apply owns:\n%s", gv, diff)
						}
						if diff := cmp.Diff([]string(nil), unowned); diff != "" {
							t.Errorf("%s: fields that an update can change, but an apply never owns:\n%s", gv, diff)
						}
					}
				})
			}
		}
	}
}

// userMetadata are the fields of metadata that a client can change.
var userMetadata = []string{"annotations", "finalizers", "labels", "ownerReferences"}

// fieldChanges updates objects at random. It returns the fields that never change, and the fields that change at
// least once.
func fieldChanges(t *testing.T, k *registry.Kind, e registry.UpdateStrategy) (fixed, changed []string) {
	t.Helper()
	seen := map[string]bool{} // by field: true if an update has changed it
	for seed := range int64(12) {
		old, sent := filled(t, k, 2*seed), filled(t, k, 2*seed+1)
		updated := sent.DeepCopyObject()
		e.PrepareForUpdate(context.Background(), updated, old.DeepCopyObject())
		was, asked, is := fieldsOf(t, old), fieldsOf(t, sent), fieldsOf(t, updated)
		for name, value := range asked {
			if !apiequality.Semantic.DeepEqual(value, was[name]) {
				seen[name] = seen[name] || !apiequality.Semantic.DeepEqual(is[name], was[name])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if seen[name] {
			changed = append(changed, name)
		} else {
			fixed = append(fixed, name)
		}
	}
	return fixed, changed
}

// filled returns an object with a value in every field.
func filled(t *testing.T, k *registry.Kind, seed int64) runtime.Object {
	t.Helper()
	object := registry.NewOf(k.Object)()
	fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, anyValues), rand.NewSource(seed), builtin.Table().Codecs()).
		NilChance(0).NumElements(1, 2).MaxDepth(20).Fill(object)
	m, value := registry.MetaOf(object), fmt.Sprint("v", seed)
	m.SetName("a")
	m.SetLabels(map[string]string{"k": value})
	m.SetAnnotations(map[string]string{"k": value})
	m.SetFinalizers([]string{"example.com/" + value})
	m.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: value, UID: types.UID(value)}})
	return object
}

// fieldsOf returns the fields of an object's spec and status, and the userMetadata, by their dotted paths.
func fieldsOf(t *testing.T, object runtime.Object) map[string]any {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]any{}
	for _, part := range []string{"metadata", "spec", "status"} {
		members, _ := content[part].(map[string]any)
		for name, value := range members {
			if part != "metadata" || slices.Contains(userMetadata, name) {
				fields[part+"."+name] = value
			}
		}
	}
	return fields
}

// covers reports whether a set contains a field, or a parent of the field.
func covers(set *fieldpath.Set, field string) bool {
	if set == nil {
		return false
	}
	var path fieldpath.Path
	for _, name := range strings.Split(field, ".") {
		path = append(path, fieldpath.PathElement{FieldName: &name})
		if set.Has(path) {
			return true
		}
	}
	return false
}
