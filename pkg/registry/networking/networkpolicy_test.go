package networking

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestNetworkPolicyWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "ambiguous exception", Reason: "exceptions are checked like blocks",
			Object: &networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{
				{To: []networkingv1.NetworkPolicyPeer{{}, {IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8", Except: []string{"10.1.0.1/16"}}}}},
			}}},
			Want: []string{`spec.egress[0].to[1].ipBlock.except[0]: CIDR value "10.1.0.1/16" is ambiguous in this context (should be "10.1.0.0/16" or "10.1.0.1/32"?)`},
		},
	})
}

func TestNetworkPolicyGeneration(t *testing.T) {
	t.Parallel()
	registrytest.CheckGenerations(t, registrytest.Table(t, Group), []registrytest.GenerationCase{{
		Name: "empty list", Reason: "kube-apiserver distinguishes an empty list from none",
		Object: &networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{}}},
		Old:    &networkingv1.NetworkPolicy{ObjectMeta: registrytest.Generation(1)}, Want: 2,
	}})
}

func TestNetworkPolicyErrors(t *testing.T) {
	t.Parallel()
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "exception", Reason: "an exception is a part of its block",
			Object: &networkingv1.NetworkPolicy{ObjectMeta: registrytest.Stored("p"), Spec: networkingv1.NetworkPolicySpec{
				Egress: []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{
					{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8", Except: []string{"11.0.0.0/16"}}}, {}}}}}},
			Want: []string{
				"spec.egress[0].to[0].ipBlock.except[0]: Invalid value: \"11.0.0.0/16\": must be a strict subset of `cidr`",
				"spec.egress[0].to[1]: Required value: must specify a peer",
			},
		},
	})
}

func TestNetworkPolicyDefaults(t *testing.T) {
	t.Parallel()
	registrytest.CheckDefaults(t, registrytest.Table(t, Group), []registrytest.DefaultsCase{
		{
			Name:     "egress rules",
			Reason:   "a policy with egress rules applies to both directions",
			Manifest: `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}, egress: [{ports: [{port: 53}]}]}}`,
			Path:     "spec",
			Want:     `{podSelector: {}, egress: [{ports: [{port: 53, protocol: TCP}]}], policyTypes: [Ingress, Egress]}`,
		},
	})
}
