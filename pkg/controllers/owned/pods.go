package owned

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
)

// The reasons of Events, and of conditions that have failures of the same requests.
const (
	FailedCreate     = "FailedCreate"
	SuccessfulCreate = "SuccessfulCreate"
	FailedDelete     = "FailedDelete"
	SuccessfulDelete = "SuccessfulDelete"
)

// Pods creates and deletes the pods of owners, and records Events about the owners.
type Pods struct {
	Client corev1client.PodsGetter
	Events *eventrecorder.Recorder
}

// Create creates a pod of an owner. In a namespace that is being deleted, the failure has no Event.
func (p Pods) Create(ctx context.Context, owner runtime.Object, pod *corev1.Pod) error {
	if len(pod.Labels) == 0 {
		return errors.New("unable to create pods, no labels")
	}
	created, err := p.Client.Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	switch {
	case err == nil:
		p.Events.Tell(owner, SuccessfulCreate, "Created pod: %v", created.Name)
	case !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		p.Events.Warn(owner, FailedCreate, "Error creating: %v", err)
	}
	return err
}

// Delete deletes a pod of an owner. It is no error if the pod is gone.
func (p Pods) Delete(ctx context.Context, owner runtime.Object, pod *corev1.Pod) error {
	err := p.Client.Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		p.Events.Warn(owner, FailedDelete, "Error deleting: %v", err)
		return fmt.Errorf("unable to delete pods: %w", err)
	}
	p.Events.Tell(owner, SuccessfulDelete, "Deleted pod: %v", pod.Name)
	return nil
}

// Patch returns the function with which a Claimant patches pods of a namespace.
func (p Pods) Patch(namespace string) func(ctx context.Context, name string, patch []byte) error {
	return func(ctx context.Context, name string, patch []byte) error {
		_, err := p.Client.Pods(namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		return err
	}
}

// NewPod returns a pod of a template, whose controller is the owner. The server generates its name from the owner's.
func NewPod(template *corev1.PodTemplateSpec, owner metav1.Object, controller *metav1.OwnerReference) *corev1.Pod {
	prefix := owner.GetName() + "-"
	if len(validation.NameIsDNSSubdomain(prefix, true)) > 0 {
		prefix = owner.GetName()
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName:    prefix,
			Namespace:       owner.GetNamespace(),
			Labels:          maps.Clone(template.Labels),
			Annotations:     maps.Clone(template.Annotations),
			Finalizers:      slices.Clone(template.Finalizers),
			OwnerReferences: []metav1.OwnerReference{*controller},
		},
		Spec: *template.Spec.DeepCopy(),
	}
}
