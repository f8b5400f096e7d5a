// Package podnodeselector has the plugin PodNodeSelector: all pods of a namespace get a node selector, from an
// annotation of the namespace or from the plugin's configuration.
//
// The plugin is off by default. The plugin doesn't keep pods of other namespaces away from the selected nodes.
// For that, taint these nodes, and let PodTolerationRestriction decide which pods tolerate the taint.
package podnodeselector

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/namespaces"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "PodNodeSelector"

const (
	// annotation is the annotation of a namespace with the node selector of its pods.
	annotation = "scheduler.alpha.kubernetes.io/node-selector"
	// clusterDefault is the key in the configuration that has the selector for namespaces without the annotation. Any
	// other key is the name of a namespace, and its value has the labels that pods in the namespace may select.
	clusterDefault = "clusterDefaultNodeSelector"
)

// New returns the plugin. The configuration may be nil.
func New(config io.Reader) (*Plugin, error) {
	p := &Plugin{Handler: namespaces.NewHandler(admission.Create)}
	if config == nil {
		return p, nil
	}
	content, err := io.ReadAll(config)
	if err != nil {
		return nil, err
	}
	var configuration struct {
		Selectors map[string]string `json:"podNodeSelectorPluginConfig"`
	}
	if err := yaml.Unmarshal(content, &configuration); err != nil {
		return nil, err
	}
	p.selectors = configuration.Selectors
	return p, nil
}

// Plugin adds node selectors to pods, and checks the selectors of pods.
type Plugin struct {
	*namespaces.Handler
	selectors map[string]string
}

var (
	_ admission.MutationInterface   = &Plugin{}
	_ admission.ValidationInterface = &Plugin{}
)

// Admit implements admission.MutationInterface.
func (p *Plugin) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod, selector, err := p.podAndSelector(ctx, a)
	if pod == nil || err != nil {
		return err
	}
	if len(selector) > 0 {
		pod.Spec.NodeSelector = labels.Merge(selector, pod.Spec.NodeSelector)
	}
	return p.allowed(a, pod)
}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod, _, err := p.podAndSelector(ctx, a)
	if pod == nil || err != nil {
		return err
	}
	return p.allowed(a, pod)
}

// podAndSelector returns the pod of a request and the node selector of its namespace. If the pod's own selector
// contradicts that selector, it returns an error. The pod is nil for requests that the plugin ignores.
func (p *Plugin) podAndSelector(ctx context.Context, a admission.Attributes) (*corev1.Pod, labels.Set, error) {
	pod, isPod := a.GetObject().(*corev1.Pod)
	if a.GetResource().GroupResource() != corev1.Resource("pods") || a.GetSubresource() != "" || !isPod {
		return nil, nil, nil
	}
	selector, err := p.selectorOf(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	if labels.Conflicts(selector, pod.Spec.NodeSelector) {
		return nil, nil, forbidden(a, pod, "pod node label selector conflicts with its namespace node label selector")
	}
	return pod, selector, nil
}

// selectorOf returns the node selector of the request's namespace.
func (p *Plugin) selectorOf(ctx context.Context, a admission.Attributes) (labels.Set, error) {
	namespace, err := p.Of(ctx, a)
	switch {
	case apierrors.IsNotFound(err):
		return nil, apierrors.NewInternalError(fmt.Errorf("namespace %s does not exist", a.GetNamespace()))
	case err != nil:
		return nil, err
	}
	selector, ok := namespace.Annotations[annotation]
	if !ok {
		selector = p.selectors[clusterDefault]
	}
	return labels.ConvertSelectorToLabelsMap(selector)
}

// allowed checks the pod's node selector against the labels that the configuration allows in the namespace. If the
// configuration has no labels for the namespace, every label is allowed.
func (p *Plugin) allowed(a admission.Attributes, pod *corev1.Pod) error {
	allowed, err := labels.ConvertSelectorToLabelsMap(p.selectors[a.GetNamespace()])
	if err != nil || len(allowed) == 0 {
		return err
	}
	for key, value := range pod.Spec.NodeSelector {
		if permitted, ok := allowed[key]; !ok || permitted != value {
			return forbidden(a, pod, "pod node label selector labels conflict with its namespace whitelist")
		}
	}
	return nil
}

func forbidden(a admission.Attributes, pod *corev1.Pod, message string) error {
	return apierrors.NewForbidden(a.GetResource().GroupResource(), pod.Name, errors.New(message))
}
