package pod

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// BindingKind is the row of bindings in the server's table of kinds.
var BindingKind = registry.Kind{
	Resource:   "bindings",
	Namespaced: true,
	Object:     &corev1.Binding{},
	Storage:    newLegacyBinding,
}

// bindingREST serves pods/binding, which assigns a pod to a node.
type bindingREST struct {
	pods *registry.Storage
	// copiesLabels is true if the pod gets the labels of the Binding. The admission plugin PodTopologyLabels adds the
	// node's labels to the Binding.
	copiesLabels bool
}

var (
	_ rest.NamedCreater                   = &bindingREST{}
	_ rest.SubresourceObjectMetaPreserver = &bindingREST{}
)

func newBinding(pods *registry.Storage, deps registry.Dependencies) (rest.Storage, error) {
	return &bindingREST{pods, deps.Enabled("PodTopologyLabelsAdmission")}, nil
}

func (r *bindingREST) New() runtime.Object { return &corev1.Binding{} }

// Destroy does nothing, because the storage of pods destroys the store.
func (r *bindingREST) Destroy() {}

// PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate makes k8s.io/apiserver keep the uid and the
// resourceVersion of the Binding. They are preconditions on the pod.
func (r *bindingREST) PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate() bool { return true }

// Create binds the pod in the path of the request to the node in the Binding.
func (r *bindingREST) Create(ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	binding, ok := obj.(*corev1.Binding)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a Binding object: %#v", obj))
	}
	if name != binding.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Binding object")
	}
	if errs := validateBinding(binding); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	if validate != nil {
		if err := validate(ctx, binding.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if err := r.bind(ctx, binding, options.DryRun); err != nil {
		return nil, err
	}
	return &metav1.Status{Status: metav1.StatusSuccess}, nil
}

func (r *bindingREST) bind(ctx context.Context, binding *corev1.Binding, dryRun []string) error {
	preconditions := &storage.Preconditions{}
	if binding.UID != "" {
		preconditions.UID = &binding.UID
	}
	if binding.ResourceVersion != "" {
		preconditions.ResourceVersion = &binding.ResourceVersion
	}
	err := registry.Change(ctx, r.pods, binding.Name, preconditions, dryRun, func(pod *corev1.Pod) error { return r.assign(pod, binding) })
	if _, ok := err.(*apierrors.StatusError); err != nil && !ok { //nolint:errorlint // k8s.io/apiserver never wraps these errors
		return apierrors.NewConflict(corev1.Resource("pods/binding"), binding.Name, err)
	}
	return err
}

func validateBinding(binding *corev1.Binding) field.ErrorList {
	var errs field.ErrorList
	target := field.NewPath("target")
	if kind := binding.Target.Kind; kind != "" && kind != "Node" {
		errs = append(errs, field.NotSupported(target.Child("kind"), kind, []string{"Node", "<empty>"}))
	}
	if kind := binding.Target.Kind; binding.Target.Name != "" && kind != "" && kind != "Node" {
		return errs
	}
	return append(errs, validation.Required(validation.ObjectName, target.Child("name"), binding.Target.Name)...)
}

// assign sets the fields of a pod that a Binding determines.
func (r *bindingREST) assign(pod *corev1.Pod, binding *corev1.Binding) error {
	switch {
	case pod.DeletionTimestamp != nil:
		return fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", pod.Name)
	case pod.Spec.NodeName != "":
		return fmt.Errorf("pod %v is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) != 0:
		return fmt.Errorf("pod %v has non-empty .spec.schedulingGates", pod.Name)
	}
	pod.Spec.NodeName = binding.Target.Name
	// The pod has a node, so the nomination of a node is outdated (KEP-5278).
	pod.Status.NominatedNodeName = ""
	if pod.Annotations == nil && len(binding.Annotations) > 0 {
		pod.Annotations = map[string]string{}
	}
	for k, v := range binding.Annotations {
		pod.Annotations[k] = v
	}
	if r.copiesLabels {
		if pod.Labels == nil && len(binding.Labels) > 0 {
			pod.Labels = map[string]string{}
		}
		maps.Copy(pod.Labels, binding.Labels)
	}
	setPodCondition(&pod.Status, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
	return nil
}

// setPodCondition sets a condition. If the status of the condition changes, lastTransitionTime becomes now.
func setPodCondition(status *corev1.PodStatus, condition corev1.PodCondition) {
	condition.LastTransitionTime = metav1.Now()
	for i := range status.Conditions {
		old := &status.Conditions[i]
		if old.Type != condition.Type {
			continue
		}
		if old.Status == condition.Status {
			condition.LastTransitionTime = old.LastTransitionTime
		}
		*old = condition
		return
	}
	status.Conditions = append(status.Conditions, condition)
}

// legacyBindingREST serves the resource bindings, which is older than pods/binding.
type legacyBindingREST struct{ bindings *bindingREST }

var _ rest.Creater = &legacyBindingREST{}

func newLegacyBinding(_ *registry.Storage, deps registry.Dependencies) (rest.Storage, error) {
	pods, err := deps.StoreOf(corev1.Resource("pods"))
	if err != nil {
		return nil, err
	}
	bindings, err := newBinding(pods, deps)
	if err != nil {
		return nil, err
	}
	return &legacyBindingREST{bindings.(*bindingREST)}, nil
}

func (r *legacyBindingREST) New() runtime.Object { return r.bindings.New() }

// Destroy does nothing, because the storage of pods destroys the store.
func (r *legacyBindingREST) Destroy() {}

func (r *legacyBindingREST) NamespaceScoped() bool { return true }

func (r *legacyBindingREST) GetSingularName() string { return "binding" }

// Create binds the pod that has the same name as the Binding.
func (r *legacyBindingREST) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	m := registry.MetaOf(obj)
	if info, ok := genericapirequest.RequestInfoFrom(ctx); ok && info.Namespace != m.GetNamespace() {
		return nil, apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return r.bindings.Create(ctx, m.GetName(), obj, validate, options)
}
