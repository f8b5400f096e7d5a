// Package defaultingressclass has the plugin DefaultIngressClass: an ingress without a class gets the default
// class.
//
// If a controller takes ingresses without a class, disable the plugin, or mark no class as default. The plugin
// ignores ingresses with the older annotation kubernetes.io/ingress.class.
package defaultingressclass

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	networkinglisters "k8s.io/client-go/listers/networking/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/defaultclass"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/reader"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "DefaultIngressClass"

// New returns the plugin.
func New() *Plugin {
	return &Plugin{reader.NewListerHandler(classes, admission.Create)}
}

func classes(f informers.SharedInformerFactory) reader.Informer[networkinglisters.IngressClassLister] {
	return f.Networking().V1().IngressClasses()
}

// Plugin sets the class of ingresses.
type Plugin struct {
	*reader.ListerHandler[networkinglisters.IngressClassLister]
}

var _ admission.MutationInterface = &Plugin{}

// Admit implements admission.MutationInterface.
func (p *Plugin) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != networkingv1.Resource("ingresses") || a.GetSubresource() != "" {
		return nil
	}
	ingress, ok := a.GetObject().(*networkingv1.Ingress)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("Expected Ingress resource, got: %v", a.GetKind()))
	}
	if _, annotated := ingress.Annotations[networkingv1beta1.AnnotationIngressClass]; annotated || ingress.Spec.IngressClassName != nil {
		return nil
	}
	if err := p.AwaitReady(a); err != nil {
		return err
	}
	var err error
	ingress.Spec.IngressClassName, err = defaultclass.Name(a, p.Lister, networkingv1.AnnotationIsDefaultIngressClass)
	return err
}
