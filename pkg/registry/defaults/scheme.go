package defaults

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// AddToScheme registers every function of this package for the type that it takes.
// Lists have their items defaulted where they are decoded.
func AddToScheme(s *runtime.Scheme) {
	addPreferred(s)
}

// addPreferred registers the functions of the versions that groups prefer.
func addPreferred(s *runtime.Scheme) {
	add(s, Pod)
	add(s, PodTemplate)
	add(s, ReplicationController)
	add(s, Service)
	add(s, Endpoints)
	add(s, Secret)
	add(s, Namespace)
	add(s, Node)
	add(s, PersistentVolume)
	add(s, PersistentVolumeClaim)
	add(s, LimitRange)
	add(s, ResourceQuota)
	add(s, MutatingWebhookConfiguration)
	add(s, ValidatingWebhookConfiguration)
	add(s, ValidatingAdmissionPolicy)
	add(s, ValidatingAdmissionPolicyBinding)
	add(s, MutatingAdmissionPolicy)
	add(s, MutatingAdmissionPolicyBinding)
	add(s, Deployment)
	add(s, DaemonSet)
	add(s, StatefulSet)
	add(s, ReplicaSet)
	add(s, TokenRequest)
	add(s, HorizontalPodAutoscaler)
	add(s, Job)
	add(s, CronJob)
	add(s, PodCertificateRequest)
	add(s, EndpointSlice)
	add(s, FlowSchema)
	add(s, PriorityLevelConfiguration)
	add(s, NetworkPolicy)
	add(s, IngressClass)
	add(s, RuntimeClass)
	add(s, PodDisruptionBudget)
	add(s, ClusterRoleBinding)
	add(s, RoleBinding)
	add(s, ResourceClaim)
	add(s, ResourceClaimTemplate)
	add(s, ResourceSlice)
	add(s, DeviceTaintRule)
	add(s, PriorityClass)
	add(s, StorageClass)
	add(s, CSIDriver)
	add(s, VolumeAttachment)
}

// add registers the defaults of type T; *T must be an Object.
func add[T any](s *runtime.Scheme, set func(*T)) {
	s.AddTypeDefaultingFunc(any(new(T)).(runtime.Object), func(o any) { set(o.(*T)) })
}
