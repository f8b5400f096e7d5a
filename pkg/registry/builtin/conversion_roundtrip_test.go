package builtin_test

import (
	"math/rand" //nolint:depguard // randfill takes a Source of math/rand
	"path"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// pairs returns each kind that has different Go types in the hub and in another version. The hub is the version to
// which all other versions convert.
func pairs() []conversion.Pair {
	var all []conversion.Pair
	scheme := builtin.Table().Scheme()
	for _, g := range builtin.Table().Groups() {
		hub := scheme.KnownTypes(schema.GroupVersion{Group: g.Name, Version: runtime.APIVersionInternal})
		for _, v := range g.Versions {
			for kind, versioned := range scheme.KnownTypes(schema.GroupVersion{Group: g.Name, Version: v.Name}) {
				if hub[kind] != nil && hub[kind] != versioned && kind != metav1.WatchEventKind {
					all = append(all, conversion.Pair{Hub: hub[kind], Version: versioned})
				}
			}
		}
	}
	return all
}

// TestRoundTripThroughHub checks that no field of any version is lost by a conversion to the hub and back, because
// objects are stored as the hub.
func TestRoundTripThroughHub(t *testing.T) {
	t.Parallel()
	s := builtin.Table().Scheme()
	for _, p := range pairs() {
		t.Run(path.Base(path.Dir(p.Version.PkgPath()))+"/"+path.Base(p.Version.PkgPath())+"/"+p.Version.Name(), func(t *testing.T) {
			t.Parallel()
			const seed = 1
			fill := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, validValues), rand.NewSource(seed), serializer.NewCodecFactory(s)).
				NumElements(1, 2).MaxDepth(30)
			for range 10 {
				in := reflect.New(p.Version).Interface()
				fill.Fill(in)
				before := registrytest.AsMap(t, in)
				hub, out := reflect.New(p.Hub).Interface(), reflect.New(p.Version).Interface()
				if err := s.Convert(in, hub, nil); err != nil {
					t.Fatal(err)
				}
				if err := s.Convert(hub, out, nil); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(before, registrytest.AsMap(t, out)); diff != "" {
					t.Fatalf("changed by the round trip through %v (-before +after):\n%s", p.Hub, diff)
				}
			}
		})
	}
}

// validValues returns functions that fill types for which a random value may be invalid.
func validValues(serializer.CodecFactory) []any {
	return []any{
		func(q *apiresource.Quantity, c randfill.Continue) {
			*q = *apiresource.NewMilliQuantity(c.Int63n(1000), apiresource.DecimalSI)
			_ = q.String()
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = intstr.FromInt32(c.Int31())
			if c.Bool() {
				*v = intstr.FromString("port")
			}
		},
		func(e *runtime.RawExtension, _ randfill.Continue) {
			e.Raw = []byte(`{"a":1}`)
		},
		// A Scale has its selector in two forms. Both forms must have the same meaning.
		func(s *extensionsv1beta1.ScaleStatus, _ randfill.Continue) {
			s.Selector, s.TargetSelector = map[string]string{"a": "b"}, "a=b"
		},
		func(s *appsv1beta1.ScaleStatus, _ randfill.Continue) {
			s.Selector, s.TargetSelector = map[string]string{"a": "b"}, "a=b"
		},
		func(s *appsv1beta2.ScaleStatus, _ randfill.Continue) {
			s.Selector, s.TargetSelector = map[string]string{"a": "b"}, "a=b"
		},
		// v1beta1 has the node's name in two places, so the test sets both to the same value.
		func(e *discoveryv1beta1.Endpoint, c randfill.Continue) {
			c.FillNoCustom(e)
			e.NodeName = nil
			if e.Topology != nil {
				node := c.String(0)
				e.NodeName, e.Topology["kubernetes.io/hostname"] = &node, node
				e.Topology["topology.kubernetes.io/zone"] = c.String(0)
			}
		},
		// The test sets a target, because the default would replace a missing target. The test sets no current
		// utilization, because the conversion stores the current utilization in an annotation.
		func(h *autoscalingv1.HorizontalPodAutoscaler, c randfill.Continue) {
			c.FillNoCustom(h)
			percent := c.Int31n(100)
			h.Spec.TargetCPUUtilizationPercentage, h.Status.CurrentCPUUtilizationPercentage = &percent, nil
		},
		// In v1beta1, a request without a signer gets a default signer. The round trip wouldn't restore the
		// missing signer, so the test sets one.
		func(r *certificatesv1beta1.CertificateSigningRequestSpec, c randfill.Continue) {
			c.FillNoCustom(r)
			signer := c.String(0)
			r.SignerName = &signer
		},
		// The test leaves these fields of v1beta1 empty, because v1 doesn't have them: in v1, the key is only in
		// the certificate request.
		func(r *certificatesv1beta1.PodCertificateRequestSpec, c randfill.Continue) {
			c.FillNoCustom(r)
			r.PKIXPublicKey, r.ProofOfPossession = nil, nil
		},
		// In v1beta1, the fields of a device are in "basic", so "basic" must be set.
		func(d *resourcev1beta1.Device, c randfill.Continue) {
			c.Fill(&d.Name)
			d.Basic = &resourcev1beta1.BasicDevice{}
			c.Fill(d.Basic)
		},
		func(s *rbacv1alpha1.Subject, c randfill.Continue) {
			s.Kind, s.APIVersion, s.Name = "User", rbacv1alpha1.SchemeGroupVersion.String(), c.String(0)
		},
		// In v1beta3, a priority level with zero shares has an annotation, which this function can't set. So the
		// function sets at least one share.
		func(l *flowcontrolv1beta3.LimitedPriorityLevelConfiguration, c randfill.Continue) {
			c.FillNoCustom(l)
			l.NominalConcurrencyShares = 1 + c.Int31n(100)
		},
	}
}
