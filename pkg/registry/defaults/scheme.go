package defaults

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// Registrar takes the defaults of a type, as a *runtime.Scheme does.
type Registrar interface {
	AddTypeDefaultingFunc(of runtime.Object, set func(any))
}

// AddToScheme registers every function of this package for the type that it takes.
// Lists have their items defaulted where they are decoded.
func AddToScheme(s Registrar) {
	addPreferred(s)
	addLegacy(s)
}

// addPreferred registers the functions of the versions that groups prefer.
func addPreferred(s Registrar) {
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
	add(s, PodCertificateRequest)
	add(s, Job)
	add(s, CronJob)
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

// addLegacy registers the functions of all other versions.
func addLegacy(s Registrar) {
	add(s, AdmissionregistrationV1beta1MutatingWebhookConfiguration)
	add(s, AdmissionregistrationV1beta1ValidatingWebhookConfiguration)
	add(s, AdmissionregistrationV1beta1ValidatingAdmissionPolicy)
	add(s, AdmissionregistrationV1beta1ValidatingAdmissionPolicyBinding)
	add(s, AdmissionregistrationV1beta1MutatingAdmissionPolicy)
	add(s, AdmissionregistrationV1beta1MutatingAdmissionPolicyBinding)
	add(s, AdmissionregistrationV1alpha1ValidatingAdmissionPolicy)
	add(s, AdmissionregistrationV1alpha1ValidatingAdmissionPolicyBinding)
	add(s, AdmissionregistrationV1alpha1MutatingAdmissionPolicy)
	add(s, AdmissionregistrationV1alpha1MutatingAdmissionPolicyBinding)
	add(s, AppsV1beta1Deployment)
	add(s, AppsV1beta1StatefulSet)
	add(s, AppsV1beta2Deployment)
	add(s, AppsV1beta2DaemonSet)
	add(s, AppsV1beta2StatefulSet)
	add(s, AppsV1beta2ReplicaSet)
	add(s, ExtensionsV1beta1Deployment)
	add(s, ExtensionsV1beta1DaemonSet)
	add(s, ExtensionsV1beta1ReplicaSet)
	add(s, BatchV1beta1CronJob)
	add(s, CertificatesV1beta1CertificateSigningRequest)
	add(s, CertificatesV1beta1PodCertificateRequest)
	add(s, FlowcontrolV1beta1FlowSchema)
	add(s, FlowcontrolV1beta2FlowSchema)
	add(s, FlowcontrolV1beta3FlowSchema)
	add(s, FlowcontrolV1beta1PriorityLevelConfiguration)
	add(s, FlowcontrolV1beta2PriorityLevelConfiguration)
	add(s, FlowcontrolV1beta3PriorityLevelConfiguration)
	add(s, NodeV1alpha1RuntimeClass)
	add(s, NodeV1beta1RuntimeClass)
	add(s, RBACV1beta1ClusterRoleBinding)
	add(s, RBACV1beta1RoleBinding)
	add(s, RBACV1alpha1ClusterRoleBinding)
	add(s, RBACV1alpha1RoleBinding)
	add(s, SchedulingV1beta1PriorityClass)
	add(s, SchedulingV1beta1PodGroup)
	add(s, StorageV1beta1StorageClass)
	add(s, StorageV1beta1CSIDriver)
	add(s, StorageV1beta1VolumeAttachment)
	add(s, StorageV1alpha1VolumeAttachment)
	add(s, NetworkingV1beta1Ingress)
	add(s, ExtensionsV1beta1Ingress)
	add(s, NetworkingV1beta1IngressClass)
	add(s, ExtensionsV1beta1NetworkPolicy)
	add(s, DiscoveryV1beta1EndpointSlice)
	add(s, ResourceV1beta2ResourceClaim)
	add(s, ResourceV1beta2ResourceClaimTemplate)
	add(s, ResourceV1beta2ResourceSlice)
	add(s, ResourceV1beta2DeviceTaintRule)
	add(s, ResourceV1beta1ResourceClaim)
	add(s, ResourceV1beta1ResourceClaimTemplate)
	add(s, ResourceV1beta1ResourceSlice)
	add(s, ResourceV1alpha3DeviceTaintRule)
	add(s, AutoscalingV1HorizontalPodAutoscaler)
}

// add registers the defaults of type T; *T must be an Object.
func add[T any](s Registrar, set func(*T)) {
	s.AddTypeDefaultingFunc(any(new(T)).(runtime.Object), func(o any) { set(o.(*T)) })
}
