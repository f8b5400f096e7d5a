package registry

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

var endpointSliceHooks = HooksOf[*discoveryv1.EndpointSlice]{
	PrepareForCreate: func(ctx context.Context, s *discoveryv1.EndpointSlice) { dropTopology(ctx, s, nil) },
	PrepareForUpdate: dropTopology,
	// Labels say what service the endpoints are of, so they count, too.
	SpecChanged: func(s, old *discoveryv1.EndpointSlice) bool {
		return DesiredStateDiffers(s, old) || !apiequality.Semantic.DeepEqual(s.Labels, old.Labels)
	},
	Validate:       validation.EndpointSlice,
	ValidateUpdate: validation.EndpointSliceUpdate,
	Warnings:       warnings.EndpointSlice,
}

// dropTopology drops the topology of v1beta1 from what is written through v1, unless
// the endpoints stay as they were. A node name that was there before stays, in the
// field that v1 has for it.
func dropTopology(ctx context.Context, s, old *discoveryv1.EndpointSlice) {
	if RequestVersion(ctx) == discoveryv1beta1.SchemeGroupVersion {
		return
	}
	known := map[string]bool{}
	if old != nil {
		if apiequality.Semantic.DeepEqual(s.Endpoints, old.Endpoints) {
			return
		}
		for _, e := range old.Endpoints {
			known[e.DeprecatedTopology[corev1.LabelHostname]] = true
		}
	}
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		node, ok := e.DeprecatedTopology[corev1.LabelHostname]
		if e.NodeName == nil && ok && node != "" && known[node] && len(apivalidation.NameIsDNSSubdomain(node, false)) == 0 {
			e.NodeName = &node
		}
		e.DeprecatedTopology = nil
	}
}
