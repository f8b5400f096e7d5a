package nodeauthorizer

import (
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

func TestAuthorizer(t *testing.T) {
	t.Parallel()

	pod := func(name, node, secret string, annotations map[string]string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Annotations: annotations},
			Spec: corev1.PodSpec{
				NodeName: node, ServiceAccountName: "account-" + name,
				Containers: []corev1.Container{{EnvFrom: []corev1.EnvFromSource{
					{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret}}},
				}}},
				Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim-" + name},
				}}},
			},
		}
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "volume-mine"},
		Spec: corev1.PersistentVolumeSpec{
			ClaimRef: &corev1.ObjectReference{Namespace: "ns", Name: "claim-mine"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				NodeStageSecretRef: &corev1.SecretReference{Namespace: "storage", Name: "stage"},
			}},
		},
	}
	attached := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "attached"}, Spec: storagev1.VolumeAttachmentSpec{NodeName: "n1"}}

	request := func(name, node string) *certificatesv1.PodCertificateRequest {
		return &certificatesv1.PodCertificateRequest{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
			Spec:       certificatesv1.PodCertificateRequestSpec{NodeName: types.NodeName(node)},
		}
	}

	factory := informers.NewSharedInformerFactory(fake.NewClientset(
		pod("mine", "n1", "my-secret", nil),
		pod("theirs", "n2", "their-secret", nil),
		pod("mirror", "n1", "mirrored-secret", map[string]string{corev1.MirrorPodAnnotationKey: "x"}),
		volume, attached, request("mine", "n1"), request("theirs", "n2"),
	), 0)
	rules := []rbacv1.PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"services"}}}
	node := New(factory, rules)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())

	ask := func(verb, group, resource, subresource, namespace, name string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{
			User: &user.DefaultInfo{Name: "system:node:n1", Groups: []string{user.NodesGroup}},
			Verb: verb, APIGroup: group, Resource: resource, Subresource: subresource, Namespace: namespace, Name: name,
			ResourceRequest: true,
		}
	}
	as := func(request authorizer.AttributesRecord, name string, groups ...string) authorizer.AttributesRecord {
		request.User = &user.DefaultInfo{Name: name, Groups: groups}
		return request
	}
	selecting := func(request authorizer.AttributesRecord, selector string) authorizer.AttributesRecord {
		request.FieldSelectorRequirements = fields.ParseSelectorOrDie(selector).Requirements()
		return request
	}

	for _, test := range []struct {
		name    string
		request authorizer.AttributesRecord
		allowed bool
		reason  string
	}{
		{"secret of a pod", ask("get", "", "secrets", "", "ns", "my-secret"), true,
			"a pod that is bound to the node refers to the secret"},
		{"secret of another node's pod", ask("get", "", "secrets", "", "ns", "their-secret"), false,
			"no pod that is bound to the node refers to the secret"},
		{"secret of a mirror pod", ask("get", "", "secrets", "", "ns", "mirrored-secret"), false, "nodes make mirror pods themselves"},
		{"secret of a volume", ask("get", "", "secrets", "", "storage", "stage"), true,
			"the volume of a pod's claim refers to the secret"},
		{"all secrets", ask("list", "", "secrets", "", "ns", ""), false, "a node may read only single secrets"},
		{"write a secret", ask("update", "", "secrets", "", "ns", "my-secret"), false, "a node may only read secrets"},
		{"not a node", as(ask("get", "", "secrets", "", "ns", "my-secret"), "ann"), false,
			"the authorizer has no opinion on users that aren't nodes"},
		{"a node's name without its group", as(ask("get", "", "secrets", "", "ns", "my-secret"), "system:node:n1"),
			false, "a node has the user name and the group"},
		{"claim", ask("get", "", "persistentvolumeclaims", "", "ns", "claim-mine"), true, "a pod uses the claim as a volume"},
		{"volume", ask("get", "", "persistentvolumes", "", "", "volume-mine"), true, "the volume is bound to the claim of a pod"},
		{"attachment", ask("get", "storage.k8s.io", "volumeattachments", "", "", "attached"), true, "the attachment names the node"},
		{"token", ask("create", "", "serviceaccounts", "token", "ns", "account-mine"), true, "a pod of the node uses the account"},
		{"token of others", ask("create", "", "serviceaccounts", "token", "ns", "account-theirs"), false,
			"no pod of the node uses the account"},
		{"own node", ask("get", "", "nodes", "", "", "n1"), true, "a node may read its own Node object"},
		{"other node", ask("get", "", "nodes", "", "", "n2"), false, "a node may not read other Node objects"},
		{"pods of the node", selecting(ask("list", "", "pods", "", "", ""), "spec.nodeName=n1"), true,
			"the field selector limits the list to pods of the node"},
		{"pods of all nodes", ask("list", "", "pods", "", "", ""), false, "no field selector limits the list"},
		{"one pod of the node", ask("watch", "", "pods", "", "ns", "mine"), true,
			"the field selector names a pod that is bound to the node"},
		{"one pod of another node", ask("watch", "", "pods", "", "ns", "theirs"), false, "the pod is bound to another node"},
		{"pods of other nodes", selecting(ask("list", "", "pods", "", "", ""), "spec.nodeName!=n1"), false,
			"the field selector excludes the pods of the node"},
		{"requests of its pods",
			selecting(ask("watch", "certificates.k8s.io", "podcertificaterequests", "", "", ""), "spec.nodeName=n1"),
			true, "the node waits for the certificates of its pods"},
		{"requests of all pods", ask("watch", "certificates.k8s.io", "podcertificaterequests", "", "", ""), false,
			"other nodes wait for the certificates of their pods"},
		{"a request for a pod", ask("create", "certificates.k8s.io", "podcertificaterequests", "", "ns", ""), true,
			"the plugin NodeRestriction checks the pod"},
		{"a request of its pod", ask("get", "certificates.k8s.io", "podcertificaterequests", "", "ns", "mine"), true,
			"the request names the node"},
		{"a request of another node's pod",
			ask("get", "certificates.k8s.io", "podcertificaterequests", "", "ns", "theirs"), false,
			"the request names another node"},
		{"issuing", ask("update", "certificates.k8s.io", "podcertificaterequests", "status", "ns", "r"), false,
			"only a signer may write the status"},
		{"own lease", ask("update", "coordination.k8s.io", "leases", "", corev1.NamespaceNodeLease, "n1"), true,
			"a node may write its own Lease"},
		{"other lease", ask("update", "coordination.k8s.io", "leases", "", corev1.NamespaceNodeLease, "n2"), false,
			"a node may not write other Leases"},
		{"own csinode", ask("create", "storage.k8s.io", "csinodes", "", "", ""), true, "the plugin NodeRestriction checks the name"},
		{"rules", ask("list", "", "services", "", "", ""), true, "the role system:node allows the request"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, because, err := node.Authorize(t.Context(), test.request)
			if err != nil || (got == authorizer.DecisionAllow) != test.allowed {
				t.Errorf("got %v (%q, %v), want allowed %v: %s", got, because, err, test.allowed, test.reason)
			}
		})
	}
}
