// Package limitranger has the plugin LimitRanger. The LimitRange objects of a namespace have default requests and
// limits for containers, and bounds for containers, pods and claims. The plugin sets the defaults, and refuses
// objects outside of the bounds.
//
// The plugin checks each object alone: the plugin ResourceQuota limits the sum in a namespace. A new LimitRange
// doesn't change existing pods.
package limitranger

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/reader"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "LimitRanger"

// New returns the plugin.
func New() *Plugin {
	return &Plugin{reader.NewListerHandler(ranges, admission.Create, admission.Update)}
}

func ranges(f informers.SharedInformerFactory) reader.Informer[corelisters.LimitRangeLister] {
	return f.Core().V1().LimitRanges()
}

// Plugin applies limit ranges.
type Plugin struct {
	*reader.ListerHandler[corelisters.LimitRangeLister]
}

var (
	_ admission.MutationInterface   = &Plugin{}
	_ admission.ValidationInterface = &Plugin{}
)

// Admit implements admission.MutationInterface.
func (p *Plugin) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod, isPod := a.GetObject().(*corev1.Pod)
	if !isPod || !limited(a) {
		return nil
	}
	ranges, err := p.rangesOf(a)
	if err != nil {
		return err
	}
	for _, limitRange := range ranges {
		setDefaults(pod, limitRange)
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if !limited(a) {
		return nil
	}
	ranges, err := p.rangesOf(a)
	if err != nil {
		return err
	}
	for _, limitRange := range ranges {
		var errs []error
		for i := range limitRange.Spec.Limits {
			switch object := a.GetObject().(type) {
			case *corev1.Pod:
				errs = append(errs, checkPod(object, &limitRange.Spec.Limits[i])...)
			case *corev1.PersistentVolumeClaim:
				errs = append(errs, checkClaim(object, &limitRange.Spec.Limits[i])...)
			}
		}
		if err := utilerrors.NewAggregate(errs); err != nil {
			return admission.NewForbidden(a, err)
		}
	}
	return nil
}

// limited reports whether a request can change resources for which a LimitRange sets bounds. Of the updates of a pod,
// only updates of the subresource resize can change the pod's resources.
func limited(a admission.Attributes) bool {
	// Don't check an object that is being deleted, so that an update can always remove its finalizers.
	if old := a.GetOldObject(); old != nil {
		if accessor, err := meta.Accessor(old); err == nil && accessor.GetDeletionTimestamp() != nil {
			return false
		}
	}
	switch a.GetKind().GroupKind() {
	case corev1.SchemeGroupVersion.WithKind("Pod").GroupKind():
		return a.GetSubresource() == "" && a.GetOperation() == admission.Create ||
			a.GetSubresource() == "resize" && a.GetOperation() == admission.Update
	case corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim").GroupKind():
		return a.GetSubresource() == ""
	}
	return false
}

// rangesOf returns the LimitRanges of the request's namespace, sorted by name.
func (p *Plugin) rangesOf(a admission.Attributes) ([]*corev1.LimitRange, error) {
	if err := p.AwaitReady(a); err != nil {
		return nil, err
	}
	ranges, err := p.Lister.LimitRanges(a.GetNamespace()).List(labels.Everything())
	if err != nil {
		return nil, admission.NewForbidden(a, fmt.Errorf("unable to %s %v at this time because there was an error enforcing limit ranges", a.GetOperation(), a.GetResource()))
	}
	slices.SortFunc(ranges, func(a, b *corev1.LimitRange) int { return cmp.Compare(a.Name, b.Name) })
	return ranges, nil
}
