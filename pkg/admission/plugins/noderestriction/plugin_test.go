package noderestriction

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
	"github.com/miniapi-dev/miniapi/pkg/registry/features"
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

// podWith returns a pod on node n that has the volumes.
func podWith(name string, volumes ...corev1.Volume) *corev1.Pod {
	return podOn("n", func(pod *corev1.Pod) { pod.Name, pod.UID, pod.Spec.Volumes = name, types.UID("uid-"+name), volumes })
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
	return startAs(t, New(), allowedAudience)
}

func startAs(t *testing.T, p *Plugin, allowedAudience string) *Plugin {
	t.Helper()
	authz := authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if cmp.Equal(a, authorizer.AttributesRecord{User: kubelet, Verb: "request-serviceaccounts-token-audience", Namespace: "ns",
			APIVersion: "v1", Resource: allowedAudience, Name: "account", ResourceRequest: true}) {
			return authorizer.DecisionAllow, "", nil
		}
		if a.GetVerb() == "request-serviceaccounts-podcertificate-signer" && a.GetAPIGroup() == "certificates.k8s.io" && a.GetResource() == "example.com:allowed" && a.GetName() == "account" {
			return authorizer.DecisionAllow, "", nil
		}
		if a.GetResource() == "example.com:unknown" {
			return authorizer.DecisionNoOpinion, "", errors.New("unknown")
		}
		if a.GetResource() == "half-known" {
			return authorizer.DecisionAllow, "", errors.New("a rule can't be evaluated")
		}
		if a.GetResource() == "unknown" {
			return authorizer.DecisionNoOpinion, "", errors.New("unknown")
		}
		return authorizer.DecisionNoOpinion, "", nil
	})
	claimed := func(claim string) corev1.Volume {
		return corev1.Volume{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}
	}
	inline := func(driver string) corev1.Volume {
		return corev1.Volume{VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: driver}}}
	}
	claim := func(name, volume string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
	}
	volume := func(name string, source corev1.PersistentVolumeSource) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: source}}
	}
	driver := func(name string) *storagev1.CSIDriver {
		return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{Audience: name}}}}
	}
	plugintest.Start(t, p, authz, nodeWith("n", nil),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "account", UID: "uid-of-account"}},
		podOn("other"),
		podOn("n", func(pod *corev1.Pod) {
			pod.Spec.ServiceAccountName = "account"
			pod.Spec.Volumes = []corev1.Volume{
				claimed("local"),
				{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
					{ConfigMap: &corev1.ConfigMapProjection{}},
					{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "projected"}},
					{PodCertificate: &corev1.PodCertificateProjection{SignerName: "example.com/projected"}}}}}},
				claimed("claim"), inline("inline"),
				{Name: "scratch",
					VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}}}},
			}
		}),
		podWith("no-claim", claimed("gone")), podWith("unbound", claimed("unbound")), podWith("no-volume", claimed("lost")), podWith("no-driver", inline("gone")),
		podWith("two-lacks", inline("gone"), claimed("gone")), podWith("one-lack", inline("gone"), inline("inline")),
		podWith("old-inline", corev1.Volume{VolumeSource: corev1.VolumeSource{AzureFile: &corev1.AzureFileVolumeSource{ShareName: "share", SecretName: "secret"}}}),
		podWith("old-claimed", claimed("old")),
		podOn("n", mirror, func(pod *corev1.Pod) { pod.Name, pod.UID = "p-mirror", "uid-mirror" }),
		claim("unbound", ""), claim("lost", "gone"), claim("local", "local"), claim("claim", "volume"), claim("p-n-scratch", "scratch"),
		volume("local", corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{}}),
		volume("volume", corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "driver"}}),
		volume("scratch", corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "scratch"}}),
		claim("old", "old"),
		volume("old", corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{ShareName: "share", SecretName: "secret", SecretNamespace: new("ns")}}),
		driver("driver"), driver("inline"), driver("scratch"), driver("file.csi.azure.com"),
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
	owner := func(change func(*metav1.OwnerReference)) plugintest.Request {
		return plugintest.Create(podOn("n", mirror, func(p *corev1.Pod) { change(&p.OwnerReferences[0]) }))
	}
	with := func(volume corev1.VolumeSource) plugintest.Request {
		return plugintest.Create(podOn("n", mirror, func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{{}, {Name: "v", VolumeSource: volume}} }))
	}
	configured := func(name string) *corev1.Node {
		node := nodeWith("n", nil)
		node.Spec.ConfigSource = &corev1.NodeConfigSource{ConfigMap: &corev1.ConfigMapNodeConfigSource{Name: name}}
		return node
	}
	grown := claim(nil, "2Gi")
	grown.ResourceVersion, grown.ManagedFields = "2", []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	grown.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending}}
	grown.Status.AllocatedResources = corev1.ResourceList{"storage": resource.MustParse("2Gi")}
	grown.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{"storage": corev1.PersistentVolumeClaimNodeResizePending}
	const foreignOwner = `node "n" can only create pods with an owner reference set to itself`
	const uncontrolled = `node "n" can only create pods with a controller owner reference set to itself`
	ownedNode := nodeWith("n", nil)
	ownedNode.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "gone", UID: "x"}}
	tests := []struct {
		name, reason, refusal string
		by                    user.Info
		request               plugintest.Request
	}{
		{name: "other user", reason: "only kubelets are restricted", by: &user.DefaultInfo{Name: "alice"},
			request: plugintest.Create(podOn("other"))},
		{name: "other group", reason: "without the group, the user isn't a kubelet",
			by:      &user.DefaultInfo{Name: "system:node:n", Groups: []string{"system:authenticated"}},
			request: plugintest.Create(podOn("other"))},
		{name: "kubelet without a node", reason: "the user name has no node", by: nameless,
			request: plugintest.Create(&corev1.ConfigMap{}), refusal: `could not determine node from user "n"`},
		{name: "other resource", reason: "the authorizer alone decides about this resource",
			request: plugintest.Create(&corev1.ConfigMap{})},

		{name: "mirror pod", reason: "a node can create mirror pods of its static pods", request: plugintest.Create(podOn("n", mirror))},
		{name: "ordinary pod", reason: "nodes don't start pods", request: plugintest.Create(podOn("n")),
			refusal: `pod does not have "kubernetes.io/config.mirror" annotation, node "n" can only create mirror pods`},
		{name: "pod of another node", reason: "a node can't create pods of other nodes",
			request: plugintest.Create(podOn("other", mirror)),
			refusal: `node "n" can only create pods with spec.nodeName set to itself`},
		{name: "pod with a secret", reason: "the node could read the secret", request: plugintest.Create(podOn("n", mirror, func(p *corev1.Pod) {
			p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "s"}}
		})), refusal: `node "n" can not create pods that reference secrets`},
		{name: "pod with an account", reason: "the node could get tokens of the account", request: plugintest.Create(podOn("n", mirror, func(p *corev1.Pod) { p.Spec.ServiceAccountName = "a" })),
			refusal: `node "n" can not create pods that reference serviceaccounts`},
		{name: "pod with a config map", reason: "the node could read the config map", request: with(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}),
			refusal: `node "n" can not create pods that reference configmaps`},
		{name: "pod with a trust bundle", reason: "the node could read the trust bundle", request: with(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{DownwardAPI: &corev1.DownwardAPIProjection{}}, {ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{}}}}}),
			refusal: `node "n" can not create pods that reference clustertrustbundles`},
		{name: "pod with a volume claim", reason: "the node could get the volume", request: with(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}),
			refusal: `node "n" can not create pods that reference persistentvolumeclaims`},
		{name: "pod with an ephemeral volume", reason: "the node could get the volume", request: with(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}),
			refusal: `node "n" can not create pods that reference persistentvolumeclaims (via ephemeral volumes)`},
		{name: "pod with a driver", reason: "the driver could give the node a volume of its choice", request: with(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{}}),
			refusal: `node "n" can not create pods that reference csidrivers (via CSI volumes)`},
		{name: "pod with endpoints", reason: "the node could read the endpoints", request: with(corev1.VolumeSource{Glusterfs: &corev1.GlusterfsVolumeSource{}}),
			refusal: `node "n" can not create pods that reference endpoints (via glusterFS volumes)`},
		{name: "pod with a token", reason: "the node could get tokens of the account", request: with(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}}}}}),
			refusal: `node "n" can not create pods that reference serviceaccounts (via projected volumes)`},
		{name: "pod with a certificate", reason: "the node could get certificates of the account", request: with(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{PodCertificate: &corev1.PodCertificateProjection{}}}}}),
			refusal: `node "n" can not create pods that reference podcertificates`},
		{name: "pod with a device claim", reason: "the node could get the device", request: plugintest.Create(podOn("n", mirror, func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{}} })),
			refusal: `node "n" can not create pods that reference resourceclaims`},
		{name: "pod with projected fields", reason: "the sources contain only data of the pod itself", request: with(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{DownwardAPI: &corev1.DownwardAPIProjection{}}}}})},
		{name: "no owner", reason: "the pod would outlive the node",
			request: plugintest.Create(podOn("n", mirror, func(p *corev1.Pod) { p.OwnerReferences = nil })),
			refusal: foreignOwner},
		{name: "two owners", reason: "the pod would outlive the node because of the second owner", request: plugintest.Create(podOn("n", mirror, func(p *corev1.Pod) {
			p.OwnerReferences = append(p.OwnerReferences, p.OwnerReferences[0])
		})), refusal: `node "n" can only create pods with a single owner reference set to itself`},
		{name: "owner of another version", reason: "the owner has another version than the node",
			request: owner(func(o *metav1.OwnerReference) { o.APIVersion = "v2" }), refusal: foreignOwner},
		{name: "owner of another kind", reason: "the owner has another kind than the node",
			request: owner(func(o *metav1.OwnerReference) { o.Kind = "Pod" }), refusal: foreignOwner},
		{name: "another owner", reason: "the owner is another node",
			request: owner(func(o *metav1.OwnerReference) { o.Name = "other" }), refusal: foreignOwner},
		{name: "owner that may be a controller",
			reason:  "the owner reference of a mirror pod must have controller set to true",
			request: owner(func(o *metav1.OwnerReference) { o.Controller = nil }), refusal: uncontrolled},
		{name: "owner that is no controller", reason: "another controller could adopt the pod",
			request: owner(func(o *metav1.OwnerReference) { o.Controller = new(false) }), refusal: uncontrolled},
		{name: "owner that waits", reason: "a pod doesn't hold up the deletion of its node", request: owner(func(o *metav1.OwnerReference) { o.BlockOwnerDeletion = new(true) }),
			refusal: `node "n" must not set blockOwnerDeletion on an owner reference`},
		{name: "owner that doesn't wait", reason: "blockOwnerDeletion can be false as well as missing",
			request: owner(func(o *metav1.OwnerReference) { o.BlockOwnerDeletion = new(false) })},
		{name: "owner is gone", reason: "the error is the API's error for a missing node", by: &user.DefaultInfo{Name: "system:node:m", Groups: []string{"system:nodes"}},
			request: plugintest.Create(podOn("m", mirror, func(p *corev1.Pod) { p.OwnerReferences[0].Name = "m" })),
			refusal: `nodes "m" not found`},
		{name: "change a pod", reason: "a node replaces its mirror pods and doesn't update them", request: plugintest.Update(podOn("n", mirror), podOn("n", mirror)),
			refusal: `unexpected operation "UPDATE", node "n" can only create and delete mirror pods`},
		{name: "owner's uid", reason: "an earlier node has had the name",
			request: plugintest.Create(podOn("n", mirror, func(p *corev1.Pod) { p.OwnerReferences[0].UID = "x" })),
			refusal: "node n UID mismatch: expected x got uid-of-n"},
		{name: "delete", reason: "a node ends its pods", request: plugintest.Delete(podOn("n"))},
		{name: "delete elsewhere", reason: "a node can't delete pods of other nodes",
			request: plugintest.Delete(podOn("other")),
			refusal: "can only delete pods with spec.nodeName set to itself"},
		{name: "status", reason: "a node reports the status of its pods", request: plugintest.Update(podOn("n"), podOn("n")).Of("status")},
		{name: "status elsewhere", reason: "a node must not report the status of other nodes' pods", request: plugintest.Update(podOn("other"), podOn("n")).Of("status"),
			refusal: `node "n" can only update pod status for pods with spec.nodeName set to itself`},
		{name: "claims by status", reason: "a node may read the claims that its pods name", request: plugintest.Update(podOn("n"), podOn("n", func(p *corev1.Pod) {
			p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "secret"}}
		})).Of("status"), refusal: `node "n" cannot update resource claim statues`},
		{name: "labels by status", reason: "labels don't belong to the status",
			request: plugintest.Update(podOn("n"), podOn("n", func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} })).Of("status"),
			refusal: `node "n" cannot update labels through pod status`},
		{name: "claim by status", reason: "a node may read the claims that its pods name", request: plugintest.Update(podOn("n"), podOn("n", func(p *corev1.Pod) {
			p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "secret"}
		})).Of("status"), refusal: `node "n" cannot update extended resource claim status`},
		{name: "allocation by status", reason: "a node may read the claims that its pods name", request: plugintest.Update(podOn("n"), podOn("n", func(p *corev1.Pod) {
			p.Status.NodeAllocatableResourceClaimStatuses = []corev1.NodeAllocatableResourceClaimStatus{{ResourceClaimName: "secret"}}
		})).Of("status"), refusal: `node "n" cannot update node allocatable resource claim statuses`},
		{name: "binding", reason: "nodes don't choose their pods", request: plugintest.Create(podOn("n")).Of("binding"),
			refusal: `unexpected pod subresource "binding", only 'status' and 'eviction' are allowed`},

		{name: "own node", reason: "kubelets set these labels of their own node",
			request: plugintest.Create(nodeWith("n", map[string]string{"kubernetes.io/hostname": "n", "example.com/x": "y"}))},
		{name: "restricted label", reason: "administrators use the label to keep workloads apart", request: plugintest.Create(nodeWith("n", map[string]string{"kubernetes.io/x": "y", "a.node-restriction.kubernetes.io/x": ""})),
			refusal: `node "n" is not allowed to set the following labels: a.node-restriction.kubernetes.io/x, kubernetes.io/x`},
		{name: "restricted label of another value", reason: "a change of the value changes a restricted label", request: plugintest.Update(nodeWith("n", map[string]string{"unknown.k8s.io/x": "y"}), nodeWith("n", map[string]string{"unknown.k8s.io/x": "z"})),
			refusal: "is not allowed to modify labels: unknown.k8s.io/x"},
		{name: "restricted label kept", reason: "an administrator has set the label",
			request: plugintest.Update(nodeWith("n", map[string]string{"unknown.k8s.io/x": "y"}), nodeWith("n", map[string]string{"unknown.k8s.io/x": "y"}))},
		{name: "labels of no domain", reason: "labels without a reserved domain are free for users",
			request: plugintest.Create(nodeWith("n", map[string]string{"k8s.io": "", "kubernetes.io": ""}))},
		{name: "own node goes", reason: "the authorizer decides whether a kubelet may delete its node",
			request: plugintest.Delete(nodeWith("n", nil))},
		{name: "other node goes", reason: "a node can't delete another node",
			request: plugintest.Delete(nodeWith("other", nil)),
			refusal: `node "n" is not allowed to modify node "other"`},
		{name: "configured", reason: "a node must not choose its own configuration",
			request: plugintest.Create(configured("c")),
			refusal: `node "n" is not allowed to create pods with a non-nil configSource`},
		{name: "configured otherwise", reason: "an update can't set the source of the configuration either",
			request: plugintest.Update(configured("c"), configured("d")),
			refusal: `node "n" is not allowed to update configSource to a new non-nil configSource`},
		{name: "still configured", reason: "an administrator has set the configuration",
			request: plugintest.Update(configured("c"), configured("c"))},
		{name: "configured no more", reason: "a node may remove its configuration",
			request: plugintest.Update(configured("c"), nodeWith("n", nil))},
		{name: "label taken off", reason: "the removal of a label changes a restricted label",
			request: plugintest.Update(nodeWith("n", map[string]string{"unknown.k8s.io/x": "y"}), nodeWith("n", nil)),
			refusal: "is not allowed to modify labels: unknown.k8s.io/x"},
		{name: "taints", reason: "a node must not remove its taints",
			request: plugintest.Update(nodeWith("n", nil, corev1.Taint{Key: "a"}), nodeWith("n", nil)),
			refusal: `node "n" is not allowed to modify taints`},
		{name: "owner", reason: "the garbage collector deletes an object whose owner doesn't exist (CVE-2025-5187)",
			request: plugintest.Update(nodeWith("n", nil), ownedNode),
			refusal: `node "n" is not allowed to modify ownerReferences`},
		{name: "same owner", reason: "an administrator may have set the owner", request: plugintest.Update(ownedNode, ownedNode)},
		{name: "other node", reason: "a node can't update another node",
			request: plugintest.Update(nodeWith("other", nil), nodeWith("other", nil)),
			refusal: `node "n" is not allowed to modify node "other"`},

		{name: "claim grown", reason: "the node has grown the volume", request: plugintest.Update(claim(nil, "1Gi"), grown).Of("status")},
		{name: "claim relabelled", reason: "a node may write no other field of a claim",
			request: plugintest.Update(claim(nil, "1Gi"), claim(map[string]string{"a": "b"}, "1Gi")).Of("status"),
			refusal: `node "n" is not allowed to update fields other than status.quantity and status.conditions: ` + "@@ -1,4 +1,7 @@\n {\n+ \"labels\": {\n+  \"a\": \"b\"\n+ },\n"},
		{name: "claim", reason: "a node can only update the status of a claim",
			request: plugintest.Update(claim(nil, "1Gi"), claim(nil, "1Gi")), refusal: "may only update PVC status"},
		{name: "claim's status at its creation", reason: "a new claim has no status to report",
			request: plugintest.Create(claim(nil, "1Gi")).Of("status"), refusal: `unexpected operation "CREATE"`},

		{name: "own lease", reason: "a node renews its lease", request: plugintest.Create(lease("kube-node-lease", "n"))},
		{name: "own lease ends", reason: "the path of the request has the name of the lease",
			request: plugintest.Delete(lease("kube-node-lease", "n"))},
		{name: "lease elsewhere", reason: "leases in other namespaces are for the election of leaders",
			request: plugintest.Create(lease("kube-system", "n")),
			refusal: `can only access leases in the "kube-node-lease" system namespace`},
		{name: "other's lease", reason: "the other node may have failed",
			request: plugintest.Update(lease("kube-node-lease", "other"), lease("kube-node-lease", "other")),
			refusal: "can only access node lease with the same name as the requesting node"},
		{name: "own CSINode", reason: "a node reports its own drivers",
			request: plugintest.Create(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n"}})},
		{name: "CSINode", reason: "a node can't report the drivers of another node",
			request: plugintest.Create(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "other"}}),
			refusal: "can only access CSINode with the same name as the requesting node"},
		{name: "slice", reason: "a node reports its own devices", request: plugintest.Create(slice("n"))},
		{name: "slice of no node", reason: "the devices would belong to all nodes",
			request: plugintest.Create(&resourcev1.ResourceSlice{}),
			refusal: "can only create ResourceSlice with the same NodeName as the requesting node"},
		{name: "slice changed", reason: "the authorizer has checked the node of the stored slice",
			request: plugintest.Update(slice("other"), slice("other"))},
		{name: "other's slice", reason: "a node must not delete the slice of another node",
			request: plugintest.Delete(slice("other")),
			refusal: "can only delete ResourceSlice with the same NodeName as the requesting node"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.by == nil {
				test.by = kubelet
			}
			var was runtime.Object
			if test.request.Object != nil {
				was = test.request.Object.DeepCopyObject()
			}
			plugintest.Run(t, start(t, ""), test.request.By(test.by), test.refusal)
			if diff := cmp.Diff(was, test.request.Object); diff != "" {
				t.Errorf("the plugin changed the object (-was +is):\n%s", diff)
			}
		})
	}
}

// A kubelet can request kubelet certificates only for its own node.
func TestSigningRequests(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signing := func(signer, name string) *certificatesv1.CertificateSigningRequest {
		request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}, key)
		if err != nil {
			t.Fatal(err)
		}
		return &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: signer, Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request})}}
	}
	const serving, client = certificatesv1.KubeletServingSignerName, certificatesv1.KubeAPIServerClientKubeletSignerName
	malformed := signing(client, "")
	malformed.Spec.Request = []byte("x")
	for _, test := range []struct {
		name, reason, refusal string
		request               plugintest.Request
	}{
		{name: "own", reason: "a node renews its certificate", request: plugintest.Create(signing(client, "system:node:n"))},
		{name: "another node's", reason: "a node must not request a certificate for another node",
			request: plugintest.Create(signing(client, "system:node:other")),
			refusal: "can only create a node CSR with CN=system:node:n"},
		{name: "another node's server", reason: "a node requests a serving certificate for itself",
			request: plugintest.Create(signing(serving, "system:node:other")),
			refusal: "can only create a node CSR with CN=system:node:n"},
		{name: "other signer", reason: "certificates of another signer don't authenticate clients of this server",
			request: plugintest.Create(signing("example.com/signer", "x"))},
		{name: "malformed", reason: "the plugin can't read the subject of the certificate",
			request: plugintest.Create(malformed),
			refusal: "unable to parse csr: PEM block type must be CERTIFICATE REQUEST"},
		{name: "update", reason: "an update can't change the requested identity",
			request: plugintest.Update(signing(client, "system:node:other"), signing(client, "system:node:other"))},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			plugintest.Run(t, start(t, ""), test.request.By(kubelet), test.refusal)
		})
	}
}

// A kubelet can request certificates only for the pods on its node.
func TestPodCertificates(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, refusal string
		outdated              bool // the objects may soon fit the request, so the error isn't "forbidden"
		change                func(*certificatesv1beta1.PodCertificateRequestSpec)
	}{
		{name: "own pod", reason: "a volume of the pod needs the certificate",
			change: func(*certificatesv1beta1.PodCertificateRequestSpec) {}},
		{name: "other node", reason: "a node must not request a certificate in the name of another node", refusal: `PodCertificateRequest.Spec.NodeName="other", which is not the requesting node "n"`,
			change: func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.NodeName = "other" }},
		{name: "other signer of the node", reason: "an authorizer allows the signer to the node",
			change: func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.SignerName = "example.com/allowed" }},
		{name: "other signer", reason: "no volume of the pod has a certificate of the signer", refusal: `pod "ns/p-n" does not mount a podCertificate projected volume for signer "example.com/other"`,
			change: func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.SignerName = "example.com/other" }},
		{name: "signer unknown to the authorizer", reason: "the error has the answer of the authorizer", refusal: `error authorizing system:node:n to request podcertificaterequests for signer "example.com/unknown": unknown`,
			change: func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.SignerName = "example.com/unknown" }},
		{name: "replaced node", reason: "the request is from an earlier node of the same name", outdated: true, refusal: `PodCertificateRequest for pod "ns/p-n" names node UID "old", inconsistent with the running node ("uid-of-n")`,
			change: func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.NodeUID = "old" }},
		{name: "pod elsewhere", reason: "certificates are only for pods on the node", refusal: `pod "ns/p-other" is not running on node "n" named in the PodCertificateRequest`,
			change: func(s *certificatesv1beta1.PodCertificateRequestSpec) {
				s.PodName, s.PodUID = "p-other", "uid-other"
			}},
		{name: "mirror pod", reason: "a mirror pod has no service account", refusal: `pod "ns/p-mirror" is a mirror pod`,
			change: func(s *certificatesv1beta1.PodCertificateRequestSpec) {
				s.PodName, s.PodUID = "p-mirror", "uid-mirror"
			}},
		{name: "no pod", reason: "the error names the missing pod", outdated: true, refusal: `while retrieving pod "ns/gone" named in the PodCertificateRequest: pods "gone" not found`,
			change: func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.PodName = "gone" }},
		{name: "replaced pod", reason: "another pod has had the name", outdated: true, refusal: `contains pod UID ("old") which differs from running pod "uid-n"`,
			change: func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.PodUID = "old" }},
		{name: "other account", reason: "a certificate has the pod's own account", refusal: `contains serviceAccountName ("admin") that differs from running pod ("account")`,
			change: func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.ServiceAccountName = "admin" }},
		{name: "replaced account", reason: "another account has had the name", outdated: true, refusal: `PodCertificateRequest for pod "ns/p-n" names service account UID "old", which differs from the running service account ("uid-of-account")`,
			change: func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.ServiceAccountUID = "old" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			request := &certificatesv1beta1.PodCertificateRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}, Spec: certificatesv1beta1.PodCertificateRequestSpec{
				SignerName: "example.com/projected", PodName: "p-n", PodUID: "uid-n", NodeName: "n",
				NodeUID: "uid-of-n", ServiceAccountName: "account", ServiceAccountUID: "uid-of-account",
			}}
			test.change(&request.Spec)
			err := start(t, "").Admit(t.Context(), plugintest.Create(request).By(kubelet).Attributes(t), nil)
			plugintest.Want(t, err, test.refusal)
			if forbidden := apierrors.IsForbidden(err); err != nil && forbidden == test.outdated {
				t.Errorf("%s: error %v, forbidden: %t", test.reason, err, forbidden)
			}
		})
	}
}

// A kubelet can evict only pods on its node. A kubelet can request tokens only for pods on its node, and only for
// audiences that a volume of the pod needs or that an authorizer allows.
func TestSubresources(t *testing.T) {
	t.Parallel()
	token := func(pod string, uid types.UID, audiences ...string) *authenticationv1.TokenRequest {
		return &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences, BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod, UID: uid}}}
	}
	bound := func(version, kind string) *authenticationv1.TokenRequest {
		request := token("p-n", "uid-n", "projected")
		request.Spec.BoundObjectRef.APIVersion, request.Spec.BoundObjectRef.Kind = version, kind
		return request
	}
	tests := []struct {
		name, reason, resource, subresource, refusal string
		object                                       runtime.Object
		missing                                      bool
	}{
		{name: "evict", reason: "a node evicts its own pods to make room", resource: "pods", subresource: "eviction",
			object: &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p-n"}}},
		{name: "evict elsewhere", reason: "a node must not evict the pods of another node", resource: "pods",
			subresource: "eviction", object: &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p-other"}},
			refusal: "node n can only evict pods with spec.nodeName set to itself"},
		{name: "evict a missing pod", reason: "the error is the API's error for a missing pod", resource: "pods",
			subresource: "eviction", object: &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "gone"}},
			refusal: `pods "gone" not found`, missing: true},
		{name: "evict without a pod", reason: "neither the path nor the object names a pod", resource: "pods",
			subresource: "eviction", object: &policyv1.Eviction{},
			refusal: "could not determine pod from request data"},
		{name: "token", reason: "a volume of the pod needs the token", resource: "serviceaccounts",
			subresource: "token", object: token("p-n", "uid-n", "projected")},
		{name: "driver's token", reason: "the driver of a claimed volume needs the token", resource: "serviceaccounts",
			subresource: "token", object: token("p-n", "uid-n", "driver")},
		{name: "inline driver's token", reason: "the driver of an inline volume needs the token",
			resource: "serviceaccounts", subresource: "token", object: token("p-n", "uid-n", "inline")},
		{name: "ephemeral driver's token", reason: "the driver of an ephemeral volume needs the token",
			resource: "serviceaccounts", subresource: "token", object: token("p-n", "uid-n", "scratch")},
		{name: "server's audience", reason: "no volume has a token for the server", resource: "serviceaccounts",
			subresource: "token", object: token("p-n", "uid-n"),
			refusal: `audience "" not found in pod spec volume, system:node:n is not authorized to request tokens for this audience`},
		{name: "audience unknown to the authorizer", reason: "the error has the answer of the authorizer", resource: "serviceaccounts", subresource: "token", object: token("p-n", "uid-n", "unknown"),
			refusal: `audience "unknown" not found in pod spec volume, error authorizing system:node:n to request tokens for this audience: unknown`},
		{name: "account itself", reason: "the plugin checks only requests for tokens", resource: "serviceaccounts",
			subresource: "", object: &corev1.ServiceAccount{}},
		{name: "allowed audience", reason: "pulling images needs tokens that no volume names",
			resource: "serviceaccounts", subresource: "token", object: token("p-n", "uid-n", "registry")},
		{name: "other audience", reason: "no volume of the pod has the audience", resource: "serviceaccounts",
			subresource: "token", object: token("p-n", "uid-n", "x"),
			refusal: `audience "x" not found in pod spec volume, system:node:n is not authorized to request tokens for this audience`},
		{name: "authorized in spite of an error", reason: "another rule of the authorizer allows the audience",
			resource: "serviceaccounts", subresource: "token", object: token("p-n", "uid-n", "half-known")},
		{name: "driver in the place of a plugin", reason: "a CSI driver has replaced the in-tree plugin of the volume",
			resource: "serviceaccounts", subresource: "token",
			object: token("old-claimed", "uid-old-claimed", "file.csi.azure.com")},
		{name: "inline driver in the place of a plugin",
			reason: "a driver also replaces the plugin of an inline volume", resource: "serviceaccounts",
			subresource: "token", object: token("old-inline", "uid-old-inline", "file.csi.azure.com")},
		{name: "one driver of two",
			reason:   "a volume needs the audience, so the other volume's missing driver doesn't matter",
			resource: "serviceaccounts", subresource: "token", object: token("one-lack", "uid-one-lack", "inline")},
		{name: "no claim", reason: "the claim may appear later, with a driver that needs the token", resource: "serviceaccounts", subresource: "token", object: token("no-claim", "uid-no-claim", "registry"),
			refusal: `error validating audience "registry": persistentvolumeclaim "gone" not found`},
		{name: "unbound claim", reason: "the volume of the claim may be bound later", resource: "serviceaccounts", subresource: "token", object: token("unbound", "uid-unbound", "x"),
			refusal: `error validating audience "x": persistentvolume "" not found`},
		{name: "no volume", reason: "the volume may appear later", resource: "serviceaccounts", subresource: "token", object: token("no-volume", "uid-no-volume", "x"),
			refusal: `error validating audience "x": persistentvolume "gone" not found`},
		{name: "no driver", reason: "the driver may appear later", resource: "serviceaccounts", subresource: "token", object: token("no-driver", "uid-no-driver", "x"),
			refusal: `error validating audience "x": csidriver.storage.k8s.io "gone" not found`},
		{name: "two lacks", reason: "the error lists both missing objects", resource: "serviceaccounts", subresource: "token", object: token("two-lacks", "uid-two-lacks", "x"),
			refusal: `error validating audience "x": [csidriver.storage.k8s.io "gone" not found, persistentvolumeclaim "gone" not found]`},
		{name: "two audiences", reason: "a token request may have one audience at most", resource: "serviceaccounts",
			subresource: "token", object: token("p-n", "uid-n", "projected", "driver"),
			refusal: "node may only request 0 or 1 audiences"},
		{name: "pod elsewhere", reason: "tokens are only for pods on the node", resource: "serviceaccounts",
			subresource: "token", object: token("p-other", "uid-other", "projected"),
			refusal: "node requested token bound to a pod scheduled on a different node"},
		{name: "replaced pod", reason: "another pod has had the name", resource: "serviceaccounts",
			subresource: "token", object: token("p-n", "old", "projected"),
			refusal: "the UID in the bound object reference (old) does not match the UID in record"},
		{name: "bound to a pod without a uid", reason: "a later pod may have the same name",
			resource: "serviceaccounts", subresource: "token", object: token("p-n", "", "projected"),
			refusal: "node requested token with a pod binding without a uid"},
		{name: "bound to a pod without a name", reason: "the token is not bound to any pod",
			resource: "serviceaccounts", subresource: "token", object: token("", "uid-n"),
			refusal: "node requested token not bound to a pod"},
		{name: "bound to another kind", reason: "a secret isn't a pod", resource: "serviceaccounts",
			subresource: "token", object: bound("v1", "Secret"), refusal: "node requested token not bound to a pod"},
		{name: "bound to another version", reason: "no version v2 of pods exists", resource: "serviceaccounts",
			subresource: "token", object: bound("v2", "Pod"), refusal: "node requested token not bound to a pod"},
		{name: "unbound", reason: "a token that isn't bound to a pod would outlive the pods",
			resource: "serviceaccounts", subresource: "token", object: &authenticationv1.TokenRequest{},
			refusal: "node requested token not bound to a pod"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "registry")
			name := ""
			if test.resource == "serviceaccounts" {
				name = "account"
			}
			a := admission.NewAttributesRecord(test.object, nil, schema.GroupVersionKind{}, "ns", name, schema.GroupVersionResource{Version: "v1", Resource: test.resource}, test.subresource, admission.Create, nil, false, kubelet)
			err := p.Admit(t.Context(), a, nil)
			plugintest.Want(t, err, test.refusal)
			if missing := apierrors.IsNotFound(err); missing != test.missing {
				t.Errorf("%s: error %v, missing: %t", test.reason, err, test.missing)
			}
		})
	}
}

// With the feature gate ServiceAccountNodeAudienceRestriction off, a kubelet can request tokens for any audience, but
// still only for pods on its node.
func TestUnrestrictedAudiences(t *testing.T) {
	t.Parallel()
	gates := features.Of(version.MajorMinor(1, 37))
	if err := gates.SetFromMap(map[string]bool{string(AudienceGate): false}); err != nil {
		t.Fatal(err)
	}
	p := startAs(t, New(), "")
	p.InspectFeatureGates(gates)
	for _, test := range []struct {
		name, reason, refusal string
		pod                   string
		audiences             []string
	}{
		{name: "any audience", reason: "without the restriction, a kubelet may request any audience", pod: "n",
			audiences: []string{"x", "y"}},
		{name: "the server's", reason: "without the restriction, a kubelet may request the server's audience", pod: "n"},
		{name: "another node's pod", reason: "the permission for the audience doesn't extend to pods of other nodes",
			pod: "other", refusal: "node requested token bound to a pod scheduled on a different node"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: test.audiences,
				BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: "p-" + test.pod, UID: types.UID("uid-" + test.pod)}}}
			a := admission.NewAttributesRecord(request, nil, schema.GroupVersionKind{}, "ns", "account",
				schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}, "token", admission.Create, nil, false, kubelet)
			plugintest.Want(t, p.Admit(t.Context(), a, nil), test.refusal)
		})
	}
}
