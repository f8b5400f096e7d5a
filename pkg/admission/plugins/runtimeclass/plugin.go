// Package runtimeclass has the plugin RuntimeClass (KEP-585): a pod gets the overhead, the node selector and the
// tolerations of its runtime class.
//
// The plugin ignores pods without a runtime class, because there is no default class.
package runtimeclass

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	nodelisters "k8s.io/client-go/listers/node/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/reader"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/tolerations"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "RuntimeClass"

var (
	errOtherOverhead = errors.New("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
	errOwnOverhead   = errors.New("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
)

// New returns the plugin.
func New() *Plugin {
	return &Plugin{reader.NewListerHandler(classes, admission.Create)}
}

func classes(f informers.SharedInformerFactory) reader.Informer[nodelisters.RuntimeClassLister] {
	return f.Node().V1().RuntimeClasses()
}

// Plugin applies runtime classes to pods.
type Plugin struct {
	*reader.ListerHandler[nodelisters.RuntimeClassLister]
}

var (
	_ admission.MutationInterface   = &Plugin{}
	_ admission.ValidationInterface = &Plugin{}
)

// Admit implements admission.MutationInterface.
func (p *Plugin) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod, class, err := p.podAndClass(ctx, a)
	if class == nil || err != nil {
		return err
	}
	if class.Overhead != nil {
		if len(pod.Spec.Overhead) > 0 && !equality.Semantic.DeepEqual(class.Overhead.PodFixed, pod.Spec.Overhead) {
			return admission.NewForbidden(a, errOtherOverhead)
		}
		pod.Spec.Overhead = class.Overhead.PodFixed.DeepCopy()
	}
	if class.Scheduling == nil {
		return nil
	}
	for key, value := range class.Scheduling.NodeSelector {
		if own, ok := pod.Spec.NodeSelector[key]; ok && own != value {
			return admission.NewForbidden(a, fmt.Errorf("conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", key, value, key, own))
		}
		if pod.Spec.NodeSelector == nil {
			pod.Spec.NodeSelector = map[string]string{}
		}
		pod.Spec.NodeSelector[key] = value
	}
	pod.Spec.Tolerations = tolerations.Merge(pod.Spec.Tolerations, class.Scheduling.Tolerations)
	return nil
}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod, class, err := p.podAndClass(ctx, a)
	switch {
	case pod == nil || err != nil:
		return err
	case class != nil && class.Overhead != nil:
		if !equality.Semantic.DeepEqual(class.Overhead.PodFixed, pod.Spec.Overhead) {
			return admission.NewForbidden(a, errOtherOverhead)
		}
	case pod.Spec.Overhead != nil:
		return admission.NewForbidden(a, errOwnOverhead)
	}
	return nil
}

// podAndClass returns the pod of a request, and the pod's runtime class. The pod is nil for requests that the
// plugin ignores. The class is nil if the pod has none.
func (p *Plugin) podAndClass(ctx context.Context, a admission.Attributes) (*corev1.Pod, *nodev1.RuntimeClass, error) {
	if a.GetResource().GroupResource() != corev1.Resource("pods") || a.GetSubresource() != "" {
		return nil, nil, nil
	}
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok {
		return nil, nil, apierrors.NewBadRequest("Resource was marked with kind Pod but was unable to be converted")
	}
	if pod.Spec.RuntimeClassName == nil {
		return pod, nil, nil
	}
	name := *pod.Spec.RuntimeClassName
	class, err := reader.Get(ctx, name, p.Lister.Get, p.Client.NodeV1().RuntimeClasses().Get)
	if apierrors.IsNotFound(err) {
		return nil, nil, admission.NewForbidden(a, fmt.Errorf("pod rejected: RuntimeClass %q not found", name))
	}
	return pod, class, err
}
