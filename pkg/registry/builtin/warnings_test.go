package builtin_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// on puts off asking for the warnings of obj, which replaces old if there is one.
func on[T any, O interface {
	*T
	runtime.Object
}](t *testing.T, obj, old O) func() []string {
	return func() []string {
		t.Helper()
		if old == nil {
			return strategyOf(t, obj).WarningsOnCreate(context.Background(), obj)
		}
		return strategyOf(t, obj).WarningsOnUpdate(context.Background(), obj, old)
	}
}

// onStatus is the same for an update of the status.
func onStatus(t *testing.T, obj, old runtime.Object) func() []string {
	return func() []string {
		t.Helper()
		return registry.StatusStrategy{Strategy: strategyOf(t, obj)}.WarningsOnUpdate(context.Background(), obj, old)
	}
}

// enforceMountableSecrets is an annotation of service accounts.
const enforceMountableSecrets = "kubernetes.io/enforce-mountable-secrets"

func TestWarnings(t *testing.T) {
	t.Parallel()
	named := func(name string, generation int64) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Generation: generation}
	}
	annotated := func(keys ...string) metav1.ObjectMeta {
		m := metav1.ObjectMeta{Annotations: map[string]string{}}
		for _, key := range keys {
			m.Annotations[key] = "x"
		}
		return m
	}
	old := corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeSelector: map[string]string{"beta.kubernetes.io/os": "linux"}}}
	const oldLabel = `: deprecated since v1.14; use "kubernetes.io/os" instead`
	const dotted = "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; " +
		"a DNS label is recommended: [must not contain dots]"
	fraction := corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
		Resources: corev1.VolumeResourceRequirements{Limits: corev1.ResourceList{"storage": resource.MustParse("1m")}},
	}}
	topology := &metav1.LabelSelector{MatchLabels: map[string]string{"beta.kubernetes.io/os": "linux"}}

	for _, test := range []struct {
		name, reason string
		warnings     func() []string
		want         []string
	}{
		{
			name: "new deployment", reason: "pods are named after it, and made of its template",
			warnings: on(t, &appsv1.Deployment{ObjectMeta: named("a.b", 1), Spec: appsv1.DeploymentSpec{Template: old}}, nil),
			want:     []string{dotted, "spec.template.spec.nodeSelector[beta.kubernetes.io/os]" + oldLabel},
		},
		{
			name: "deployment with new annotations", reason: "what was said of the template is not said again",
			warnings: on(t, &appsv1.Deployment{ObjectMeta: named("a.b", 1), Spec: appsv1.DeploymentSpec{Template: old}},
				&appsv1.Deployment{ObjectMeta: named("a.b", 1)}),
		},
		{
			name: "deployment with a new spec", reason: "the name is what it was",
			warnings: on(t, &appsv1.Deployment{ObjectMeta: named("a.b", 2), Spec: appsv1.DeploymentSpec{Template: old}},
				&appsv1.Deployment{ObjectMeta: named("a.b", 1)}),
			want: []string{"spec.template.spec.nodeSelector[beta.kubernetes.io/os]" + oldLabel},
		},
		{
			name: "AppArmor in a template", reason: "unlike a pod's, a template's annotation is never copied to the field",
			warnings: on(t, &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{
				ObjectMeta: annotated("container.apparmor.security.beta.kubernetes.io/c"),
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}},
			}}}, nil),
			want: []string{`spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; use the "appArmorProfile" field instead`},
		},
		{
			name: "pod template", reason: "it has no spec around it",
			warnings: on(t, &corev1.PodTemplate{Template: old}, nil),
			want:     []string{"template.spec.nodeSelector[beta.kubernetes.io/os]" + oldLabel},
		},
		{
			name: "controller without a template", reason: "it is a pointer, for once",
			warnings: on(t, &corev1.ReplicationController{ObjectMeta: named("a.b", 1)}, nil),
			want:     []string{dotted},
		},
		{
			name: "new stateful set", reason: "its names are labels by validation",
			warnings: on(t, &appsv1.StatefulSet{ObjectMeta: named("a.b", 1), Spec: appsv1.StatefulSetSpec{
				VolumeClaimTemplates: []corev1.PersistentVolumeClaim{fraction}, RevisionHistoryLimit: ptr.To[int32](-1),
			}}, nil),
			want: []string{
				`spec.volumeClaimTemplates[0].resources.limits[storage]: fractional byte value "1m" is invalid, must be an integer`,
				"spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
			},
		},
		{
			name: "updated stateful set", reason: "the path of the claims differs",
			warnings: on(t, &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{
				VolumeClaimTemplates: []corev1.PersistentVolumeClaim{fraction},
			}}, &appsv1.StatefulSet{}),
			want: []string{`spec.volumeClaimTemplates[0].Spec.resources.limits[storage]: fractional byte value "1m" is invalid, must be an integer`},
		},
		{
			name: "huge indexed job", reason: "completions and parallelism must both be large",
			warnings: on(t, &batchv1.Job{ObjectMeta: named("j", 1), Spec: batchv1.JobSpec{
				CompletionMode: ptr.To(batchv1.IndexedCompletion), Completions: ptr.To[int32](100_001), Parallelism: ptr.To[int32](10_001),
			}}, nil),
			want: []string{"spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"},
		},
		{
			name: "cron job with a time zone in its schedule", reason: "an old one may keep it",
			warnings: on(t, &batchv1.CronJob{Spec: batchv1.CronJobSpec{
				Schedule: "TZ=UTC * * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: old}},
			}}, &batchv1.CronJob{}),
			want: []string{"cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"},
		},
		{
			name: "headless service", reason: "what needs an address is ignored; no affinity is none",
			warnings: on(t, &corev1.Service{Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeClusterIP, ClusterIP: "None", ClusterIPs: []string{"None"},
				SessionAffinity: corev1.ServiceAffinityClientIP, LoadBalancerIP: "192.0.2.1",
			}}, nil),
			want: []string{
				"spec.loadBalancerIP is ignored for headless services",
				"spec.SessionAffinity is ignored for headless services",
			},
		},
		{
			name: "plain headless service", reason: "the default affinity was not asked for",
			warnings: on(t, &corev1.Service{Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeClusterIP, ClusterIP: "None", SessionAffinity: corev1.ServiceAffinityNone,
			}}, nil),
		},
		{
			name: "addresses of a service", reason: "there is one way to write an address, and it is looked at everywhere",
			warnings: on(t, &corev1.Service{
				ObjectMeta: annotated("service.kubernetes.io/topology-aware-hints"),
				Spec: corev1.ServiceSpec{
					Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "2001:DB8::1", ClusterIPs: []string{"2001:DB8::1"},
					ExternalIPs: []string{"192.0.2.1"}, LoadBalancerSourceRanges: []string{"192.0.2.1/24"}, ExternalName: "x",
					TrafficDistribution: ptr.To(corev1.ServiceTrafficDistributionPreferClose),
				},
			}, nil),
			want: []string{
				"annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead",
				`spec.clusterIPs[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")`,
				"spec.externalIPs is deprecated",
				`spec.loadBalancerSourceRanges[0]: CIDR value "192.0.2.1/24" is ambiguous in this context (should be "192.0.2.0/24" or "192.0.2.1/32"?)`,
				`spec.externalName is ignored when spec.type is not "ExternalName"`,
				`spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"`,
			},
		},
		{
			name: "status of a service", reason: "the path is that of the entry",
			warnings: onStatus(t, &corev1.Service{Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{
				Ingress: []corev1.LoadBalancerIngress{{Hostname: "h"}, {IP: "::A"}},
			}}}, &corev1.Service{}),
			want: []string{`status.loadBalancer.ingress[1]: IPv6 address "::A" should be in RFC 5952 canonical format ("::a")`},
		},
		{
			name: "endpoints", reason: "addresses are looked at unless the controller wrote them",
			warnings: on(t, &corev1.Endpoints{Subsets: []corev1.EndpointSubset{{NotReadyAddresses: []corev1.EndpointAddress{{IP: "::A"}}}}}, nil),
			want:     []string{`subsets[0].notReadyAddresses[0].ip: IPv6 address "::A" should be in RFC 5952 canonical format ("::a")`},
		},
		{
			name: "endpoint slice of names", reason: "the address type can't change: an update doesn't say it again",
			warnings: on(t, &discoveryv1.EndpointSlice{
				AddressType: discoveryv1.AddressTypeFQDN, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"example.com"}}},
			}, nil),
			want: []string{"spec.addressType: FQDN endpoints are deprecated"},
		},
		{
			name: "endpoint slice of a controller", reason: "its addresses are known to be well-formed",
			warnings: on(t, &discoveryv1.EndpointSlice{
				ObjectMeta:  metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"}},
				AddressType: discoveryv1.AddressTypeIPv6, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"::A"}}},
			}, nil),
		},
		{
			name: "node", reason: "a range of pods' addresses begins with its first address",
			warnings: on(t, &corev1.Node{Spec: corev1.NodeSpec{PodCIDRs: []string{"10.0.0.8/24"}, DoNotUseExternalID: "x"}}, nil),
			want: []string{
				"spec.externalID: this field is deprecated, and is unused by Kubernetes",
				`spec.podCIDRs[0]: CIDR value "10.0.0.8/24" is ambiguous in this context (should be "10.0.0.0/24" or "10.0.0.8/32"?)`,
			},
		},
		{
			name: "TLS secret", reason: "it may be stored, and can't be used",
			warnings: on(t, &corev1.Secret{Type: corev1.SecretTypeTLS}, nil),
			want:     []string{"tls: failed to find any PEM data in certificate input"},
		},
		{
			name: "service account", reason: "the annotation is new",
			warnings: on(t, &corev1.ServiceAccount{ObjectMeta: annotated(enforceMountableSecrets)}, &corev1.ServiceAccount{}),
			want:     []string{"metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"},
		},
		{
			name: "same service account", reason: "the annotation was there",
			warnings: on(t, &corev1.ServiceAccount{ObjectMeta: annotated(enforceMountableSecrets)},
				&corev1.ServiceAccount{ObjectMeta: annotated(enforceMountableSecrets)}),
		},
		{
			name: "volume", reason: "annotations, policy and plugin are each old",
			warnings: on(t, &corev1.PersistentVolume{
				ObjectMeta: annotated(corev1.BetaStorageClassAnnotation, corev1.MountOptionAnnotation),
				Spec: corev1.PersistentVolumeSpec{
					PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRecycle,
					PersistentVolumeSource:        corev1.PersistentVolumeSource{RBD: &corev1.RBDPersistentVolumeSource{}},
				},
			}, nil),
			want: []string{
				`metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead`,
				`metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "mountOptions" attribute instead`,
				"spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
				"spec.rbd: deprecated in v1.28, non-functional in v1.31+",
			},
		},
		{
			name: "claim", reason: "storage is counted in bytes",
			warnings: on(t, &fraction, nil),
			want:     []string{`spec.resources.limits[storage]: fractional byte value "1m" is invalid, must be an integer`},
		},
		{
			name: "ingress class as an annotation", reason: "the field was left out",
			warnings: on(t, &networkingv1.Ingress{ObjectMeta: annotated("kubernetes.io/ingress.class")}, nil),
			want:     []string{`annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`},
		},
		{
			name: "ingress class as both", reason: "the field is there",
			warnings: on(t, &networkingv1.Ingress{
				ObjectMeta: annotated("kubernetes.io/ingress.class"), Spec: networkingv1.IngressSpec{IngressClassName: ptr.To("c")},
			}, nil),
		},
		{
			name: "network policy", reason: "exceptions are ranges, too",
			warnings: on(t, &networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{
				{To: []networkingv1.NetworkPolicyPeer{{}, {IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8", Except: []string{"10.1.0.1/16"}}}}},
			}}}, nil),
			want: []string{`spec.egress[0].to[1].ipBlock.except[0]: CIDR value "10.1.0.1/16" is ambiguous in this context (should be "10.1.0.0/16" or "10.1.0.1/32"?)`},
		},
		{
			name: "storage class", reason: "its topologies are labels of nodes; the label isn't repeated",
			warnings: on(t, &storagev1.StorageClass{AllowedTopologies: []corev1.TopologySelectorTerm{
				{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "beta.kubernetes.io/os"}}},
			}}, nil),
			want: []string{"allowedTopologies[0].matchLabelExpressions[0].key" + oldLabel},
		},
		{
			name: "storage capacity", reason: "its topology is a selector",
			warnings: on(t, &storagev1.CSIStorageCapacity{NodeTopology: topology}, nil),
			want:     []string{"nodeTopology.matchLabels.beta.kubernetes.io/os" + oldLabel},
		},
		{
			name: "driver that asks for tokens", reason: "tokens belong into the secrets, which it doesn't say",
			warnings: on(t, &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{}}}}, nil),
			want:     []string{"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes"},
		},
		{
			name: "runtime class", reason: "the path ends before the label",
			warnings: on(t, &nodev1.RuntimeClass{Scheduling: &nodev1.Scheduling{NodeSelector: topology.MatchLabels}}, nil),
			want:     []string{"scheduling.nodeSelector" + oldLabel},
		},
		{
			name: "resource slice", reason: "names of drivers are compared as they are",
			warnings: on(t, &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Driver: "GPU.example.com"}}, nil),
			want:     []string{`spec.driver: driver names should be lowercase; "GPU.example.com" contains uppercase characters`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.warnings()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
