// Package nodedeclaredfeaturevalidator has the plugin NodeDeclaredFeatureValidator (KEP-5328): a pod on a node can
// be changed only in ways that the node declares to support.
//
// The plugin ignores new pods and pods without a node, because the scheduler chooses a node that supports them. The
// plugin PodResizeValidator checks the node's capacity.
package nodedeclaredfeaturevalidator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-helpers/nodedeclaredfeatures"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/boundpods"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/reader"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "NodeDeclaredFeatureValidator"

// New returns the plugin.
func New() *Plugin {
	return &Plugin{Handler: reader.NewHandler(admission.Update), features: nodedeclaredfeatures.DefaultFramework}
}

// Plugin compares changes of pods with the declared features of their nodes.
type Plugin struct {
	*reader.Handler
	features *nodedeclaredfeatures.Framework
	// version is the server's version. The plugin doesn't check the features that every node of this version has.
	version *version.Version
}

var _ admission.ValidationInterface = &Plugin{}

// InspectEffectiveVersion implements initializer.WantsEffectiveVersion.
func (p *Plugin) InspectEffectiveVersion(effective compatibility.EffectiveVersion) {
	p.version = effective.BinaryVersion()
}

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	if p.version == nil {
		return errors.New("missing version")
	}
	return p.Handler.ValidateInitialization()
}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != corev1.Resource("pods") || a.GetSubresource() != "" && a.GetSubresource() != "resize" {
		return nil
	}
	pod, old, err := boundpods.Change(a)
	if pod == nil || err != nil {
		return err
	}
	info := func(pod *corev1.Pod) *nodedeclaredfeatures.PodInfo {
		return &nodedeclaredfeatures.PodInfo{Spec: &pod.Spec, Status: &pod.Status}
	}
	required, err := p.features.InferForPodUpdate(info(old), info(pod), p.version)
	if err != nil {
		return admission.NewForbidden(a, fmt.Errorf("failed to infer pod capability requirements: %w", err))
	}
	if required.IsEmpty() {
		return nil
	}
	node, err := boundpods.Node(ctx, p.Client, a, pod.Spec.NodeName)
	if err != nil {
		return err
	}
	match, err := p.features.MatchNode(required, node)
	if err != nil {
		return admission.NewForbidden(a, fmt.Errorf("failed to match pod requirements against node %q: %w", node.Name, err))
	}
	if !match.IsMatch {
		return admission.NewForbidden(a, fmt.Errorf("pod update requires features %s which are not available on node %q",
			strings.Join(match.UnsatisfiedRequirements, ", "), node.Name))
	}
	return nil
}
