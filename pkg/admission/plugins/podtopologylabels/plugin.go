// Package podtopologylabels has the plugin PodTopologyLabels (KEP-4742): when a pod is bound to a node, or created
// on one, the pod gets the node's labels for zone and region. These labels replace the pod's own labels with the same
// keys.
//
// The plugin copies no other labels: a webhook for pods/binding can add them. If the node's labels change later,
// the pod keeps the old ones.
package podtopologylabels

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/featuregate"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/reader"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "PodTopologyLabels"

// Gate is the feature gate without which the plugin does nothing.
const Gate featuregate.Feature = "PodTopologyLabelsAdmission"

// copied are the keys of the labels that are copied from the node to the pod.
var copied = []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion}

var nodes = corev1.Resource("nodes")

// New returns the plugin.
func New() *Plugin {
	return &Plugin{Handler: reader.NewHandler(admission.Create)}
}

// Plugin copies the labels for zone and region from nodes to pods.
type Plugin struct {
	*reader.Handler
	stores stores
	off    bool
}

// stores has the objects that an informer of the server knows.
type stores interface {
	Store(resource schema.GroupResource) cache.Store
}

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory. A server with a scheduler has an
// informer of nodes, and binds many pods. Another server binds too few pods for an informer of the plugin's own.
func (p *Plugin) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	p.stores, _ = f.(stores)
}

var _ admission.MutationInterface = &Plugin{}

// InspectFeatureGates implements initializer.WantsFeatures.
func (p *Plugin) InspectFeatureGates(gates featuregate.FeatureGate) { p.off = !gates.Enabled(Gate) }

// Admit implements admission.MutationInterface.
func (p *Plugin) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if p.off || a.GetResource().GroupResource() != corev1.Resource("pods") {
		return nil
	}
	switch a.GetSubresource() {
	case "":
		pod, ok := a.GetObject().(*corev1.Pod)
		if !ok {
			return fmt.Errorf("expected Pod but got %T", a.GetObject())
		}
		return p.label(ctx, &pod.ObjectMeta, pod.Spec.NodeName)
	case "binding":
		binding, ok := a.GetObject().(*corev1.Binding)
		if !ok {
			return fmt.Errorf("expected Binding but got %s", a.GetKind().Kind)
		}
		if binding.Target.Kind != "Node" {
			return nil
		}
		// Label the Binding: the storage of pods/binding copies the labels of the Binding to the pod.
		return p.label(ctx, &binding.ObjectMeta, binding.Target.Name)
	}
	return nil
}

// known returns a node that an informer knows.
func (p *Plugin) known(name string) (*corev1.Node, error) {
	if p.stores != nil {
		if store := p.stores.Store(nodes); store != nil {
			if found, _, err := store.GetByKey(name); err == nil {
				if node, ok := found.(*corev1.Node); ok {
					return node, nil
				}
			}
		}
	}
	return nil, apierrors.NewNotFound(nodes, name)
}

// label copies the labels of the node's zone and region to an object. If the node doesn't exist, label copies nothing.
func (p *Plugin) label(ctx context.Context, object *metav1.ObjectMeta, nodeName string) error {
	if nodeName == "" || len(content.IsPathSegmentName(nodeName)) > 0 {
		return nil // no node can have this name
	}
	node, err := reader.Get(ctx, nodeName, p.known, p.Client.CoreV1().Nodes().Get)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, key := range copied {
		value, known := node.Labels[key]
		if !known {
			continue
		}
		if object.Labels == nil {
			object.Labels = map[string]string{}
		}
		object.Labels[key] = value
	}
	return nil
}
