package resource

import (
	"math/rand" //nolint:depguard // randfill takes a Source of math/rand
	"testing"

	"github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestConversions(t *testing.T) {
	t.Parallel()
	registrytest.CheckConversions(t, registrytest.Table(t, Group), []registrytest.ConversionCase{
		{
			Name:     "device request",
			Reason:   "v1 moves the fields of a single request into the field exactly",
			Manifest: `{apiVersion: resource.k8s.io/v1beta1, kind: ResourceClaim, spec: {devices: {requests: [{name: r, deviceClassName: c, count: 2}, {name: s, firstAvailable: [{name: t, deviceClassName: d}]}]}}}`,
			To:       &resourcev1.ResourceClaim{},
			Path:     "spec.devices.requests",
			Want:     `[{name: r, exactly: {deviceClassName: c, count: 2}}, {name: s, firstAvailable: [{name: t, deviceClassName: d}]}]`,
		},
		{
			Name:     "request without a class",
			Reason:   "any field of a single request is under exactly, also if the request is invalid",
			Manifest: `{apiVersion: resource.k8s.io/v1beta1, kind: ResourceClaimTemplate, spec: {spec: {devices: {requests: [{name: r, selectors: []}, {name: s}]}}}}`,
			To:       &resourcev1.ResourceClaimTemplate{},
			Path:     "spec.spec.devices.requests",
			Want:     `[{name: r, exactly: {deviceClassName: ""}}, {name: s}]`,
		},
		{
			Name:   "slice",
			Reason: "v1 moves the fields under basic into the device, and v1beta1 can't tell an empty node from a missing one",
			Manifest: `{apiVersion: resource.k8s.io/v1beta1, kind: ResourceSlice, spec: {driver: d, pool: {name: p, generation: 0, resourceSliceCount: 1}, nodeName: "", allNodes: false,
				devices: [{name: a, basic: {attributes: {size: {int: 1}}}}, {name: b, basic: {}}, {name: c}]}}`,
			To:   &resourcev1.ResourceSlice{},
			Path: "spec",
			Want: `{driver: d, pool: {name: p, generation: 0, resourceSliceCount: 1}, devices: [{name: a, attributes: {size: {int: 1}}}, {name: b}, {name: c}]}`,
		},
	})
}

// TestRoundTripThroughV1beta1 checks that v1beta1 has a place for each field of v1: a client that reads and writes an
// object of v1 as v1beta1 loses no field. TestRoundTripThroughHub in package builtin checks the opposite way, for all
// kinds.
func TestRoundTripThroughV1beta1(t *testing.T) {
	t.Parallel()
	s := registrytest.Table(t, Group).Scheme()
	for _, test := range []struct {
		name                 string
		hub, v1beta1, result runtime.Object
	}{
		{"claim", &resourcev1.ResourceClaim{}, &resourcev1beta1.ResourceClaim{}, &resourcev1.ResourceClaim{}},
		{"template", &resourcev1.ResourceClaimTemplate{}, &resourcev1beta1.ResourceClaimTemplate{}, &resourcev1.ResourceClaimTemplate{}},
		{"slice", &resourcev1.ResourceSlice{}, &resourcev1beta1.ResourceSlice{}, &resourcev1.ResourceSlice{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			fill := randfill.New().RandSource(rand.NewSource(1)).NilChance(0).NumElements(1, 2).MaxDepth(30).Funcs(
				func(*metav1.TypeMeta, randfill.Continue) {},
				func(o *metav1.ObjectMeta, _ randfill.Continue) { o.Name, o.Labels = "o", map[string]string{"a": "b"} },
				func(q *apiresource.Quantity, c randfill.Continue) { *q = apiresource.MustParse("1500m") },
				func(e *runtime.RawExtension, _ randfill.Continue) { e.Raw = []byte(`{"a":1}`) },
				// v1beta1 can't tell a false or empty field from a missing one.
				func(b *bool, _ randfill.Continue) { *b = true },
				func(s *string, c randfill.Continue) { *s = "s" + c.String(0) },
			)
			fill.Fill(test.hub)
			before := test.hub.DeepCopyObject()
			if err := s.Convert(test.hub, test.v1beta1, nil); err != nil {
				t.Fatal(err)
			}
			if err := s.Convert(test.v1beta1, test.result, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, test.result); diff != "" {
				t.Errorf("v1beta1 changes an object of v1 (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(before, test.hub); diff != "" {
				t.Errorf("the conversion changes its original (-before +after):\n%s", diff)
			}
		})
	}
}
