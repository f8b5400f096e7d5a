// Package podresizevalidator has the plugin PodResizeValidator (KEP-1287): a pod on a node can't be resized beyond the
// allocatable CPU and memory of the node. The node must not have a label that names another system than Linux.
//
// The plugin doesn't count the other pods on the node: the kubelet does. The plugin needs the Node object. If pods
// are bound to nodes that don't exist, as in tests, disable the plugin: it would refuse every resize.
package podresizevalidator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/component-helpers/resource"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/boundpods"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/reader"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "PodResizeValidator"

// The causes in the status of a refusal, which clients can compare.
const (
	nodeCapacity        metav1.CauseType = "NodeCapacity"
	unsupportedPlatform metav1.CauseType = "UnsupportedPlatform"
)

// New returns the plugin.
func New() *Plugin {
	return &Plugin{reader.NewHandler(admission.Update)}
}

// Plugin compares the resources of a resized pod with its node.
type Plugin struct{ *reader.Handler }

var _ admission.ValidationInterface = &Plugin{}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != corev1.Resource("pods") || a.GetSubresource() != "resize" {
		return nil
	}
	pod, _, err := boundpods.Change(a)
	if pod == nil || err != nil {
		return err
	}
	node, err := boundpods.Node(ctx, p.Client, a, pod.Spec.NodeName)
	if err != nil {
		return err
	}
	if os, known := node.Labels[corev1.LabelOSStable]; known && os != string(corev1.Linux) {
		return refuse(a, unsupportedPlatform, fmt.Errorf("pod resize is only supported on linux nodes, node %q is %q", node.Name, os))
	}
	if lacking := beyond(resource.PodRequests(pod, resource.PodResourcesOptions{}), node.Status.Allocatable); len(lacking) > 0 {
		return refuse(a, nodeCapacity, fmt.Errorf("node didn't have enough allocatable resources: %s", strings.Join(lacking, "; ")))
	}
	return nil
}

// beyond returns a text for CPU, and one for memory, if the requested amount exceeds the allocatable amount of the
// node.
func beyond(requests, allocatable corev1.ResourceList) []string {
	var lacking []string
	if cpu := requests.Cpu(); cpu.Cmp(*allocatable.Cpu()) > 0 {
		lacking = append(lacking, fmt.Sprintf("cpu, requested: %d, allocatable: %d", cpu.MilliValue(), allocatable.Cpu().MilliValue()))
	}
	if memory := requests.Memory(); memory.Cmp(*allocatable.Memory()) > 0 {
		lacking = append(lacking, fmt.Sprintf("memory, requested: %d, allocatable: %d", memory.Value(), allocatable.Memory().Value()))
	}
	return lacking
}

// refuse returns the refusal of a request. Its status has the cause, because programs read causes.
func refuse(a admission.Attributes, cause metav1.CauseType, err error) error {
	refusal := admission.NewForbidden(a, err)
	var status *apierrors.StatusError
	if errors.As(refusal, &status) {
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{Type: cause})
	}
	return refusal
}
