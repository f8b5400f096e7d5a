package resource

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// TestClaimStatusPermissions checks that only schedulers can allocate a claim. It also checks that a driver can report
// only its own devices. Without the permission for all nodes, it can report only devices on its own node.
func TestClaimStatusPermissions(t *testing.T) {
	t.Parallel()
	const (
		binding     = "update resourceclaims/binding" // the permission for all claims in all namespaces
		local       = "associated-node:update resourceclaims/driver ns/a.example.com"
		anywhere    = "arbitrary-node:update resourceclaims/driver ns/a.example.com"
		otherDriver = "arbitrary-node:update resourceclaims/driver ns/b.example.com"
	)
	on := func(node string) *resourcev1.AllocationResult {
		return &resourcev1.AllocationResult{
			Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
				{Driver: "a.example.com", Pool: "p", Device: "d"}, {Driver: "b.example.com", Pool: "p", Device: "d"},
			}},
			NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
			}}},
		}
	}
	claim := func(allocation *resourcev1.AllocationResult, drivers ...string) *resourcev1.ResourceClaim {
		c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "claim"}}
		c.Status.Allocation = allocation
		for _, d := range drivers {
			c.Status.Devices = append(c.Status.Devices, resourcev1.AllocatedDeviceStatus{Driver: d, Pool: "p", Device: "d"})
		}
		return c
	}
	pluginOn := func(node string) user.Info {
		return &user.DefaultInfo{Name: "system:serviceaccount:ns:plugin", Extra: map[string][]string{"authentication.kubernetes.io/node-name": {node}}}
	}
	reporter := &user.DefaultInfo{Name: "reporter", Extra: map[string][]string{"authentication.kubernetes.io/node-name": {"n"}}}
	for _, test := range []struct {
		name, reason string
		user         user.Info
		may          []string
		c, old       *resourcev1.ResourceClaim
		asked        []string
		refused      []string
	}{
		{"unchanged", "an unchanged status needs no further permission", reporter, nil,
			claim(on("n"), "a.example.com"), claim(on("n"), "a.example.com"), nil, nil},
		{"allocated", "an allocation needs the permission of schedulers", reporter, []string{binding},
			claim(on("n")), claim(nil), []string{binding}, nil},
		{"allocated by a driver", "the permission of a driver is for the devices in the status", reporter, []string{anywhere},
			claim(on("n")), claim(nil), []string{binding}, []string{"status.allocation"}},
		{"deallocated", "a deallocation removes the status of the devices without a driver's permission", reporter, []string{binding},
			claim(nil), claim(on("n"), "a.example.com"), []string{binding}, nil},
		{"on its node", "the driver's token is bound to the node of the devices", pluginOn("n"), []string{local},
			claim(on("n"), "a.example.com"), claim(on("n")), []string{local}, nil},
		{"everywhere", "the permission for all nodes includes the node of the user", pluginOn("n"), []string{anywhere},
			claim(on("n"), "a.example.com"), claim(on("n")), []string{local, anywhere}, nil},
		{"on another node", "the local permission is for the devices of the user's node", pluginOn("other"), []string{local},
			claim(on("n"), "a.example.com"), claim(on("n")), []string{anywhere}, []string{"status.devices"}},
		{"no service account", "only tokens of service accounts prove the node of a user", reporter, []string{local},
			claim(on("n"), "a.example.com"), claim(on("n")), []string{anywhere}, []string{"status.devices"}},
		{"of another driver", "the user needs the permission for each driver", reporter, []string{anywhere},
			claim(on("n"), "a.example.com", "b.example.com"), claim(on("n")), []string{anywhere, otherDriver}, []string{"status.devices"}},
		{"taken away", "the removal of a device's status needs the driver's permission", reporter, nil,
			claim(on("n")), claim(on("n"), "a.example.com"), []string{anywhere}, []string{"status.devices"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			deps := registry.Dependencies{Authorizer: authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
				question := a.GetVerb() + " " + a.GetResource() + "/" + a.GetSubresource()
				if a.GetNamespace() != "" || a.GetName() != "" {
					question += " " + a.GetNamespace() + "/" + a.GetName()
				}
				asked = append(asked, question)
				if slices.Contains(test.may, question) {
					return authorizer.DecisionAllow, "", nil
				}
				return authorizer.DecisionNoOpinion, "", nil
			})}
			ctx := genericapirequest.WithUser(t.Context(), test.user)
			ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{Verb: "update"})
			var refused []string
			for _, err := range authorizeClaimStatus(ctx, deps, test.c, test.old) {
				refused = append(refused, err.Field)
			}
			if diff := cmp.Diff(test.refused, refused); diff != "" {
				t.Errorf("refused (-want +got), %s:\n%s", test.reason, diff)
			}
			if diff := cmp.Diff(test.asked, asked); diff != "" {
				t.Errorf("asked (-want +got), %s:\n%s", test.reason, diff)
			}
		})
	}
}

// TestResourceClaimStatusForbidden checks that the validation reports both a missing permission for the status and
// invalid fields of the status.
func TestResourceClaimStatusForbidden(t *testing.T) {
	t.Parallel()
	claim := func(results ...resourcev1.DeviceRequestAllocationResult) *resourcev1.ResourceClaim {
		c := &resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", ResourceVersion: "1"},
			Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
				{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "c"}},
			}}},
		}
		if results != nil {
			c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: results}}
		}
		return c
	}
	table := registrytest.Table(t, Group)
	main := table.Strategy(registrytest.Row(t, table, claim()), registry.Dependencies{
		Authorizer: authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
			return authorizer.DecisionNoOpinion, "", nil
		}),
	})
	ctx := genericapirequest.WithUser(registrytest.Through(resourcev1.SchemeGroupVersion), &user.DefaultInfo{Name: "jane"})
	errs := registry.StatusStrategy{Strategy: main}.ValidateUpdate(ctx, claim(resourcev1.DeviceRequestAllocationResult{Request: "another", Driver: "d.e", Pool: "p", Device: "d"}), claim())
	var got []string
	for _, err := range errs {
		got = append(got, string(err.Type)+" "+err.Field)
	}
	want := []string{"FieldValueForbidden status.allocation", "FieldValueInvalid status.allocation.devices.results[0].request"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}
