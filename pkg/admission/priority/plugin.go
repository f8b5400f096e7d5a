// Package priority has the Priority plugin: it gives pods the priority and the preemption policy of
// their PriorityClass, and lets one PriorityClass be the default.
//
// It doesn't say who may use a class: a ResourceQuota with the scope PriorityClass does. And it
// preempts nobody: a scheduler does.
package priority

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	schedulinglisters "k8s.io/client-go/listers/scheduling/v1"
)

// Name is the plugin's name.
const Name = "Priority"

// New returns the plugin.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete)}
}

// Plugin resolves the priority of pods and validates priority classes.
type Plugin struct {
	*admission.Handler
	classes schedulinglisters.PriorityClassLister
}

var (
	_ admission.MutationInterface   = &Plugin{}
	_ admission.ValidationInterface = &Plugin{}
)

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (p *Plugin) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	classes := f.Scheduling().V1().PriorityClasses()
	p.classes = classes.Lister()
	p.SetReadyFunc(classes.Informer().HasSynced)
}

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	if p.classes == nil {
		return errors.New("missing priority class lister")
	}
	return nil
}

// Admit implements admission.MutationInterface.
func (p *Plugin) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != corev1.Resource("pods") || a.GetSubresource() != "" || a.GetOperation() == admission.Delete {
		return nil
	}
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok {
		return apierrors.NewBadRequest("resource was marked with kind Pod but was unable to be converted")
	}
	if a.GetOperation() == admission.Update {
		return keep(pod, a)
	}
	return p.resolve(pod, a)
}

// keep leaves what was resolved at creation to an update that doesn't mention it.
func keep(pod *corev1.Pod, a admission.Attributes) error {
	old, ok := a.GetOldObject().(*corev1.Pod)
	if !ok {
		return apierrors.NewBadRequest("resource was marked with kind Pod but was unable to be converted")
	}
	if pod.Spec.Priority == nil {
		pod.Spec.Priority = old.Spec.Priority
	}
	if pod.Spec.PreemptionPolicy == nil {
		pod.Spec.PreemptionPolicy = old.Spec.PreemptionPolicy
	}
	return nil
}

// resolve fills in what the pod's class, or the default class, says.
func (p *Plugin) resolve(pod *corev1.Pod, a admission.Attributes) error {
	if !p.WaitForReady() {
		return admission.NewForbidden(a, errors.New("not yet ready to handle request"))
	}
	// Without a default class: priority 0, preempting.
	class := &schedulingv1.PriorityClass{PreemptionPolicy: new(corev1.PreemptLowerPriority)}
	if name := pod.Spec.PriorityClassName; name != "" {
		var err error
		class, err = p.classes.Get(name)
		switch {
		case apierrors.IsNotFound(err):
			return admission.NewForbidden(a, fmt.Errorf("no PriorityClass with name %v was found", name))
		case err != nil:
			return fmt.Errorf("failed to get PriorityClass with name %s: %w", name, err)
		}
	} else {
		byDefault, err := p.defaultClass()
		if err != nil {
			return fmt.Errorf("failed to get default priority class: %w", err)
		}
		if byDefault != nil {
			class = byDefault
			pod.Spec.PriorityClassName = class.Name
		}
	}

	if given := pod.Spec.Priority; given != nil && *given != class.Value {
		return admission.NewForbidden(a, fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", *given, class.Value))
	}
	pod.Spec.Priority = new(class.Value)

	policy := corev1.PreemptLowerPriority
	if class.PreemptionPolicy != nil {
		policy = *class.PreemptionPolicy
	}
	if given := pod.Spec.PreemptionPolicy; given != nil && *given != policy {
		return admission.NewForbidden(a, fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", *given, policy))
	}
	pod.Spec.PreemptionPolicy = &policy
	return nil
}

// defaultClass returns the class that is marked as default, nil if there is none. If two writers have
// managed to mark two, it is the lower one.
func (p *Plugin) defaultClass() (*schedulingv1.PriorityClass, error) {
	classes, err := p.classes.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	var byDefault *schedulingv1.PriorityClass
	for _, class := range classes {
		if class.GlobalDefault && (byDefault == nil || class.Value < byDefault.Value) {
			byDefault = class
		}
	}
	return byDefault, nil
}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != schedulingv1.Resource("priorityclasses") || a.GetSubresource() != "" || a.GetOperation() == admission.Delete {
		return nil
	}
	class, ok := a.GetObject().(*schedulingv1.PriorityClass)
	if !ok {
		return apierrors.NewBadRequest("resource was marked with kind PriorityClass but was unable to be converted")
	}
	if !class.GlobalDefault {
		return nil
	}
	if !p.WaitForReady() {
		return admission.NewForbidden(a, errors.New("not yet ready to handle request"))
	}
	byDefault, err := p.defaultClass()
	if err != nil {
		return fmt.Errorf("failed to get default priority class: %w", err)
	}
	if byDefault != nil && (a.GetOperation() == admission.Create || byDefault.Name != class.Name) {
		return admission.NewForbidden(a, fmt.Errorf("PriorityClass %v is already marked as default. Only one default can exist", byDefault.Name))
	}
	return nil
}
