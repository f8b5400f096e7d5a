// Package denyserviceexternalips has the plugin DenyServiceExternalIPs: a service can't get new external IPs. With
// an external IP, a user can receive traffic that is meant for others (CVE-2020-8554).
//
// The plugin is off by default and has no exceptions. To allow some addresses or namespaces, write a
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

// Name is the plugin's name in flags and in files of configuration.
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
