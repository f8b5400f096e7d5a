// Package denyserviceexternalips has the DenyServiceExternalIPs plugin: services get no external IPs
// that they don't have already, since whoever sets one takes its traffic (CVE-2020-8554).
//
// It is off by default. It knows no exceptions: to allow some addresses, or some namespaces, write a
// ValidatingAdmissionPolicy instead.
package denyserviceexternalips

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
)

// Name is the plugin's name.
const Name = "DenyServiceExternalIPs"

// New returns the plugin.
func New() admission.ValidationInterface {
	return plugin{admission.NewHandler(admission.Create, admission.Update)}
}

type plugin struct{ *admission.Handler }

// Validate implements admission.ValidationInterface.
func (plugin) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != corev1.Resource("services") || a.GetSubresource() != "" {
		return nil
	}
	service, ok := a.GetObject().(*corev1.Service)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("Expected Service resource, got: %v", a.GetKind()))
	}
	known := sets.New[string]()
	if old, ok := a.GetOldObject().(*corev1.Service); ok {
		known.Insert(old.Spec.ExternalIPs...)
	}
	if !known.HasAll(service.Spec.ExternalIPs...) {
		return admission.NewForbidden(a, errors.New("Use of external IPs is denied by admission control"))
	}
	return nil
}
