package registry

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IPAddressWriter creates and deletes IPAddresses, as a client does.
type IPAddressWriter interface {
	Create(ctx context.Context, address *networkingv1.IPAddress, options metav1.CreateOptions) (*networkingv1.IPAddress, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}
