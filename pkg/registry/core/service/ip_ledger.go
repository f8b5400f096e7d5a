package service

import (
	"context"
	"net/netip"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"
)

// ipAllocator is the value of the label "managed-by" of the IPAddresses that this package makes.
const ipAllocator = "ipallocator.k8s.io"

// addressLedger implements ledger for cluster IPs. The entry that reserves an address is an
// IPAddress object.
type addressLedger struct {
	IPAddressWriter
	addresses *genericregistry.Store
}

var _ ledger = addressLedger{}

func (l addressLedger) add(ctx context.Context, key string, owner types.NamespacedName) error {
	ip, err := netip.ParseAddr(key)
	if err != nil {
		return err
	}
	_, err = l.Create(ctx, &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: key, Labels: map[string]string{
			networkingv1.LabelIPAddressFamily: string(familyOf(ip)),
			networkingv1.LabelManagedBy:       ipAllocator,
		}},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{
			Resource: "services", Namespace: owner.Namespace, Name: owner.Name,
		}},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return errReserved
	}
	return err
}

func (l addressLedger) get(ctx context.Context, key string, cached bool) (*reservation, error) {
	options := &metav1.GetOptions{}
	if cached {
		options.ResourceVersion = "0"
	}
	found, err := l.addresses.Get(ctx, key, options)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	address := found.(*networkingv1.IPAddress)
	entry := &reservation{since: address.CreationTimestamp, uid: address.UID, resourceVersion: address.ResourceVersion}
	parent := ptr.Deref(address.Spec.ParentRef, networkingv1.ParentReference{})
	if parent.Group == "" && parent.Resource == "services" && address.Labels[networkingv1.LabelManagedBy] == ipAllocator {
		entry.owner = types.NamespacedName{Namespace: parent.Namespace, Name: parent.Name}
	}
	return entry, nil
}

func (l addressLedger) remove(ctx context.Context, key string, certain *reservation) error {
	var options metav1.DeleteOptions
	if certain != nil {
		options.Preconditions = &metav1.Preconditions{UID: &certain.uid, ResourceVersion: &certain.resourceVersion}
	}
	err := l.Delete(ctx, key, options)
	if apierrors.IsNotFound(err) || certain != nil && apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// addressWriter writes IPAddresses to their store, without admission.
type addressWriter struct{ addresses *genericregistry.Store }

var _ IPAddressWriter = addressWriter{}

func (w addressWriter) Create(ctx context.Context, address *networkingv1.IPAddress, options metav1.CreateOptions) (*networkingv1.IPAddress, error) {
	created, err := w.addresses.Create(genericapirequest.WithNamespace(ctx, metav1.NamespaceNone), address, rest.ValidateAllObjectFunc, &options)
	if err != nil {
		return nil, err
	}
	return created.(*networkingv1.IPAddress), nil
}

func (w addressWriter) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	_, _, err := w.addresses.Delete(ctx, name, rest.ValidateAllObjectFunc, &options)
	return err
}
