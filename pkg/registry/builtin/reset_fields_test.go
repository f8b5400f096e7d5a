package builtin_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand"
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

// endpoints are those of a row, by the path below the resource.
func endpoints(main registry.Strategy) map[string]registry.UpdateStrategy {
	all := map[string]registry.UpdateStrategy{"": main}
	if main.Kind.Status {
		all["/status"] = registry.StatusStrategy{Strategy: main}
	}
	for _, s := range main.Kind.Subresources {
		// The parts of a pod name the fields that are their own (see TestPodPartsOwnTheirFields).
		if s.Update != nil && main.Kind.Resource != "pods" {
			all["/"+s.Name] = s.Update(main)
		}
	}
	return all
}

// keptUntold are fields that an endpoint doesn't change although an apply on it owns them, as in kube-apiserver.
var keptUntold = map[string]string{
	"namespaces spec.finalizers": "another endpoint changes them",
}

// toldUnkept are fields that an endpoint can change although an apply on it never owns them, as in kube-apiserver.
var toldUnkept = map[string]string{
	"certificatesigningrequests/status status.conditions": "only approvals and denials are kept there; signers update the others",
	"services status.loadBalancer":                        "a service that ceases to be a load balancer loses what it got as one",
}

// TestResetFields checks two lists of fields for every endpoint of every row: those that an update doesn't change, and
// those that an apply never owns. Both must be the same. If an apply owned a field that can't change, the response
// would claim that the apply has set the field, and other applies would conflict.
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
					told := e.GetResetFields()
					kept, changed := whatIsKept(t, k, e)
					for _, gv := range s.Versions {
						set := told[fieldpath.APIVersion(gv.String())]
						var untold, unkept []string
						for _, field := range kept {
							if !covers(set, field) && keptUntold[k.Resource+path+" "+field] == "" {
								untold = append(untold, field)
							}
						}
						for _, field := range changed {
							if covers(set, field) && toldUnkept[k.Resource+path+" "+field] == "" {
								unkept = append(unkept, field)
							}
						}
						if diff := cmp.Diff([]string(nil), untold); diff != "" {
							t.Errorf("%s: fields that stay as they were, and that an apply owns:\n%s", gv, diff)
						}
						if diff := cmp.Diff([]string(nil), unkept); diff != "" {
							t.Errorf("%s: fields that change, and that an apply never owns:\n%s", gv, diff)
						}
					}
				})
			}
		}
	}
}

// userMetadata are the fields of metadata that a client may change.
var userMetadata = []string{"annotations", "finalizers", "labels", "ownerReferences"}

// whatIsKept updates objects at random. It returns the fields of metadata, spec and status that never change, and those
// that change at least once.
func whatIsKept(t *testing.T, k *registry.Kind, e registry.UpdateStrategy) (kept, changed []string) {
	t.Helper()
	seen := map[string]bool{} // whether it has changed
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
			kept = append(kept, name)
		}
	}
	return kept, changed
}

// filled is an object that has every field.
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

// fieldsOf are the fields of an object's metadata, spec and status, by their dotted paths.
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

// covers tells whether a set has a field or a parent of the field.
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
