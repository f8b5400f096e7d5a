package defaults

import (
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TokenRequest sets the defaults of a TokenRequest.
func TokenRequest(r *authenticationv1.TokenRequest) {
	Pointer(&r.Spec.ExpirationSeconds, TokenLifetimeSeconds)
}

// podCertificateSeconds is how long a pod's certificate is valid at most where the
// request doesn't say: a day.
const podCertificateSeconds int32 = 24 * 60 * 60

// PodCertificateRequest sets the defaults of a PodCertificateRequest.
func PodCertificateRequest(r *certificatesv1.PodCertificateRequest) {
	Pointer(&r.Spec.MaxExpirationSeconds, podCertificateSeconds)
}

// EndpointSlice sets the defaults of an EndpointSlice.
func EndpointSlice(s *discoveryv1.EndpointSlice) {
	for i := range s.Ports {
		Pointer(&s.Ports[i].Name, "")
		Pointer(&s.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}

// matchingPrecedence is that of a FlowSchema which doesn't say.
const matchingPrecedence int32 = 1000

// FlowSchema sets the defaults of a FlowSchema.
func FlowSchema(s *flowcontrolv1.FlowSchema) {
	Zero(&s.Spec.MatchingPrecedence, matchingPrecedence)
}

// concurrencyShares are those of a priority level which doesn't say.
const concurrencyShares int32 = 30

// PriorityLevelConfiguration sets the defaults of a PriorityLevelConfiguration.
func PriorityLevelConfiguration(c *flowcontrolv1.PriorityLevelConfiguration) {
	if e := c.Spec.Exempt; e != nil {
		Pointer(&e.NominalConcurrencyShares, 0)
		Pointer(&e.LendablePercent, 0)
	}
	if l := c.Spec.Limited; l != nil {
		Pointer(&l.NominalConcurrencyShares, concurrencyShares)
		Pointer(&l.LendablePercent, 0)
		if q := l.LimitResponse.Queuing; q != nil {
			queuing(&q.HandSize, &q.Queues, &q.QueueLengthLimit)
		}
	}
}

func queuing(handSize, queues, queueLengthLimit *int32) {
	Zero(handSize, 8)
	Zero(queues, 64)
	Zero(queueLengthLimit, 50)
}

// NetworkPolicy sets the defaults of a NetworkPolicy: it is about ingress, and
// about egress if it has rules for that.
func NetworkPolicy(p *networkingv1.NetworkPolicy) {
	for i := range p.Spec.Ingress {
		networkPolicyPorts(p.Spec.Ingress[i].Ports)
	}
	for i := range p.Spec.Egress {
		networkPolicyPorts(p.Spec.Egress[i].Ports)
	}
	if len(p.Spec.PolicyTypes) == 0 {
		p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(p.Spec.Egress) > 0 {
			p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
}

func networkPolicyPorts(ports []networkingv1.NetworkPolicyPort) {
	for i := range ports {
		Pointer(&ports[i].Protocol, corev1.ProtocolTCP)
	}
}

// IngressClass sets the defaults of an IngressClass.
func IngressClass(c *networkingv1.IngressClass) {
	if p := c.Spec.Parameters; p != nil {
		Pointer(&p.Scope, networkingv1.IngressClassParametersReferenceScopeCluster)
	}
}

// RuntimeClass sets the defaults of a RuntimeClass.
func RuntimeClass(c *nodev1.RuntimeClass) {
	if c.Overhead != nil {
		ResourceList(c.Overhead.PodFixed)
	}
}

// EmptySelectorLabel stands in the selectors of PodDisruptionBudgets for what an
// empty one means in the other version: nothing in policy/v1beta1, all in v1.
const EmptySelectorLabel = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"

// PodDisruptionBudget takes the label that stands for the empty selector of
// policy/v1beta1 out of selectors that say more than that.
func PodDisruptionBudget(b *policyv1.PodDisruptionBudget) {
	s := b.Spec.Selector
	if s == nil || len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 1 && s.MatchExpressions[0].Operator == metav1.LabelSelectorOpExists {
		return
	}
	DropEmptySelectorLabel(s)
}

// DropEmptySelectorLabel removes every requirement about EmptySelectorLabel.
func DropEmptySelectorLabel(s *metav1.LabelSelector) {
	if s != nil {
		s.MatchExpressions = slices.DeleteFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
			return r.Key == EmptySelectorLabel
		})
	}
}

// ClusterRoleBinding sets the defaults of a ClusterRoleBinding.
func ClusterRoleBinding(b *rbacv1.ClusterRoleBinding) {
	Zero(&b.RoleRef.APIGroup, rbacv1.GroupName)
	subjects(b.Subjects)
}

// RoleBinding sets the defaults of a RoleBinding.
func RoleBinding(b *rbacv1.RoleBinding) {
	Zero(&b.RoleRef.APIGroup, rbacv1.GroupName)
	subjects(b.Subjects)
}

func subjects(list []rbacv1.Subject) {
	for i := range list {
		subjectGroup(list[i].Kind, &list[i].APIGroup)
	}
}

// subjectGroup is the group of a subject that doesn't say: users and groups belong
// to RBAC itself, service accounts to the core.
func subjectGroup(kind string, group *string) {
	if kind == rbacv1.UserKind || kind == rbacv1.GroupKind {
		Zero(group, rbacv1.GroupName)
	}
}

// PriorityClass sets the defaults of a PriorityClass.
func PriorityClass(c *schedulingv1.PriorityClass) {
	Pointer(&c.PreemptionPolicy, corev1.PreemptLowerPriority)
}

// StorageClass sets the defaults of a StorageClass.
func StorageClass(c *storagev1.StorageClass) {
	Pointer(&c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	Pointer(&c.VolumeBindingMode, storagev1.VolumeBindingImmediate)
}

// CSIDriver sets the defaults of a CSIDriver.
func CSIDriver(d *storagev1.CSIDriver) {
	Pointer(&d.Spec.AttachRequired, true)
	Pointer(&d.Spec.PodInfoOnMount, false)
	Pointer(&d.Spec.StorageCapacity, false)
	Pointer(&d.Spec.RequiresRepublish, false)
	Pointer(&d.Spec.SELinuxMount, false)
	Pointer(&d.Spec.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	if len(d.Spec.VolumeLifecycleModes) == 0 {
		d.Spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
}

// VolumeAttachment sets the defaults of a VolumeAttachment.
func VolumeAttachment(a *storagev1.VolumeAttachment) {
	if spec := a.Spec.Source.InlineVolumeSpec; spec != nil {
		VolumeSpec(spec)
	}
}
