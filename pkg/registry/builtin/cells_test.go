package builtin_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"
)

// aMonthAgo is when the objects were created.
func aMonthAgo() metav1.Time { return metav1.NewTime(time.Now().Add(-30 * 24 * time.Hour)) }

func quantity(s string) *resource.Quantity { return ptr.To(resource.MustParse(s)) }

func TestCells(t *testing.T) {
	t.Parallel()
	meta := metav1.ObjectMeta{Name: "x", CreationTimestamp: aMonthAgo()}
	in := func(annotations map[string]string) metav1.ObjectMeta {
		m := meta
		m.Annotations = annotations
		return m
	}
	containers := []corev1.Container{{Name: "a", Image: "one"}, {Name: "b", Image: "two"}}
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: containers}}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"k": "v"}}

	for _, test := range []struct {
		name, reason string
		object       runtime.Object
		want         []any
	}{
		{
			name: "node", reason: "roles come from two labels, once each; the last Ready condition counts",
			object: &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "n", CreationTimestamp: aMonthAgo(), Labels: map[string]string{
					"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": "x", "kubernetes.io/role": "worker",
				}},
				Spec: corev1.NodeSpec{Unschedulable: true},
				Status: corev1.NodeStatus{
					Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}},
					Addresses:  []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "h"}, {Type: corev1.NodeInternalIP, Address: "192.0.2.1"}},
					NodeInfo:   corev1.NodeSystemInfo{KubeletVersion: "v1", OSImage: "os"},
				},
			},
			want: []any{
				"n", "NotReady,SchedulingDisabled", "control-plane,worker", "30d", "v1",
				"192.0.2.1", "<none>", "os", "<unknown>", "<unknown>",
			},
		},
		{
			name: "headless service", reason: "None is an address like any other; no port is no port",
			object: &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeClusterIP, ClusterIP: "None", ClusterIPs: []string{"None"},
			}},
			want: []any{"x", "ClusterIP", "None", "<none>", "<none>", "30d", "<none>"},
		},
		{
			name: "load balancer", reason: "its own addresses are sorted and come before external ones",
			object: &corev1.Service{
				ObjectMeta: meta,
				Spec: corev1.ServiceSpec{
					Type: corev1.ServiceTypeLoadBalancer, ClusterIPs: []string{"192.0.2.9"}, ExternalIPs: []string{"198.51.100.1"},
					Selector: map[string]string{"k": "v"},
					Ports:    []corev1.ServicePort{{Port: 80, NodePort: 30080, Protocol: "TCP"}, {Port: 53, Protocol: "UDP"}},
				},
				Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{
					{Hostname: "lb.example.com"}, {IP: "203.0.113.1", Hostname: "ignored"}, {},
				}}},
			},
			want: []any{
				"x", "LoadBalancer", "192.0.2.9", "203.0.113.1,lb.example.com,198.51.100.1", "80:30080/TCP,53/UDP", "30d", "k=v",
			},
		},
		{
			name: "pending load balancer", reason: "it has no address yet",
			object: &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}},
			want:   []any{"x", "LoadBalancer", "<none>", "<pending>", "<none>", "30d", "<none>"},
		},
		{
			name: "external name", reason: "the name stands where the address would",
			object: &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeExternalName, ExternalName: "example.com",
			}},
			want: []any{"x", "ExternalName", "<none>", "example.com", "<none>", "30d", "<none>"},
		},
		{
			name: "endpoints", reason: "each address counts once for each port, and IPv6 is bracketed",
			object: &corev1.Endpoints{ObjectMeta: meta, Subsets: []corev1.EndpointSubset{
				{Addresses: []corev1.EndpointAddress{{IP: "fd00::1"}, {IP: "192.0.2.2"}}, Ports: []corev1.EndpointPort{{Port: 80}, {Port: 443}}},
				{Addresses: []corev1.EndpointAddress{{IP: "192.0.2.3"}}},
			}},
			want: []any{"x", "[fd00::1]:80,192.0.2.2:80,[fd00::1]:443 + 2 more...", "30d"},
		},
		{
			name: "endpoint slice", reason: "a port that isn't fixed is shown by its name; addresses of all endpoints count",
			object: &discoveryv1.EndpointSlice{
				ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4,
				Ports:     []discoveryv1.EndpointPort{{Port: ptr.To[int32](80)}, {Name: ptr.To("dns")}, {}},
				Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"a", "b"}}, {Addresses: []string{"c", "d"}}},
			},
			want: []any{"x", "IPv4", "80,dns,*", "a,b,c + 1 more...", "30d"},
		},
		{
			name: "bound claim", reason: "capacity and access modes are those of the volume, in their fixed order",
			object: &corev1.PersistentVolumeClaim{
				ObjectMeta: in(map[string]string{corev1.BetaStorageClassAnnotation: "old"}),
				Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv", StorageClassName: ptr.To("new")},
				Status: corev1.PersistentVolumeClaimStatus{
					Phase:       corev1.ClaimBound,
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteMany},
					Capacity:    corev1.ResourceList{corev1.ResourceStorage: *quantity("1Gi")},
				},
			},
			want: []any{"x", "Bound", "pv", "1Gi", "RWO,RWX", "old", "<unset>", "30d", "<unset>"},
		},
		{
			name: "pending claim", reason: "what it asks for isn't what it has",
			object: &corev1.PersistentVolumeClaim{
				ObjectMeta: meta,
				Spec:       corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}},
				Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
			},
			want: []any{"x", "Pending", "", "", "", "", "<unset>", "30d", "<unset>"},
		},
		{
			name: "volume", reason: "a deleted volume terminates, whatever its phase",
			object: &corev1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{Name: "x", CreationTimestamp: aMonthAgo(), DeletionTimestamp: ptr.To(aMonthAgo())},
				Spec: corev1.PersistentVolumeSpec{
					Capacity: corev1.ResourceList{corev1.ResourceStorage: *quantity("5Gi")},
					ClaimRef: &corev1.ObjectReference{Namespace: "ns", Name: "claim"}, StorageClassName: "fast",
					PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain, VolumeMode: ptr.To(corev1.PersistentVolumeBlock),
				},
				Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
			},
			want: []any{"x", "5Gi", "", "Retain", "Terminating", "ns/claim", "fast", "<unset>", "", "30d", "Block"},
		},
		{
			name: "quota", reason: "limits have their own column, both sorted by resource",
			object: &corev1.ResourceQuota{ObjectMeta: meta, Status: corev1.ResourceQuotaStatus{
				Hard: corev1.ResourceList{
					"pods": *quantity("10"), "limits.cpu": *quantity("4"), "limits": *quantity("1"), "limits.memory": *quantity("2Gi"), "cpu": *quantity("1"),
				},
				Used: corev1.ResourceList{"pods": *quantity("3"), "limits.cpu": *quantity("1500m")},
			}},
			want: []any{"x", "cpu: 0/1, limits: 0/1, pods: 3/10", "limits.cpu: 1500m/4, limits.memory: 0/2Gi", "30d"},
		},
		{
			name: "core event", reason: "it counts itself",
			object: &corev1.Event{
				ObjectMeta: meta, Type: "Warning", Reason: "BackOff", Message: " text\n", Count: 4,
				FirstTimestamp: aMonthAgo(), LastTimestamp: metav1.NewTime(time.Now().Add(-48 * 24 * time.Hour)),
				InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "p", FieldPath: "spec"},
				Source:         corev1.EventSource{Component: "kubelet", Host: "n"},
			},
			want: []any{"48d", "Warning", "BackOff", "pod/p", "spec", "kubelet, n", "text", "30d", int64(4), "x"},
		},
		{
			name: "event of events.k8s.io", reason: "one without a series happened once, when it says; its controller is its source",
			object: &corev1.Event{
				ObjectMeta: meta, EventTime: metav1.MicroTime(aMonthAgo()), ReportingController: "c",
				InvolvedObject: corev1.ObjectReference{Kind: "Node"},
			},
			want: []any{"30d", "", "", "node", "", "c", "", "30d", int64(1), "x"},
		},
		{
			name: "deployment", reason: "an empty selector is shown as nothing, unlike other workloads'",
			object: &appsv1.Deployment{
				ObjectMeta: meta,
				Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{}, Template: template},
				Status:     appsv1.DeploymentStatus{ReadyReplicas: 2, UpdatedReplicas: 1, AvailableReplicas: 2},
			},
			want: []any{"x", "2/3", int64(1), int64(2), "30d", "a,b", "one,two", ""},
		},
		{
			name: "replica set", reason: "an empty selector is shown as <none>",
			object: &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{
				Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{}, Template: template,
			}},
			want: []any{"x", int64(3), int64(0), int64(0), "30d", "a,b", "one,two", "<none>"},
		},
		{
			name: "bundle of nobody", reason: "a signer is optional",
			object: &certificatesv1.ClusterTrustBundle{ObjectMeta: meta}, want: []any{"x", "<none>"},
		},
		{
			name: "denied request of a pod", reason: "the only condition is the answer",
			object: &certificatesv1beta1.PodCertificateRequest{
				ObjectMeta: meta,
				Spec:       certificatesv1beta1.PodCertificateRequestSpec{PodName: "p", ServiceAccountName: "a", NodeName: "n", SignerName: "e.com/s"},
				Status:     certificatesv1beta1.PodCertificateRequestStatus{Conditions: []metav1.Condition{{Type: "Denied"}}},
			},
			want: []any{"x", "p", "a", "n", "e.com/s", "Denied", "<none>"},
		},
		{
			name: "revision", reason: "its controller is shown with its group",
			object: &appsv1.ControllerRevision{
				ObjectMeta: metav1.ObjectMeta{Name: "x", CreationTimestamp: aMonthAgo(), OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", Controller: ptr.To(true)},
				}},
				Revision: 7,
			},
			want: []any{"x", "daemonset.apps/d", int64(7), "30d"},
		},
		{
			name: "work queue", reason: "without completions, one success is wanted of many pods",
			object: &batchv1.Job{
				ObjectMeta: meta,
				Spec:       batchv1.JobSpec{Parallelism: ptr.To[int32](4), Selector: selector, Template: template},
				Status:     batchv1.JobStatus{StartTime: ptr.To(aMonthAgo())},
			},
			want: []any{"x", "Running", "0/1 of 4", "30d", "30d", "a,b", "one,two", "k=v"},
		},
		{
			name: "completed job", reason: "the duration ends with the job; a condition that is false says nothing",
			object: &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{Name: "x", CreationTimestamp: aMonthAgo()},
				Spec:       batchv1.JobSpec{Completions: ptr.To[int32](2)},
				Status: batchv1.JobStatus{
					Succeeded: 2, StartTime: ptr.To(metav1.Unix(1000, 0)), CompletionTime: ptr.To(metav1.Unix(1042, 0)),
					Conditions: []batchv1.JobCondition{
						{Type: batchv1.JobFailed, Status: corev1.ConditionFalse}, {Type: batchv1.JobComplete, Status: corev1.ConditionTrue},
					},
				},
			},
			want: []any{"x", "Complete", "2/2", "42s", "30d", "", "", "<none>"},
		},
		{
			name: "suspended cron job", reason: "what isn't set is shown as such",
			object: &batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{
				Schedule: "* * * * *", Suspend: ptr.To(true), JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}},
			}},
			want: []any{"x", "* * * * *", "<none>", "True", int64(0), "<none>", "30d", "a,b", "one,two", "<none>"},
		},
		{
			name: "API of the server", reason: "it has no service to name",
			object: &apiregistrationv1.APIService{ObjectMeta: meta, Status: apiregistrationv1.APIServiceStatus{
				Conditions: []apiregistrationv1.APIServiceCondition{{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue, Reason: "Local"}},
			}},
			want: []any{"x", "Local", "True", "30d"},
		},
		{
			name: "API of another server", reason: "why it isn't available is what one looks for",
			object: &apiregistrationv1.APIService{
				ObjectMeta: meta,
				Spec:       apiregistrationv1.APIServiceSpec{Service: &apiregistrationv1.ServiceReference{Namespace: "n", Name: "s"}},
				Status: apiregistrationv1.APIServiceStatus{Conditions: []apiregistrationv1.APIServiceCondition{
					{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse, Reason: "ServiceNotFound"},
				}},
			},
			want: []any{"x", "n/s", "False (ServiceNotFound)", "30d"},
		},
		{
			name: "API nobody has looked at", reason: "the server has no status of the API yet",
			object: &apiregistrationv1.APIService{
				ObjectMeta: meta,
				Spec:       apiregistrationv1.APIServiceSpec{Service: &apiregistrationv1.ServiceReference{Namespace: "n", Name: "s"}},
			},
			want: []any{"x", "n/s", "Unknown", "30d"},
		},
		{
			name: "autoscaler", reason: "metrics are shown as value/target, two of them",
			object: &autoscalingv2.HorizontalPodAutoscaler{
				ObjectMeta: meta,
				Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
					ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "d"}, MaxReplicas: 9,
					Metrics: []autoscalingv2.MetricSpec{
						{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
							Name: "cpu", Target: autoscalingv2.MetricTarget{AverageUtilization: ptr.To[int32](80)},
						}},
						{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
							Target: autoscalingv2.MetricTarget{AverageValue: quantity("5")},
						}},
						{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{}},
					},
				},
				Status: autoscalingv2.HorizontalPodAutoscalerStatus{CurrentReplicas: 2, CurrentMetrics: []autoscalingv2.MetricStatus{
					{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricStatus{
						Current: autoscalingv2.MetricValueStatus{AverageUtilization: ptr.To[int32](30)},
					}},
				}},
			},
			want: []any{"x", "Deployment/d", "cpu: 30%/80%, <unknown>/5 (avg) + 1 more...", "<unset>", int64(9), int64(2), "30d"},
		},
		{
			name: "ingress", reason: "the number of further hosts counts rules, also those without a host",
			object: &networkingv1.Ingress{ObjectMeta: meta, Spec: networkingv1.IngressSpec{
				TLS: []networkingv1.IngressTLS{{}}, Rules: []networkingv1.IngressRule{{Host: "a"}, {}, {Host: "b"}, {Host: "c"}, {Host: "d"}},
			}},
			want: []any{"x", "<none>", "a,b,c + 2 more...", "", "80, 443", "30d"},
		},
		{
			name: "ingress class", reason: "parameters are shown with their group",
			object: &networkingv1.IngressClass{ObjectMeta: meta, Spec: networkingv1.IngressClassSpec{
				Controller: "c", Parameters: &networkingv1.IngressClassParametersReference{APIGroup: ptr.To("g.io"), Kind: "K", Name: "p"},
			}},
			want: []any{"x", "c", "K.g.io/p", "30d"},
		},
		{
			name: "address", reason: "a resource of the core group has no dot; there is a cell too many",
			object: &networkingv1.IPAddress{ObjectMeta: meta, Spec: networkingv1.IPAddressSpec{
				ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: "ns", Name: "s"},
			}},
			want: []any{"x", "services/ns/s", "30d"},
		},
		{
			name: "default storage class", reason: "the mark is in the name; the rest are the API's defaults",
			object: &storagev1.StorageClass{ObjectMeta: in(map[string]string{"storageclass.beta.kubernetes.io/is-default-class": "true"}), Provisioner: "p"},
			want:   []any{"x (default)", "p", "Delete", "Immediate", false, "30d"},
		},
		{
			name: "CSI driver", reason: "an attachment is required unless it says otherwise",
			object: &storagev1.CSIDriver{ObjectMeta: meta, Spec: storagev1.CSIDriverSpec{
				TokenRequests: []storagev1.TokenRequest{{Audience: "a"}, {Audience: "b"}},
			}},
			want: []any{"x", true, false, false, "a,b", false, "<none>", "30d"},
		},
		{
			name: "policy binding by selector", reason: "a selector stands for the name",
			object: &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
				ObjectMeta: meta,
				Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
					PolicyName: "p", ParamRef: &admissionregistrationv1.ParamRef{Selector: selector},
				},
			},
			want: []any{"x", "p", "&LabelSelector{MatchLabels:map[string]string{k: v,},MatchExpressions:[]LabelSelectorRequirement{},}", "30d"},
		},
		{
			name: "role binding", reason: "subjects are told apart by kind, accounts have a namespace",
			object: &rbacv1.RoleBinding{
				ObjectMeta: meta, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "r"},
				Subjects: []rbacv1.Subject{
					{Kind: "User", Name: "u"}, {Kind: "ServiceAccount", Namespace: "ns", Name: "s"}, {Kind: "User", Name: "v"},
				},
			},
			want: []any{"x", "Role/r", "30d", "u, v", "", "ns/s"},
		},
		{
			name: "certificate request", reason: "denial wins; what came of it is added",
			object: &certificatesv1.CertificateSigningRequest{
				ObjectMeta: meta,
				Spec:       certificatesv1.CertificateSigningRequestSpec{Username: "u", ExpirationSeconds: ptr.To[int32](3600)},
				Status: certificatesv1.CertificateSigningRequestStatus{
					Conditions: []certificatesv1.CertificateSigningRequestCondition{
						{Type: certificatesv1.CertificateApproved}, {Type: certificatesv1.CertificateDenied}, {Type: certificatesv1.CertificateFailed},
					},
					Certificate: []byte("c"),
				},
			},
			want: []any{"x", "30d", "<none>", "u", "60m", "Denied,Failed,Issued"},
		},
		{
			name: "flow schema", reason: "whether its level is missing isn't known yet",
			object: &flowcontrolv1.FlowSchema{ObjectMeta: meta, Spec: flowcontrolv1.FlowSchemaSpec{MatchingPrecedence: 5}},
			want:   []any{"x", "", int64(5), "<none>", "30d", "?"},
		},
		{
			name: "claim in use", reason: "states add up",
			object: &resourcev1.ResourceClaim{
				ObjectMeta: metav1.ObjectMeta{Name: "x", CreationTimestamp: aMonthAgo(), DeletionTimestamp: ptr.To(aMonthAgo())},
				Status: resourcev1.ResourceClaimStatus{
					Allocation: &resourcev1.AllocationResult{}, ReservedFor: []resourcev1.ResourceClaimConsumerReference{{}},
				},
			},
			want: []any{"x", "deleted,allocated,reserved", "30d"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, rowOf(t, test.object).Printer.Cells(test.object)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
