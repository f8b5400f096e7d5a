package noderestriction

import (
	"context"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/miniapi-dev/miniapi/pkg/admission/internal/plugintest"
)

var (
	kubelet  = &user.DefaultInfo{Name: "system:node:n", Groups: []string{"system:nodes"}}
	nameless = &user.DefaultInfo{Name: "n", Groups: []string{"system:nodes"}}
)

func podOn(node string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p-" + node, UID: types.UID("uid-" + node)}, Spec: corev1.PodSpec{NodeName: node}}
	for _, c := range change {
		c(pod)
	}
	return pod
}

func mirror(pod *corev1.Pod) {
	pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "uid-of-n", Controller: new(true)}}
}

func nodeWith(name string, labels map[string]string, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name), Labels: labels}, Spec: corev1.NodeSpec{Taints: taints}}
}

func start(t *testing.T, allowedAudience string) *Plugin {
	t.Helper()
	p := New()
	authz := authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if a.GetVerb() == "request-serviceaccounts-token-audience" && a.GetResource() == allowedAudience {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "", nil
	})
	plugintest.Start(t, p, authz, nodeWith("n", nil),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "account", UID: "uid-of-account"}},
		podOn("other"),
		podOn("n", func(pod *corev1.Pod) {
			pod.Spec.ServiceAccountName = "account"
			pod.Spec.Volumes = []corev1.Volume{
				{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "projected"}}}}}},
				{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}},
			}
		}),
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "claim"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "volume"}},
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "volume"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "driver"}}}},
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "driver"}, Spec: storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{Audience: "driver"}}}},
	)
	return p
}

func TestPlugin(t *testing.T) {
	t.Parallel()
	claim := func(labels map[string]string, size string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Status: corev1.PersistentVolumeClaimStatus{Capacity: corev1.ResourceList{"storage": resource.MustParse(size)}}}
	}
	lease := func(namespace, name string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	slice := func(node string) *resourcev1.ResourceSlice {
		return &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{NodeName: &node}}
	}
	ownedNode := nodeWith("n", nil)
	ownedNode.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "gone", UID: "x"}}
	tests := []struct {
		name, reason, refusal string
		by                    user.Info
		request               plugintest.Request
	}{
		{name: "somebody else", reason: "only kubelets are restricted", by: &user.DefaultInfo{Name: "alice"}, request: plugintest.Create(podOn("other"))},
		{name: "nobody's kubelet", reason: "its node isn't known", by: nameless, request: plugintest.Create(&corev1.ConfigMap{}), refusal: `could not determine node from user "n"`},
		{name: "other resource", reason: "the authorizer is enough", request: plugintest.Create(&corev1.ConfigMap{})},

		{name: "mirror pod", reason: "a node shows what it runs", request: plugintest.Create(podOn("n", mirror))},
		{name: "ordinary pod", reason: "nodes don't start pods", request: plugintest.Create(podOn("n")), refusal: `pod does not have "kubernetes.io/config.mirror" annotation, node "n" can only create mirror pods`},
		{name: "pod of another node", reason: "that is for the other node", request: plugintest.Create(podOn("other", mirror)), refusal: `node "n" can only create pods with spec.nodeName set to itself`},
		{name: "pod with a secret", reason: "the node would learn it", request: plugintest.Create(podOn("n", mirror, func(p *corev1.Pod) {
			p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "s"}}
		})), refusal: `node "n" can not create pods that reference secrets`},
		{name: "owner's uid", reason: "the node may have been replaced", request: plugintest.Create(podOn("n", mirror, func(p *corev1.Pod) { p.OwnerReferences[0].UID = "x" })), refusal: "node n UID mismatch: expected x got uid-of-n"},
		{name: "delete", reason: "a node ends its pods", request: plugintest.Delete(podOn("n"))},
		{name: "delete elsewhere", reason: "and not others", request: plugintest.Delete(podOn("other")), refusal: "can only delete pods with spec.nodeName set to itself"},
		{name: "status", reason: "a node says how its pods are", request: plugintest.Update(podOn("n"), podOn("n")).Of("status")},
		{name: "labels by status", reason: "labels are no status", request: plugintest.Update(podOn("n"), podOn("n", func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} })).Of("status"), refusal: `node "n" cannot update labels through pod status`},
		{name: "claim by status", reason: "who names a claim may read it", request: plugintest.Update(podOn("n"), podOn("n", func(p *corev1.Pod) {
			p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "secret"}
		})).Of("status"), refusal: `node "n" cannot update extended resource claim status`},
		{name: "binding", reason: "nodes don't choose their pods", request: plugintest.Create(podOn("n")).Of("binding"), refusal: `unexpected pod subresource "binding", only 'status' and 'eviction' are allowed`},

		{name: "own node", reason: "with the labels that kubelets know", request: plugintest.Create(nodeWith("n", map[string]string{"kubernetes.io/hostname": "n", "example.com/x": "y"}))},
		{name: "restricted label", reason: "administrators keep workloads apart by it", request: plugintest.Create(nodeWith("n", map[string]string{"a.node-restriction.kubernetes.io/x": "y"})), refusal: `node "n" is not allowed to set the following labels: a.node-restriction.kubernetes.io/x`},
		{name: "label taken off", reason: "that changes it as well", request: plugintest.Update(nodeWith("n", map[string]string{"unknown.k8s.io/x": "y"}), nodeWith("n", nil)), refusal: "is not allowed to modify labels: unknown.k8s.io/x"},
		{name: "taints", reason: "a node can't invite pods", request: plugintest.Update(nodeWith("n", nil, corev1.Taint{Key: "a"}), nodeWith("n", nil)), refusal: `node "n" is not allowed to modify taints`},
		{name: "owner", reason: "the garbage collector deletes what has an owner that isn't there (CVE-2025-5187)", request: plugintest.Update(nodeWith("n", nil), ownedNode), refusal: `node "n" is not allowed to modify ownerReferences`},
		{name: "same owner", reason: "an administrator may have set it", request: plugintest.Update(ownedNode, ownedNode)},
		{name: "other node", reason: "nor speak for another", request: plugintest.Update(nodeWith("other", nil), nodeWith("other", nil)), refusal: `node "n" is not allowed to modify node "other"`},

		{name: "claim grown", reason: "the node has grown the volume", request: plugintest.Update(claim(nil, "1Gi"), claim(nil, "2Gi")).Of("status")},
		{name: "claim relabelled", reason: "nothing else is the node's business", request: plugintest.Update(claim(nil, "1Gi"), claim(map[string]string{"a": "b"}, "1Gi")).Of("status"), refusal: `node "n" is not allowed to update fields other than status.quantity and status.conditions: ` + "@@ -1,4 +1,7 @@\n {\n+ \"labels\": {\n+  \"a\": \"b\"\n+ },\n"},
		{name: "claim", reason: "nor anything but the status", request: plugintest.Update(claim(nil, "1Gi"), claim(nil, "1Gi")), refusal: "may only update PVC status"},

		{name: "own lease", reason: "the node lives", request: plugintest.Create(lease("kube-node-lease", "n"))},
		{name: "lease elsewhere", reason: "leases elsewhere elect leaders", request: plugintest.Create(lease("kube-system", "n")), refusal: `can only access leases in the "kube-node-lease" system namespace`},
		{name: "other's lease", reason: "the other may be dead", request: plugintest.Update(lease("kube-node-lease", "other"), lease("kube-node-lease", "other")), refusal: "can only access node lease with the same name as the requesting node"},
		{name: "CSINode", reason: "its drivers", request: plugintest.Create(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "other"}}), refusal: "can only access CSINode with the same name as the requesting node"},
		{name: "slice", reason: "its devices", request: plugintest.Create(slice("n"))},
		{name: "other's slice", reason: "not another's", request: plugintest.Delete(slice("other")), refusal: "can only delete ResourceSlice with the same NodeName as the requesting node"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.by == nil {
				test.by = kubelet
			}
			plugintest.Run(t, start(t, ""), test.request.By(test.by), test.refusal)
		})
	}
}

// TestPodCertificates is about what a node asks for on behalf of its pods.
func TestPodCertificates(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, refusal string
		change                func(*certificatesv1beta1.PodCertificateRequestSpec)
	}{
		{name: "own pod", reason: "a volume of the pod needs it", change: func(*certificatesv1beta1.PodCertificateRequestSpec) {}},
		{name: "other node", reason: "a node speaks for itself", refusal: `PodCertificateRequest.Spec.NodeName="other", which is not the requesting node "n"`,
			change: func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.NodeName = "other" }},
		{name: "replaced node", reason: "it isn't this one any more", refusal: `contains nodeUID ("old") that differs from the node's ("uid-of-n")`,
			change: func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.NodeUID = "old" }},
		{name: "pod elsewhere", reason: "certificates are for its own pods", refusal: `pod "p-other" is not running on node "n"`,
			change: func(s *certificatesv1beta1.PodCertificateRequestSpec) {
				s.PodName, s.PodUID = "p-other", "uid-other"
			}},
		{name: "no pod", reason: "as the API says it", refusal: `pods "gone" not found`,
			change: func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.PodName = "gone" }},
		{name: "replaced pod", reason: "another pod of this name", refusal: `contains pod UID ("old") which differs from running pod "uid-n"`,
			change: func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.PodUID = "old" }},
		{name: "other account", reason: "a pod is who it runs as", refusal: `contains serviceAccountName ("admin") that differs from running pod ("account")`,
			change: func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.ServiceAccountName = "admin" }},
		{name: "replaced account", reason: "another account of this name", refusal: `contains serviceAccountUID ("old") that differs from the service account's ("uid-of-account")`,
			change: func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.ServiceAccountUID = "old" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			request := &certificatesv1beta1.PodCertificateRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}, Spec: certificatesv1beta1.PodCertificateRequestSpec{
				PodName: "p-n", PodUID: "uid-n", NodeName: "n", NodeUID: "uid-of-n", ServiceAccountName: "account", ServiceAccountUID: "uid-of-account",
			}}
			test.change(&request.Spec)
			plugintest.Run(t, start(t, ""), plugintest.Create(request).By(kubelet), test.refusal)
		})
	}
}

// TestSubresources is about requests whose object is of another kind than their resource.
func TestSubresources(t *testing.T) {
	t.Parallel()
	token := func(pod string, uid types.UID, audiences ...string) *authenticationv1.TokenRequest {
		return &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences, BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod, UID: uid}}}
	}
	tests := []struct {
		name, reason, resource, subresource, refusal string
		object                                       runtime.Object
	}{
		{name: "evict", reason: "a node makes room", resource: "pods", subresource: "eviction", object: &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p-n"}}},
		{name: "evict elsewhere", reason: "on itself", resource: "pods", subresource: "eviction", object: &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p-other"}}, refusal: "node n can only evict pods with spec.nodeName set to itself"},
		{name: "evict nobody", reason: "as the API says it", resource: "pods", subresource: "eviction", object: &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "gone"}}, refusal: `pods "gone" not found`},
		{name: "token", reason: "a volume of the pod needs it", resource: "serviceaccounts", subresource: "token", object: token("p-n", "uid-n", "projected")},
		{name: "driver's token", reason: "so does the driver of a claimed volume", resource: "serviceaccounts", subresource: "token", object: token("p-n", "uid-n", "driver")},
		{name: "allowed audience", reason: "image pulls need tokens that no volume tells of", resource: "serviceaccounts", subresource: "token", object: token("p-n", "uid-n", "registry")},
		{name: "other audience", reason: "a node isn't its pods", resource: "serviceaccounts", subresource: "token", object: token("p-n", "uid-n", "x"), refusal: `audience "x" not found in pod spec volume, system:node:n is not authorized to request tokens for this audience`},
		{name: "two audiences", reason: "each volume has one", resource: "serviceaccounts", subresource: "token", object: token("p-n", "uid-n", "projected", "driver"), refusal: "node may only request 0 or 1 audiences"},
		{name: "pod elsewhere", reason: "tokens are for its own pods", resource: "serviceaccounts", subresource: "token", object: token("p-other", "uid-other", "projected"), refusal: "node requested token bound to a pod scheduled on a different node"},
		{name: "replaced pod", reason: "another pod of this name", resource: "serviceaccounts", subresource: "token", object: token("p-n", "old", "projected"), refusal: "the UID in the bound object reference (old) does not match the UID in record"},
		{name: "unbound", reason: "it would live for ever", resource: "serviceaccounts", subresource: "token", object: &authenticationv1.TokenRequest{}, refusal: "node requested token not bound to a pod"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "registry")
			a := admission.NewAttributesRecord(test.object, nil, schema.GroupVersionKind{}, "ns", "", schema.GroupVersionResource{Version: "v1", Resource: test.resource}, test.subresource, admission.Create, nil, false, kubelet)
			err := p.Admit(t.Context(), a, nil)
			plugintest.Want(t, err, test.refusal)
		})
	}
}
