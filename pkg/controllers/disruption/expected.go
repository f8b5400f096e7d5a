package disruption

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/scale"
)

// expected is the result of expect. pods and healthy are the values of expectedPods and desiredHealthy in the
// status of a budget.
type expected struct {
	pods, healthy int32
	// unmanaged is true if the field pods is the sum of the replicas of the pods' controllers, and a pod has no
	// controller. The sum doesn't count this pod.
	unmanaged bool
}

func (c *controller) expect(ctx context.Context, budget *policyv1.PodDisruptionBudget, pods []*corev1.Pod) (e expected, err error) {
	spec := &budget.Spec
	if spec.MaxUnavailable == nil && spec.MinAvailable != nil && spec.MinAvailable.Type == intstr.Int {
		return expected{pods: int32(len(pods)), healthy: spec.MinAvailable.IntVal}, nil
	}
	if spec.MaxUnavailable == nil && spec.MinAvailable == nil {
		return expected{}, nil
	}
	scales := map[types.UID]int32{}
	seen := sets.New[types.UID]() // owners that have been looked up for another pod
	for _, pod := range pods {
		owner := metav1.GetControllerOf(pod)
		if owner == nil {
			e.unmanaged = true
			continue
		}
		if seen.Has(owner.UID) {
			continue
		}
		seen.Insert(owner.UID)
		found, err := c.Scales.of(ctx, pod.Namespace, owner)
		if err != nil {
			return expected{}, err
		}
		if found == nil {
			return expected{}, fmt.Errorf("found no controllers for pod %q", pod.Name)
		}
		scales[found.uid] = found.replicas
	}
	for _, replicas := range scales {
		e.pods += replicas
	}
	if spec.MaxUnavailable != nil {
		unavailable, err := intstr.GetScaledValueFromIntOrPercent(spec.MaxUnavailable, int(e.pods), true)
		e.healthy = max(0, e.pods-int32(unavailable))
		return e, err
	}
	available, err := intstr.GetScaledValueFromIntOrPercent(spec.MinAvailable, int(e.pods), true)
	e.healthy = int32(available)
	return e, err
}

// Scales finds the controllers of pods, and reads their numbers of replicas.
type Scales struct {
	ReplicaSets appsv1client.ReplicaSetsGetter
	Discovery   discovery.ServerResourcesInterface
	// Scale reads the subresource scale of any resource. ResourceOf returns the resource of a kind.
	Scale      scale.ScalesGetter
	ResourceOf func(schema.GroupVersionKind) (schema.GroupVersionResource, bool, error)
}

// scaled is the controller of a pod, with the number of replicas in its spec.
type scaled struct {
	uid      types.UID
	replicas int32
}

// of returns the controller to which an owner reference refers, or nil if the controller doesn't exist. For a
// ReplicaSet of a Deployment, it returns the Deployment: during a rollout, a Deployment has several ReplicaSets.
func (s *Scales) of(ctx context.Context, namespace string, owner *metav1.OwnerReference) (*scaled, error) {
	kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	if kind.GroupKind() == (schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}) {
		set, err := s.ReplicaSets.ReplicaSets(namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && set.UID != owner.UID {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if deployment := metav1.GetControllerOf(set); deployment != nil && deployment.Kind == "Deployment" {
			return s.of(ctx, namespace, deployment)
		}
	}
	resource, _, err := s.ResourceOf(kind)
	if err != nil {
		return nil, err
	}
	found, err := s.Scale.Scales(namespace).Get(ctx, resource.GroupResource(), owner.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if exists, err := s.hasScale(resource); err != nil || exists {
			return nil, err
		}
		return nil, fmt.Errorf("%s does not implement the scale subresource", resource.GroupResource())
	}
	if err != nil || found.UID != owner.UID {
		return nil, err
	}
	return &scaled{found.UID, found.Spec.Replicas}, nil
}

func (s *Scales) hasScale(resource schema.GroupVersionResource) (bool, error) {
	list, err := s.Discovery.ServerResourcesForGroupVersion(resource.GroupVersion().String())
	if err != nil {
		return false, err
	}
	for _, r := range list.APIResources {
		if r.Name == resource.Resource+"/scale" {
			return true, nil
		}
	}
	return false, nil
}
