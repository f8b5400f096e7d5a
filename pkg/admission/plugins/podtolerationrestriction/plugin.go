// Package podtolerationrestriction has the plugin PodTolerationRestriction. With it, a namespace has default
// tolerations for its pods, and a list of tolerations that its pods may have.
//
// The plugin is off by default. The list must contain the tolerations that other plugins add, in particular
// DefaultTolerationSeconds. Otherwise pods are refused for tolerations that their users didn't set.
package podtolerationrestriction

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/configuration"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/namespaces"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/tolerations"
	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "PodTolerationRestriction"

// The annotations of a namespace. Each is a list of tolerations in JSON.
const (
	defaultsAnnotation = "scheduler.alpha.kubernetes.io/defaultTolerations"
	allowedAnnotation  = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
)

// Configuration has the tolerations for namespaces without the annotations.
type Configuration struct {
	metav1.TypeMeta `json:",inline"`

	Default   []corev1.Toleration `json:"default,omitempty"`
	Whitelist []corev1.Toleration `json:"whitelist,omitempty"`
}

// configurationVersion is the only version of the configuration.
const configurationVersion = "podtolerationrestriction.admission.k8s.io/v1alpha1"

// New returns the plugin. The configuration may be nil.
func New(config io.Reader) (*Plugin, error) {
	p := &Plugin{Handler: namespaces.NewHandler(admission.Create, admission.Update)}
	if config == nil {
		return p, nil
	}
	if err := configuration.Read(config, configurationVersion, &p.configuration); err != nil {
		return nil, err
	}
	return p, nil
}

// Plugin adds tolerations to pods, and refuses pods with tolerations that aren't allowed.
type Plugin struct {
	*namespaces.Handler
	configuration Configuration
}

var (
	_ admission.MutationInterface   = &Plugin{}
	_ admission.ValidationInterface = &Plugin{}
)

// Admit implements admission.MutationInterface.
func (p *Plugin) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	pod := podOf(a)
	if pod == nil {
		return nil
	}
	var added []corev1.Toleration
	if a.GetOperation() == admission.Create {
		byDefault, given, err := p.ofNamespace(ctx, a, defaultsAnnotation)
		if err != nil {
			return err
		}
		if !given {
			byDefault = p.configuration.Default
		}
		added = byDefault
	}
	// A node that runs out of memory gets a taint. All pods tolerate the taint, except for pods of the class
	// BestEffort, which request no memory.
	if podspec.QOSClass(pod) != corev1.PodQOSBestEffort {
		added = append(slices.Clip(added), corev1.Toleration{
			Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
		})
	}
	if len(added) > 0 {
		pod.Spec.Tolerations = tolerations.Merge(pod.Spec.Tolerations, added)
	}
	return p.Validate(ctx, a, o)
}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod := podOf(a)
	if pod == nil || len(pod.Spec.Tolerations) == 0 {
		return nil
	}
	allowed, given, err := p.ofNamespace(ctx, a, allowedAnnotation)
	if err != nil {
		return err
	}
	scope := "namespace"
	if !given {
		allowed, scope = p.configuration.Whitelist, "cluster"
	}
	if !tolerations.Allowed(pod.Spec.Tolerations, allowed) {
		return fmt.Errorf("pod tolerations (possibly merged with namespace default tolerations) conflict with its %s whitelist", scope)
	}
	return nil
}

// podOf returns the pod of a request. It returns nil for subresources of pods and for other resources.
func podOf(a admission.Attributes) *corev1.Pod {
	if a.GetResource().GroupResource() != corev1.Resource("pods") || a.GetSubresource() != "" {
		return nil
	}
	pod, _ := a.GetObject().(*corev1.Pod)
	return pod
}

// ofNamespace returns the tolerations in an annotation of the request's namespace. given is false if the namespace
// doesn't have the annotation. An empty annotation is an empty list of tolerations.
func (p *Plugin) ofNamespace(ctx context.Context, a admission.Attributes, annotation string) (list []corev1.Toleration, given bool, err error) {
	namespace, err := p.Of(ctx, a)
	if err != nil {
		return nil, false, err
	}
	text, given := namespace.Annotations[annotation]
	if text == "" {
		return nil, given, nil
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, given, fmt.Errorf("annotation %s of namespace %s: %w", annotation, namespace.Name, err)
	}
	return list, given, nil
}
