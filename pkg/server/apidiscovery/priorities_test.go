package apidiscovery

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// TestEveryGroupHasAPriority checks the priority of each group. A group without a priority would be listed after the
// groups of custom resources. Then kubectl would resolve a short name of the group to a custom resource with the same
// short name. Of the versions of a group, the preferred one has the highest priority.
func TestEveryGroupHasAPriority(t *testing.T) {
	t.Parallel()
	versionsOf := map[string]int32{}
	for _, gv := range builtin.Table().Scheme().PrioritizedVersionsAllGroups() {
		group, version := builtin.Table().Priority(gv)
		if group <= registry.CustomGroupPriority || version <= 0 {
			t.Errorf("%s has the priorities %d and %d", gv, group, version)
		}
		if before, ok := versionsOf[gv.Group]; ok && before < version {
			t.Errorf("%s has the priority %d, a version before it %d", gv, version, before)
		}
		versionsOf[gv.Group] = version
	}
}

// TestPrioritiesAreKubernetes checks the APIServices of the served versions against those of kube-apiserver 1.37.2.
func TestPrioritiesAreKubernetes(t *testing.T) {
	t.Parallel()
	got := map[string][2]int32{}
	versions := registry.APIGroup{Versions: builtin.Table().Scheme().PrioritizedVersionsAllGroups()}
	for _, s := range BuiltIn(builtin.Table(), []registry.APIGroup{versions}, true) {
		got[schema.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version}.String()] = [2]int32{s.Spec.GroupPriorityMinimum, s.Spec.VersionPriority}
	}
	want := map[string][2]int32{
		"v1":                                    {18000, 1},
		"admissionregistration.k8s.io/v1":       {16700, 15},
		"admissionregistration.k8s.io/v1alpha1": {16700, 9},
		"admissionregistration.k8s.io/v1beta1":  {16700, 12},
		"apiextensions.k8s.io/v1":               {16700, 15},
		"apps/v1":                               {17800, 15},
		"authentication.k8s.io/v1":              {17700, 15},
		"authorization.k8s.io/v1":               {17600, 15},
		"autoscaling/v1":                        {17500, 15},
		"autoscaling/v2":                        {17500, 30},
		"batch/v1":                              {17400, 15},
		"certificates.k8s.io/v1":                {17300, 15},
		"certificates.k8s.io/v1beta1":           {17300, 9},
		"coordination.k8s.io/v1":                {16500, 15},
		"coordination.k8s.io/v1alpha2":          {16500, 12},
		"coordination.k8s.io/v1beta1":           {16500, 13},
		"discovery.k8s.io/v1":                   {16200, 15},
		"events.k8s.io/v1":                      {17750, 15},
		"flowcontrol.apiserver.k8s.io/v1":       {16100, 21},
		"networking.k8s.io/v1":                  {17200, 15},
		"node.k8s.io/v1":                        {16300, 15},
		"policy/v1":                             {17100, 15},
		"rbac.authorization.k8s.io/v1":          {17000, 15},
		"resource.k8s.io/v1":                    {16200, 21},
		"resource.k8s.io/v1alpha3":              {16200, 1},
		"resource.k8s.io/v1beta1":               {16200, 9},
		"resource.k8s.io/v1beta2":               {16200, 15},
		"scheduling.k8s.io/v1":                  {16600, 15},
		"storage.k8s.io/v1":                     {16800, 15},
		"storagemigration.k8s.io/v1":            {15800, 15},
		"storagemigration.k8s.io/v1beta1":       {15800, 9},
	}
	for gv := range got {
		if _, ok := want[gv]; !ok { // kube-apiserver serves the version with a feature gate alone, or no longer
			delete(got, gv)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-kube-apiserver's priorities, +ours:\n%s", diff)
	}
}
