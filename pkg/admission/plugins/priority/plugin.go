// Package priority has the plugin Priority: a pod or pod group gets the priority and the preemption policy of its
// PriorityClass. One PriorityClass can be the default.
//
// The plugin doesn't limit the use of a class: a ResourceQuota with the scope PriorityClass does. It doesn't
// preempt pods: a scheduler does.
package priority

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	schedulinglisters "k8s.io/client-go/listers/scheduling/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/reader"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "Priority"

// New returns the plugin.
func New() *Plugin {
	return &Plugin{reader.NewListerHandler(classes, admission.Create, admission.Update, admission.Delete)}
}

func classes(f informers.SharedInformerFactory) reader.Informer[schedulinglisters.PriorityClassLister] {
	return f.Scheduling().V1().PriorityClasses()
}

// Plugin resolves the priority of pods and pod groups, and validates priority classes.
type Plugin struct {
	*reader.ListerHandler[schedulinglisters.PriorityClassLister]
}

var (
	_ admission.MutationInterface   = &Plugin{}
	_ admission.ValidationInterface = &Plugin{}
)

// Admit implements admission.MutationInterface.
func (p *Plugin) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" || a.GetOperation() == admission.Delete {
		return nil
	}
	var of func(runtime.Object) *choice
	switch a.GetResource().GroupResource() {
	case corev1.Resource("pods"):
		of = podChoice
	case schedulingv1beta1.Resource("podgroups"):
		of = groupChoice
	case schedulingv1alpha3.Resource("compositepodgroups"):
		of = compositeChoice
	default:
		return nil
	}
	now := of(a.GetObject())
	if now == nil {
		return apierrors.NewBadRequest(fmt.Sprintf("resource was marked with kind %s but was unable to be converted", a.GetKind().Kind))
	}
	if a.GetOperation() != admission.Update {
		return p.resolve(now, a)
	}
	// If an update leaves out the preemption policy, the object keeps its value. A pod keeps its priority, too.
	old := of(a.GetOldObject())
	if old == nil {
		return apierrors.NewBadRequest(fmt.Sprintf("resource was marked with kind %s but was unable to be converted", a.GetKind().Kind))
	}
	if _, isPod := a.GetObject().(*corev1.Pod); isPod && *now.priority == nil {
		*now.priority = *old.priority
	}
	if now.policy == nil {
		now.setPolicy(old.policy)
	}
	return nil
}

// choice points to the fields of a pod, a pod group or a group of groups that have to do with its priority: the name of
// the PriorityClass, the priority and the preemption policy.
type choice struct {
	kind      string
	class     *string
	priority  **int32
	policy    *corev1.PreemptionPolicy
	setPolicy func(*corev1.PreemptionPolicy)
	// otherPriority is the format of the error for an object whose priority isn't that of its class.
	otherPriority string
}

func podChoice(o runtime.Object) *choice {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return nil
	}
	spec := &pod.Spec
	return &choice{"pod", &spec.PriorityClassName, &spec.Priority, spec.PreemptionPolicy,
		func(policy *corev1.PreemptionPolicy) { spec.PreemptionPolicy = policy },
		"the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name"}
}

// groupChoice returns pointers to the priority fields of a pod group. It returns nil for any other object.
func groupChoice(o runtime.Object) *choice {
	group, ok := o.(*schedulingv1beta1.PodGroup)
	if !ok {
		return nil
	}
	spec := &group.Spec
	return &choice{"pod group", &spec.PriorityClassName, &spec.Priority, (*corev1.PreemptionPolicy)(spec.PreemptionPolicy),
		func(policy *corev1.PreemptionPolicy) {
			spec.PreemptionPolicy = (*schedulingv1beta1.PreemptionPolicy)(policy)
		},
		"priority set in the pod group (%d) must match the priority computed (%d) based on the priority class set in the spec"}
}

// compositeChoice returns pointers to the priority fields of a group of pod groups. It returns nil for any other object.
func compositeChoice(o runtime.Object) *choice {
	group, ok := o.(*schedulingv1alpha3.CompositePodGroup)
	if !ok {
		return nil
	}
	spec := &group.Spec
	return &choice{"composite pod group", &spec.PriorityClassName, &spec.Priority, (*corev1.PreemptionPolicy)(spec.PreemptionPolicy),
		func(policy *corev1.PreemptionPolicy) {
			spec.PreemptionPolicy = (*schedulingv1alpha3.PreemptionPolicy)(policy)
		},
		"priority set in the composite pod group (%d) must match the priority computed (%d) based on the priority class set in the spec"}
}

// resolve sets the priority and the preemption policy from the object's PriorityClass, or from the default class.
func (p *Plugin) resolve(c *choice, a admission.Attributes) error {
	if err := p.AwaitReady(a); err != nil {
		return err
	}
	// Without a default class, the priority is 0, and the pod may preempt others.
	class := &schedulingv1.PriorityClass{PreemptionPolicy: new(corev1.PreemptLowerPriority)}
	if name := *c.class; name != "" {
		var err error
		class, err = p.Lister.Get(name)
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
			*c.class = class.Name
		}
	}

	if given := *c.priority; given != nil && *given != class.Value {
		return admission.NewForbidden(a, fmt.Errorf(c.otherPriority, *given, class.Value))
	}
	*c.priority = new(class.Value)

	policy := corev1.PreemptLowerPriority
	if class.PreemptionPolicy != nil {
		policy = *class.PreemptionPolicy
	}
	if given := c.policy; given != nil && *given != policy {
		return admission.NewForbidden(a, fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in %s spec; priority admission controller computed %s from the given PriorityClass name", *given, c.kind, policy))
	}
	c.setPolicy(&policy)
	return nil
}

// defaultClass returns the default class, or nil if there is none. If two concurrent writes have made two defaults, the
// class with the lower priority counts.
func (p *Plugin) defaultClass() (*schedulingv1.PriorityClass, error) {
	classes, err := p.Lister.List(labels.Everything())
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
	if err := p.AwaitReady(a); err != nil {
		return err
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
