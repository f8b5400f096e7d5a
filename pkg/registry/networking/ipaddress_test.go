package networking

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestIPAddressColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "of a service", Reason: "a parent of the core group is shown without a group",
			Object: &networkingv1.IPAddress{ObjectMeta: registrytest.MonthOld("x"), Spec: networkingv1.IPAddressSpec{
				ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: "ns", Name: "s"},
			}},
			Want: []any{"x", "services/ns/s", "30d"},
		},
	})
}

func TestIPAddressGenerateName(t *testing.T) {
	t.Parallel()
	main := &registry.Storage{Store: &genericregistry.Store{}, Strategy: registrytest.Strategy(t, registrytest.Table(t, Group), &networkingv1.IPAddress{})}
	if _, err := newIPAddressStorage(main, registry.Dependencies{}); err != nil {
		t.Fatal(err)
	}
	if got := main.CreateStrategy.GenerateName("10.0.0.1"); got != "10.0.0.1" {
		t.Errorf("the generated name is %q: an address gets no suffix, because its name would be invalid", got)
	}
}

func TestIPAddressErrors(t *testing.T) {
	t.Parallel()
	address := func(change func(*metav1.ObjectMeta)) *networkingv1.IPAddress {
		a := &networkingv1.IPAddress{ObjectMeta: registrytest.ClusterStored("10.0.0.1"),
			Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Name: "s"}}}
		change(&a.ObjectMeta)
		return a
	}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "parent", Reason: "an address has a parent, which can't change",
			Object: &networkingv1.IPAddress{ObjectMeta: registrytest.ClusterStored("10.0.0.1")},
			Old: &networkingv1.IPAddress{
				ObjectMeta: registrytest.ClusterStored("10.0.0.1"),
				Spec:       networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Name: "s"}}},
			Want: []string{"spec.parentRef: Required value", "spec.parentRef: Invalid value: null: field is immutable"},
		},
		{
			Name: "other parent", Reason: "kube-apiserver checks a parent, even if it can't change",
			Object: &networkingv1.IPAddress{
				ObjectMeta: registrytest.ClusterStored("10.0.0.1"),
				Spec:       networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services"}}},
			Old: &networkingv1.IPAddress{
				ObjectMeta: registrytest.ClusterStored("10.0.0.1"),
				Spec:       networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Name: "s"}}},
			Want: []string{"spec.parentRef.name: Required value", "spec.parentRef: Invalid value: null: field is immutable"},
		},
		{
			Name: "generated name", Reason: "an update checks the name, too",
			Object: address(func(m *metav1.ObjectMeta) { m.GenerateName = "gen-" }), Old: address(func(*metav1.ObjectMeta) {}),
			Want: []string{"metadata.generateName: Invalid value: \"gen-\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"},
		},
	})
}
