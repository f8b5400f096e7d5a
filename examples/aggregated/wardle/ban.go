package wardle

import (
	"context"
	"errors"
	"io"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/examples/aggregated/wardle/v1alpha1"
)

// NewBanFlunder makes the admission plugin that refuses flunders with a name that a fischer disallows.
func NewBanFlunder(io.Reader) (admission.Interface, error) {
	return &banFlunder{Handler: admission.NewHandler(admission.Create)}, nil
}

type banFlunder struct {
	*admission.Handler
	client *dynamic.DynamicClient
}

// SetClientConfig gives the plugin a client of the server in which it runs.
func (p *banFlunder) SetClientConfig(config *rest.Config) {
	p.client = dynamic.NewForConfigOrDie(config)
}

// Validate implements admission.ValidationInterface.
func (p *banFlunder) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != v1alpha1.Resource("flunders") {
		return nil
	}
	fischers, err := p.client.Resource(v1alpha1.Resource("fischers").WithVersion("v1alpha1")).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, f := range fischers.Items {
		names, _, _ := unstructured.NestedStringSlice(f.Object, "disallowedFlunders")
		if slices.Contains(names, a.GetName()) {
			return apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(), errors.New("this name may not be used, please change the resource name"))
		}
	}
	return nil
}
