package integration_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// podRequest has the parts of a request to create a pod. The test changes the parts, so that one step of admission
// after the other accepts the pod.
type podRequest struct {
	user      kubernetes.Interface
	namespace string
	pod       *corev1.Pod
}

func (r *podRequest) create(ctx context.Context) (*corev1.Pod, error) {
	return r.user.CoreV1().Pods(r.namespace).Create(ctx, r.pod, metav1.CreateOptions{})
}

// At first, every step of admission would refuse the pod. The response has the refusal of the first step. The test then
// corrects the pod for that step, so that the next step refuses it, and so on. So the refusals show the order of the
// steps: mutating plugins, mutating policies and webhooks, the validation of the API, validating plugins, validating
// policies and webhooks, the quota.
func TestPluginsRefuseInOrder(t *testing.T) {
	t.Parallel()
	const namespace = "strict"
	tolerations := `[{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}, {"key": "node.kubernetes.io/unreachable", "operator": "Exists"},
		{"key": "node.kubernetes.io/memory-pressure", "operator": "Exists"}, {"key": "namespace", "operator": "Exists"}, {"key": "example.com/gpu", "operator": "Exists"}]`
	quota := in(namespace, &corev1.ResourceQuota{ObjectMeta: named("none"), Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")},
	}})
	srv := miniapitest.Start(t,
		miniapitest.WithAdmissionPlugins("ServiceAccount", "NodeRestriction", "PodNodeSelector", "PodTolerationRestriction", "ExtendedResourceToleration",
			"LimitPodHardAntiAffinityTopology", "ImagePolicyWebhook", "OwnerReferencesPermissionEnforcement"),
		configured(t, "ImagePolicyWebhook", fmt.Sprintf(`{"imagePolicy": {"kubeConfigFile": %q}}`, imagePolicy(t, "unsigned:1"))),
		miniapitest.WithObjects(
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
				Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "baseline"},
				Annotations: map[string]string{
					"scheduler.alpha.kubernetes.io/node-selector":        "zone=a",
					"scheduler.alpha.kubernetes.io/defaultTolerations":   `[{"key": "namespace", "operator": "Exists"}]`,
					"scheduler.alpha.kubernetes.io/tolerationsWhitelist": tolerations,
				},
			}},
			in(namespace, &corev1.ServiceAccount{ObjectMeta: named("robot"), AutomountServiceAccountToken: new(false)}),
			in(namespace, &corev1.LimitRange{ObjectMeta: named("limits"), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
				Type: corev1.LimitTypeContainer, Max: memory("128Mi"),
			}}}}),
			quota,
			&nodev1.RuntimeClass{ObjectMeta: named("plain"), Handler: "plain"},
			&rbacv1.ClusterRoleBinding{
				ObjectMeta: named("nodes"),
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:nodes"}},
			},
		))
	admin := srv.Client()
	// This server has no controller of quotas, so the test writes the status that the controller would write.
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: quota.Spec.Hard}
	must(admin.CoreV1().ResourceQuotas(namespace).UpdateStatus(t.Context(), quota, metav1.UpdateOptions{}))(t)
	grant(t, srv, "developer", rbacRule("", "create", "pods"))

	// Each webhook and policy selects pods that lack a label with its name.
	lacking := func(label string) admissionregistrationv1.MatchResources {
		match := matchResources("CREATE", "v1", "pods")
		match.ObjectSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: label, Operator: metav1.LabelSelectorOpDoesNotExist}}}
		return *match
	}
	matchesLacking := func(label string) change {
		return func(h *hook) { h.ObjectSelector = lacking(label).ObjectSelector }
	}
	install(t, srv, mutating("webhook-m", deny("no"), onPods, matchesLacking("webhook-m")), validating("webhook-v", deny("no"), onPods, matchesLacking("webhook-v")))
	mutate(t, srv, "policy-m", admissionregistrationv1.MutatingAdmissionPolicySpec{
		MatchConstraints: new(lacking("policy-m")),
		Mutations:        []admissionregistrationv1.Mutation{patches(`[JSONPatch{op: "remove", path: "/nothing"}]`)},
	}, nil)
	enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named("policy-v"), Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: new(lacking("policy-v")), Validations: []admissionregistrationv1.Validation{{Expression: "false"}},
	}}, binding(admissionregistrationv1.Deny))

	request := &podRequest{clientOf(t, srv, "system:node:a", "system:nodes"), "missing", &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "p", Labels: map[string]string{},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "a", UID: "u", BlockOwnerDeletion: new(true)}},
		},
		Spec: corev1.PodSpec{
			ServiceAccountName: "missing", NodeSelector: map[string]string{"zone": "b"}, PriorityClassName: "missing",
			RuntimeClassName: new("missing"),
			Overhead:         memory("1Mi"),
			Tolerations:      []corev1.Toleration{{Key: "anything", Operator: corev1.TolerationOpExists}}, HostNetwork: true,
			Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}},
			}},
			Containers: []corev1.Container{{Name: "not a name", Image: "unsigned:1", Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi"), "example.com/gpu": resource.MustParse("1")},
			}}},
		},
	}}
	spec := &request.pod.Spec
	label := func(name string) func() { return func() { request.pod.Labels[name] = "seen" } }
	for _, link := range []struct {
		name, reason string
		refusal      string
		meet         func()
	}{
		{"NamespaceLifecycle", "the namespace doesn't exist", `namespaces "missing" not found`, func() { request.namespace = namespace }},
		{"ServiceAccount", "the service account doesn't exist", `error looking up service account strict/missing`,
			func() { spec.ServiceAccountName = "robot" }},
		{"NodeRestriction", "a node may create only mirror pods", `node "a" can only create mirror pods`,
			func() { request.user = clientOf(t, srv, "developer") }},
		{"PodNodeSelector", "the namespace has another zone",
			`pod node label selector conflicts with its namespace node label selector`,
			func() { spec.NodeSelector["zone"] = "a" }},
		{"Priority", "the priority class doesn't exist", `no PriorityClass with name missing was found`,
			func() { spec.PriorityClassName = "" }},
		{"PodTolerationRestriction", "the namespace allows no such toleration", `conflict with its namespace whitelist`,
			func() { spec.Tolerations = nil }},
		{"RuntimeClass", "the runtime class doesn't exist", `pod rejected: RuntimeClass "missing" not found`,
			func() { spec.RuntimeClassName = new("plain") }},
		{"MutatingAdmissionPolicy", "policies come after plugins",
			`policy 'policy-m' with binding 'policy-m' denied request`, label("policy-m")},
		{"MutatingAdmissionWebhook", "webhooks come after policies",
			`admission webhook "webhook-m.example.com" denied the request`, label("webhook-m")},
		{"the API", "validation comes after all mutations", `spec.containers[0].name: Invalid value: "not a name"`,
			func() { spec.Containers[0].Name = "main" }},
		{"LimitPodHardAntiAffinityTopology", "anti-affinity may only have the topology of nodes",
			`has TopologyKey zone but only key kubernetes.io/hostname is allowed`, func() { spec.Affinity = nil }},
		{"LimitRanger", "the namespace has a maximum", `maximum memory usage per Container is 128Mi, but limit is 1Gi`,
			func() { spec.Containers[0].Resources.Limits[corev1.ResourceMemory] = resource.MustParse("64Mi") }},
		{"ImagePolicyWebhook", "the backend refuses the image",
			`image policy webhook backend denied one or more images`, func() { spec.Containers[0].Image = "signed:1" }},
		{"PodSecurity", "the namespace enforces the baseline",
			`violates PodSecurity "baseline:latest": host namespaces`, func() { spec.HostNetwork = false }},
		{"OwnerReferencesPermissionEnforcement", "the user may not set the finalizers of nodes",
			`cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on`,
			func() { request.user = admin }},
		{"RuntimeClass", "the class has no overhead",
			`pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead`,
			func() { spec.Overhead = nil }},
		{"ValidatingAdmissionPolicy", "policies come after plugins",
			`ValidatingAdmissionPolicy 'policy-v' with binding 'policy-v' denied request`, label("policy-v")},
		{"ValidatingAdmissionWebhook", "webhooks come after policies",
			`admission webhook "webhook-v.example.com" denied the request`, label("webhook-v")},
		{"ResourceQuota", "a quota doesn't count pods that another step refuses", `exceeded quota: none`, func() {
			ok(t, admin.CoreV1().ResourceQuotas(namespace).Delete(t.Context(), "none", metav1.DeleteOptions{}))
		}},
	} {
		if _, err := request.create(t.Context()); err == nil || !strings.Contains(err.Error(), link.refusal) {
			t.Fatalf("%s: %s: want the refusal %q, got %v", link.name, link.reason, link.refusal, err)
		}
		link.meet()
	}

	// The plugins append their tolerations in the order in which they run.
	created := must(request.create(t.Context()))(t)
	var added []string
	for _, toleration := range created.Spec.Tolerations {
		added = append(added, toleration.Key)
	}
	want := slices.Concat(
		[]string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable}, // by DefaultTolerationSeconds
		[]string{"namespace", corev1.TaintNodeMemoryPressure},           // by PodTolerationRestriction
		[]string{"example.com/gpu"},                                     // by ExtendedResourceToleration
	)
	if diff := cmp.Diff(want, added); diff != "" {
		t.Errorf("tolerations (-want +got):\n%s", diff)
	}
}

// TestPluginsRefuseInOrder doesn't have all in-tree plugins that can refuse an object. This test has the others. All of
// these run between the mutating and the validating webhooks.
func TestPluginsRefuseBetweenTheWebhooks(t *testing.T) {
	t.Parallel()
	const signer = "example.com/signer"
	trust := string(must(newAuthority())(t).pem)
	request := signingRequest(t, "request", signer, "somebody")
	fixed := claim("fixed")
	fixed.Spec.StorageClassName, fixed.Spec.VolumeName = new("fixed"), "v"
	placed := pod("placed")
	placed.Spec.NodeName, placed.Spec.Resources = "n", &corev1.ResourceRequirements{Limits: memory("64Mi")}
	srv := miniapitest.Start(t,
		miniapitest.WithAPIs("scheduling.k8s.io/v1beta1"), miniapitest.WithFeatureGates(workloads), miniapitest.WithAdmissionPlugins("DenyServiceExternalIPs"),
		miniapitest.WithObjects(
			&storagev1.StorageClass{ObjectMeta: named("fixed"), Provisioner: "example.com/p"}, in("default", fixed),
			&corev1.Node{ObjectMeta: named("n")}, in("default", placed), request,
		))
	grant(t, srv, "other",
		rbacRule("certificates.k8s.io", "update", "certificatesigningrequests/approval", "certificatesigningrequests/status"),
		rbacRule("certificates.k8s.io", "create", "clustertrustbundles"))
	admin, other := srv.Client(), clientOf(t, srv, "other")
	bound := must(admin.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), "fixed", metav1.GetOptions{}))(t)
	bound.Status.Phase = corev1.ClaimBound
	must(admin.CoreV1().PersistentVolumeClaims("default").UpdateStatus(t.Context(), bound, metav1.UpdateOptions{}))(t)
	csr := func(change func(*certificatesv1.CertificateSigningRequest)) *certificatesv1.CertificateSigningRequest {
		o := must(admin.CertificatesV1().CertificateSigningRequests().Get(t.Context(), "request", metav1.GetOptions{}))(t)
		change(o)
		return o
	}
	for _, link := range []struct {
		name, reason string
		resource     string
		do           func(context.Context) error
		refusal      string
	}{
		{"PersistentVolumeClaimResize", "the class of the claim doesn't allow larger claims", "persistentvolumeclaims", func(ctx context.Context) error {
			_, err := admin.CoreV1().PersistentVolumeClaims("default").Patch(ctx, "fixed", types.MergePatchType, []byte(`{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`), metav1.PatchOptions{})
			return err
		}, "only dynamically provisioned pvc can be resized"},
		{"DenyServiceExternalIPs", "the user may not use this external address", "services", func(ctx context.Context) error {
			_, err := admin.CoreV1().Services("default").Create(ctx, &corev1.Service{ObjectMeta: named("s"), Spec: corev1.ServiceSpec{
				Ports: []corev1.ServicePort{{Port: 80}}, ExternalIPs: []string{"192.0.2.1"},
			}}, metav1.CreateOptions{})
			return err
		}, "Use of external IPs is denied by admission control"},
		{"CertificateSubjectRestriction", "no client certificate of this signer makes a member of system:masters", "certificatesigningrequests", func(ctx context.Context) error {
			_, err := admin.CertificatesV1().CertificateSigningRequests().Create(ctx, signingRequest(t, "masters", certificatesv1.KubeAPIServerClientSignerName, "somebody", "system:masters"), metav1.CreateOptions{})
			return err
		}, "with system:masters group is not allowed"},
		{"CertificateApproval", "the user may not approve for the signer", "certificatesigningrequests/approval", func(ctx context.Context) error {
			_, err := other.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, "request", csr(func(o *certificatesv1.CertificateSigningRequest) {
				o.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"}}
			}), metav1.UpdateOptions{})
			return err
		}, "user not permitted to approve requests with signerName"},
		{"CertificateSigning", "the user may not sign for the signer", "certificatesigningrequests/status", func(ctx context.Context) error {
			_, err := other.CertificatesV1().CertificateSigningRequests().UpdateStatus(ctx, csr(func(o *certificatesv1.CertificateSigningRequest) {
				o.Status.Certificate = []byte(trust)
			}), metav1.UpdateOptions{})
			return err
		}, "user not permitted to sign requests with signerName"},
		{"ClusterTrustBundleAttest", "the user may not attest for the signer", "clustertrustbundles", func(ctx context.Context) error {
			_, err := other.CertificatesV1().ClusterTrustBundles().Create(ctx, &certificatesv1.ClusterTrustBundle{
				ObjectMeta: named("example.com:signer:a"),
				Spec:       certificatesv1.ClusterTrustBundleSpec{SignerName: signer, TrustBundle: trust},
			}, metav1.CreateOptions{})
			return err
		}, "user not permitted to attest for signerName"},
		{"PodGroupWorkloadExists", "the workload doesn't exist", "podgroups", func(ctx context.Context) error {
			_, err := admin.SchedulingV1beta1().PodGroups("default").Create(ctx, &schedulingv1beta1.PodGroup{ObjectMeta: named("g"), Spec: schedulingv1beta1.PodGroupSpec{
				WorkloadRef:      &schedulingv1beta1.WorkloadReference{WorkloadName: "missing", TemplateName: "workers"},
				SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}},
			}}, metav1.CreateOptions{})
			return err
		}, `workload "missing"`},
		{"NodeDeclaredFeatureValidator", "the node can't resize pods as a whole", "pods/resize", func(ctx context.Context) error {
			whole := must(admin.CoreV1().Pods("default").Get(ctx, "placed", metav1.GetOptions{}))(t)
			whole.Spec.Resources.Limits = memory("128Mi")
			_, err := admin.CoreV1().Pods("default").UpdateResize(ctx, "placed", whole, metav1.UpdateOptions{})
			return err
		}, "pod update requires features InPlacePodLevelResourcesVerticalScaling"},
		{"PodResizeValidator", "the node hasn't as much memory", "pods/resize", func(ctx context.Context) error {
			main := must(admin.CoreV1().Pods("default").Get(ctx, "placed", metav1.GetOptions{}))(t)
			main.Spec.Containers[0].Resources.Requests = memory("32Mi")
			_, err := admin.CoreV1().Pods("default").UpdateResize(ctx, "placed", main, metav1.UpdateOptions{})
			return err
		}, "node didn't have enough allocatable resources: memory"},
	} {
		t.Run(link.name, func(t *testing.T) {
			recorder := install(t, srv, mutating("mutate", allow(), on("*", "*/*", link.resource)), validating("validate", allow(), on("*", "*/*", link.resource)))
			if err := link.do(t.Context()); !strings.Contains(fmt.Sprint(err), link.refusal) {
				t.Errorf("%s: want the refusal %q, got %v", link.reason, link.refusal, err)
			}
			if diff := cmp.Diff([]string{"mutate"}, called(recorder)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPluginsRefuseInOrder doesn't have all in-tree plugins that change objects. This test has the others. All of these
// run before the first webhook.
func TestPluginsChangeObjectsBeforeWebhooks(t *testing.T) {
	t.Parallel()
	isDefault := map[string]string{"storageclass.kubernetes.io/is-default-class": "true", networkingv1.AnnotationIsDefaultIngressClass: "true"}
	srv := miniapitest.Start(t, miniapitest.WithObjects(
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "usual", Annotations: isDefault}, Provisioner: "example.com/p"},
		&networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "usual", Annotations: isDefault}, Spec: networkingv1.IngressClassSpec{Controller: "example.com/c"}},
		&nodev1.RuntimeClass{ObjectMeta: named("heavy"), Handler: "heavy", Overhead: &nodev1.Overhead{PodFixed: memory("8Mi")}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{corev1.LabelTopologyZone: "z"}}},
		in("default", pod("waiting")),
	))
	core := srv.Client().CoreV1()
	for _, link := range []struct {
		name, reason string
		resource     string
		do           func(context.Context) error
		field        []string
		want         any
	}{
		{"DefaultStorageClass", "the claim names no class", "persistentvolumeclaims", func(ctx context.Context) error {
			_, err := core.PersistentVolumeClaims("default").Create(ctx, claim("a"), metav1.CreateOptions{})
			return err
		}, []string{"spec", "storageClassName"}, "usual"},
		{"StorageObjectInUseProtection", "a claim may be in use", "persistentvolumeclaims", func(ctx context.Context) error {
			_, err := core.PersistentVolumeClaims("default").Create(ctx, claim("b"), metav1.CreateOptions{})
			return err
		}, []string{"metadata", "finalizers"}, []any{"kubernetes.io/pvc-protection"}},
		{"DefaultIngressClass", "the ingress names no class", "ingresses", func(ctx context.Context) error {
			_, err := srv.Client().NetworkingV1().Ingresses("default").Create(ctx, ingress("i"), metav1.CreateOptions{})
			return err
		}, []string{"spec", "ingressClassName"}, "usual"},
		{"TaintNodesByCondition", "a new node isn't ready", "nodes", func(ctx context.Context) error {
			_, err := core.Nodes().Create(ctx, &corev1.Node{ObjectMeta: named("new")}, metav1.CreateOptions{})
			return err
		}, []string{"spec", "taints"}, []any{map[string]any{"key": corev1.TaintNodeNotReady, "effect": "NoSchedule"}}},
		{"PodTopologyLabels", "the node has a zone", "pods/binding", func(ctx context.Context) error {
			return core.Pods("default").Bind(ctx, &corev1.Binding{ObjectMeta: named("waiting"), Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}, metav1.CreateOptions{})
		}, []string{"metadata", "labels"}, map[string]any{corev1.LabelTopologyZone: "z"}},
		{"RuntimeClass", "the class has an overhead", "pods", func(ctx context.Context) error {
			heavy := pod("heavy")
			heavy.Spec.RuntimeClassName = new("heavy")
			_, err := core.Pods("default").Create(ctx, heavy, metav1.CreateOptions{})
			return err
		}, []string{"spec", "overhead", "memory"}, "8Mi"},
	} {
		t.Run(link.name, func(t *testing.T) {
			recorder := install(t, srv, mutating("mutate", allow(), on("CREATE", "*/*", link.resource)))
			ok(t, link.do(t.Context()))
			seen := &unstructured.Unstructured{}
			ok(t, seen.UnmarshalJSON(only(t, recorder).Object.Raw))
			if diff := cmp.Diff(link.want, fieldOf(seen, link.field...)); diff != "" {
				t.Errorf("%s: what the webhook sees (-want +got):\n%s", link.reason, diff)
			}
		})
	}
}
