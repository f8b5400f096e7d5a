package builtin_test

import (
	"slices"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func claimOf(size string, change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	o := &corev1.PersistentVolumeClaim{ObjectMeta: registrytest.Stored("claim"), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		StorageClassName: ptr.To("fast"),
		Resources:        corev1.VolumeResourceRequirements{Requests: registrytest.Quantities("storage", size)},
	}}
	change(o)
	return o
}

// claimWithDevices is a claim to which device a is allocated, and of which devices report.
func claimWithDevices(devices ...resourcev1.AllocatedDeviceStatus) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{ObjectMeta: registrytest.Stored("claim"), Status: resourcev1.ResourceClaimStatus{Devices: devices,
		Allocation: &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
			Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: "d.e", Pool: "p", Device: "a"}},
		}},
	}}
}

// notQualified is the message about a key or a type of conditions with too many slashes.
const notQualified = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
	"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') " +
	"with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"

// TestKinds has one or two cases for each kind, for the rules that users meet most often.
func TestKinds(t *testing.T) {
	t.Parallel()
	bound := func(o *corev1.PersistentVolumeClaim) {
		o.Status.Phase = corev1.ClaimBound
		o.Status.Capacity = registrytest.Quantities("storage", "2Gi")
	}
	for _, tc := range []struct {
		name, reason string
		errs         field.ErrorList
		want         []string
	}{
		{
			name: "node that avoids pods", reason: "they are those of a controller",
			errs: created(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{
				corev1.PreferAvoidPodsAnnotationKey: `{"preferAvoidPods":[{},{"podSignature":{"podController":{"kind":"Pod","controller":false}}}]}`}}}),
			want: []string{
				"metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods[0].PodSignature: Required value",
				"metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods[1].PodSignature.PodController.Controller: Invalid value: false: must point to a controller",
			},
		},
		{
			name: "node that avoids nothing legible", reason: "the annotation is JSON",
			errs: statusUpdated(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "1", Annotations: map[string]string{
				corev1.PreferAvoidPodsAnnotationKey: "x"}}}, &corev1.Node{ObjectMeta: registrytest.ClusterStored("n")}),
			want: []string{`metadata.annotations.AvoidPods: Invalid value: "scheduler.alpha.kubernetes.io/preferAvoidPods": invalid character 'x' looking for beginning of value`},
		},
		{
			name: "node with preemption", reason: "the gate for the field is off",
			errs: created(t, &corev1.Node{ObjectMeta: registrytest.ClusterStored("n"), Spec: corev1.NodeSpec{PodPreemptionPolicy: &corev1.NodePodPreemptionPolicy{}}}),
			want: []string{"spec.podPreemptionPolicy: Forbidden"},
		},
		{
			name: "stored node with preemption", reason: "the object was stored while the gate was on, and its labels can still change",
			errs: updated(t, &corev1.Node{ObjectMeta: registrytest.ClusterStored("n"), Spec: corev1.NodeSpec{PodPreemptionPolicy: &corev1.NodePodPreemptionPolicy{}}},
				&corev1.Node{ObjectMeta: registrytest.ClusterStored("n"), Spec: corev1.NodeSpec{PodPreemptionPolicy: &corev1.NodePodPreemptionPolicy{}}}),
		},
		{
			name: "config map keys", reason: "keys are file names, and in one of the two maps",
			errs: created(t, &corev1.ConfigMap{ObjectMeta: registrytest.Stored("c"),
				Data: map[string]string{"a": "", "..": ""}, BinaryData: map[string][]byte{"a": nil}}),
			want: []string{
				`data[..]: Invalid value: "..": must not be '..'`,
				`data[a]: Invalid value: "a": duplicate of key present in binaryData`,
			},
		},
		{
			name: "API service", reason: "its name says which version of which group it is, and a service is reached in one way",
			errs: created(t, &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: "v1"}, Spec: apiregistrationv1.APIServiceSpec{
				Group: "example.com", Version: "v1", GroupPriorityMinimum: 20001, VersionPriority: 1, InsecureSkipTLSVerify: true,
				CABundle: []byte("ca"), Service: &apiregistrationv1.ServiceReference{Name: "s", Port: ptr.To[int32](443)},
			}}),
			want: []string{
				"metadata.name: Invalid value: \"v1\": must be `spec.version+\".\"+spec.group`: \"v1.example.com\"",
				`spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000`,
				`spec.service.namespace: Required value`,
				`spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present`,
			},
		},
		{
			name: "status of an API service", reason: "a condition is known, or isn't",
			errs: statusUpdated(t, &apiregistrationv1.APIService{ObjectMeta: registrytest.ClusterStored("v1.a"), Status: apiregistrationv1.APIServiceStatus{
				Conditions: []apiregistrationv1.APIServiceCondition{{Type: apiregistrationv1.Available, Status: "Perhaps"}},
			}}, &apiregistrationv1.APIService{ObjectMeta: registrytest.ClusterStored("v1.a")}),
			want: []string{`status.conditions[0].status: Unsupported value: "Perhaps": supported values: "True", "False", "Unknown"`},
		},
		{
			name: "devices of a claim", reason: "a driver reports devices that are allocated, each once, and addresses with the subnet's length",
			errs: statusUpdated(t, claimWithDevices(
				resourcev1.AllocatedDeviceStatus{Driver: "d.e", Pool: "p", Device: "a", NetworkData: &resourcev1.NetworkDeviceData{IPs: []string{"10.0.0.5/24", "10.0.0.6"}}},
				resourcev1.AllocatedDeviceStatus{Driver: "d.e", Pool: "p", Device: "a", Data: &runtime.RawExtension{Raw: []byte("[]")}},
				resourcev1.AllocatedDeviceStatus{Driver: "d.e", Pool: "p", Device: "b"}), claimWithDevices()),
			want: []string{
				`status.devices[0].networkData.ips[1]: Invalid value: "10.0.0.6": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)`,
				`status.devices[1].data: Invalid value: "<value omitted>": must be a valid JSON object`,
				`status.devices[1]: Duplicate value: {"driver":"d.e","pool":"p","device":"a","conditions":null,"data":[]}`,
				`status.devices[2]: Invalid value: "d.e/p/b": must be an allocated device in the claim`,
			},
		},
		{
			name: "allocation of a claim", reason: "a share of a device has an identifier, and what binding waits for are types of conditions",
			errs: statusUpdated(t,
				&resourcev1.ResourceClaim{ObjectMeta: registrytest.Stored("claim"), Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
					Requests: []resourcev1.DeviceRequest{{Name: "r"}}}}, Status: resourcev1.ResourceClaimStatus{
					Devices: []resourcev1.AllocatedDeviceStatus{{Driver: "d.e", Pool: "p", Device: "a", ShareID: ptr.To("one")}},
					Allocation: &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
						Config: slices.Repeat([]resourcev1.DeviceAllocationConfiguration{{Source: resourcev1.AllocationConfigSourceClaim,
							DeviceConfiguration: resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{
								Driver: "d.e", Parameters: runtime.RawExtension{Raw: []byte("{}")}}}}}, 65),
						Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: "d.e", Pool: "p", Device: "a", ShareID: ptr.To(types.UID("one")),
							BindingConditions: []string{"a/b/c"}, BindingFailureConditions: slices.Repeat([]string{"Failed"}, 5),
							Tolerations: []resourcev1.DeviceToleration{{Key: "a/b/c", Operator: "Like", Effect: "Evict"}}}}}}}},
				&resourcev1.ResourceClaim{ObjectMeta: registrytest.Stored("claim")}),
			want: []string{
				`status.devices[0].shareID: Invalid value: "one": must be a lowercase UUID in 8-4-4-4-12 format`,
				`status.allocation.devices.results[0].bindingConditions[0]: Invalid value: "a/b/c": ` + notQualified,
				"status.allocation.devices.results[0].bindingFailureConditions: Too many: 5: must have at most 4 items",
				`status.allocation.devices.results[0].tolerations[0].key: Invalid value: "a/b/c": ` + notQualified,
				`status.allocation.devices.results[0].tolerations[0].operator: Unsupported value: "Like": supported values: "Equal", "Exists"`,
				`status.allocation.devices.results[0].tolerations[0].effect: Unsupported value: "Evict": supported values: "NoExecute", "NoSchedule", "None"`,
				`status.allocation.devices.results[0].shareID: Invalid value: "one": must be a lowercase UUID in 8-4-4-4-12 format`,
				"status.allocation.devices.config: Too many: 65: must have at most 64 items",
			},
		},
		{
			name: "allocated claim", reason: "devices are allocated until they are given back",
			errs: statusUpdated(t,
				&resourcev1.ResourceClaim{ObjectMeta: registrytest.Stored("claim"), Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{}}},
				claimWithDevices()),
			want: []string{"status.allocation: Invalid value: null: field cannot be modified once set"},
		},
		{
			name: "counters of a device", reason: "a device takes once from each set of counters",
			errs: created(t, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{
				Driver: "d.e", Pool: resourcev1.ResourcePool{Name: "p", ResourceSliceCount: 1}, AllNodes: ptr.To(true),
				Devices: []resourcev1.Device{{Name: "a", Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"a/b/c": {BoolValue: ptr.To(true)}},
					BindingConditions: []string{"Ready", "a/b/c"}, BindingFailureConditions: slices.Repeat([]string{"Failed"}, 5),
					ConsumesCounters: []resourcev1.DeviceCounterConsumption{
						{CounterSet: "s", Counters: map[string]resourcev1.Counter{"c": {}}}, {CounterSet: "s", Counters: map[string]resourcev1.Counter{"c": {}}}}}},
			}}),
			want: []string{
				`spec.devices[0].consumesCounters[1]: Duplicate value: {"counterSet":"s","counters":{"c":{"value":"0"}}}`,
				`spec.devices[0].bindingConditions[1]: Invalid value: "a/b/c": ` + notQualified,
				"spec.devices[0].bindingFailureConditions: Too many: 5: must have at most 4 items",
			},
		},
		{
			name: "devices of a slice", reason: "versions are compared, and a device is reached by some nodes or by all",
			errs: created(t, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{
				Driver: "d.e", Pool: resourcev1.ResourcePool{Name: "p", ResourceSliceCount: 1}, PerDeviceNodeSelection: ptr.To(true),
				Devices: []resourcev1.Device{
					{Name: "a", NodeName: ptr.To("n"), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
						"driver": {VersionValue: ptr.To("1.2")}, "firmware": {VersionValue: ptr.To("1.2.3-rc.1+build")},
					}},
					{Name: "b", NodeName: ptr.To("n"), AllNodes: ptr.To(true)},
					{Name: "c", NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: make([]corev1.NodeSelectorTerm, 2)}},
				},
			}}),
			want: []string{
				`spec.devices[0].attributes[driver].version: Invalid value: "1.2": must be a string compatible with semver.org spec 2.0.0`,
				"spec.devices[1]: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
				`spec.devices[2].nodeSelector.nodeSelectorTerms: Invalid value: [{"MatchExpressions":null,"MatchFields":null},{"MatchExpressions":null,"MatchFields":null}]: must have exactly one node selector term`,
			},
		},
		{
			name: "device class", reason: "what stands for an extended resource is named as one",
			errs: created(t, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: resourcev1.DeviceClassSpec{
				ExtendedResourceName: ptr.To("gpu"), Selectors: []resourcev1.DeviceSelector{{}},
			}}),
			want: []string{
				`spec.selectors[0].cel: Required value`,
				`spec.extendedResourceName: Invalid value: "gpu": a name must be a domain-prefixed path, such as 'example.com/my-prop'`,
			},
		},
		{
			name: "config map sealed", reason: "an immutable object stays unchanged and immutable",
			errs: updated(t, &corev1.ConfigMap{ObjectMeta: registrytest.Stored("c"), Data: map[string]string{"a": "b"}},
				&corev1.ConfigMap{ObjectMeta: registrytest.Stored("c"), Immutable: ptr.To(true)}),
			want: []string{
				"immutable: Forbidden: field is immutable when `immutable` is set",
				"data: Forbidden: field is immutable when `immutable` is set",
			},
		},
		{
			name: "finalizer", reason: "a finalizer has a domain",
			errs: created(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "default",
				Finalizers: []string{"mine", "orphan", "example.com/mine"}}}),
			want: []string{`metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`},
		},
		{
			name: "TLS secret", reason: "a type promises keys",
			errs: created(t, &corev1.Secret{ObjectMeta: registrytest.Stored("s"), Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": nil}}),
			want: []string{"data[tls.key]: Required value"},
		},
		{
			name: "secret type", reason: "a secret's type is part of what it is",
			errs: updated(t, &corev1.Secret{ObjectMeta: registrytest.Stored("s"), Type: "a"}, &corev1.Secret{ObjectMeta: registrytest.Stored("s"), Type: "b"}),
			want: []string{`type: Invalid value: "a": field is immutable`},
		},
		{
			name: "namespace phase", reason: "a namespace terminates by being deleted",
			errs: statusUpdated(t,
				&corev1.Namespace{ObjectMeta: registrytest.ClusterStored("n"), Status: corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating}},
				&corev1.Namespace{ObjectMeta: registrytest.ClusterStored("n")}),
			want: []string{"status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"},
		},
		{
			name: "role", reason: "a role speaks of verbs and of resources in its namespace",
			errs: created(t, &rbacv1.Role{ObjectMeta: registrytest.Stored("r"), Rules: []rbacv1.PolicyRule{
				{NonResourceURLs: []string{"/healthz"}}, {Verbs: []string{"get"}}}}),
			want: []string{
				"rules[0].verbs: Required value: verbs must contain at least one value",
				`rules[0].nonResourceURLs: Invalid value: ["/healthz"]: namespaced rules cannot apply to non-resource URLs`,
				"rules[1].apiGroups: Required value: resource rules must supply at least one api group",
				"rules[1].resources: Required value: resource rules must supply at least one resource",
			},
		},
		{
			name: "cluster role binding", reason: "it binds a cluster role, for good, and names namespaces",
			errs: updated(t,
				&rbacv1.ClusterRoleBinding{ObjectMeta: registrytest.ClusterStored("b"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "r"},
					Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "a"}}},
				&rbacv1.ClusterRoleBinding{ObjectMeta: registrytest.ClusterStored("b"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "r"}}),
			want: []string{
				`roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"`,
				"subjects[0].namespace: Required value",
				`roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"r"}: cannot change roleRef`,
			},
		},
		{
			name: "limit range", reason: "limits are in order",
			errs: created(t, &corev1.LimitRange{ObjectMeta: registrytest.Stored("l"), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
				Type: corev1.LimitTypeContainer, Min: registrytest.Quantities("cpu", "2"), Max: registrytest.Quantities("cpu", "1"), Default: registrytest.Quantities("cpu", "3")}}}}),
			want: []string{
				`spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1`,
				`spec.limits[0].default[cpu]: Invalid value: "1": default value 3 is greater than max value 1`,
			},
		},
		{
			name: "quota", reason: "a scope limits what it is about",
			errs: created(t, &corev1.ResourceQuota{ObjectMeta: registrytest.Stored("q"), Spec: corev1.ResourceQuotaSpec{
				Hard:   registrytest.Quantities("services", "1", "bananas", "1"),
				Scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}}}),
			want: []string{
				`spec.hard[bananas]: Invalid value: "bananas": must be a standard resource type or fully qualified`,
				`spec.hard[bananas]: Invalid value: "bananas": must be a standard resource for quota`,
				`spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource`,
			},
		},
		{
			name: "claim grows", reason: "a bound claim may grow",
			errs: updated(t, claimOf("3Gi", bound), claimOf("2Gi", bound)),
		},
		{
			name: "claim shrinks", reason: "but not below what it has",
			errs: updated(t, claimOf("1Gi", bound), claimOf("3Gi", bound)),
			want: []string{"spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"},
		},
		{
			name: "ingress", reason: "a path is absolute and leads to one backend",
			errs: created(t, &networkingv1.Ingress{ObjectMeta: registrytest.Stored("i"), Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
				Host: "10.0.0.1", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
					Paths: []networkingv1.HTTPIngressPath{{Path: "a//b", PathType: ptr.To(networkingv1.PathTypePrefix)}, {}}}}}}}}),
			want: []string{
				`spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address`,
				`spec.rules[0].http.paths[0].path: Invalid value: "a//b": must be an absolute path`,
				`spec.rules[0].http.paths[0].path: Invalid value: "a//b": must not contain '//'`,
				`spec.rules[0].http.paths[0].backend: Invalid value: "": resource or service backend is required`,
				"spec.rules[0].http.paths[1].pathType: Required value: pathType must be specified",
			},
		},
		{
			name: "tolerated devices", reason: "a value for comparison with a taint's has to be a valid one",
			errs: created(t, &resourcev1.ResourceClaim{ObjectMeta: registrytest.Stored("c"), Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
				Requests: []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
					DeviceClassName: "c", AllocationMode: resourcev1.DeviceAllocationModeAll, Tolerations: []resourcev1.DeviceToleration{
						{Key: "a", Operator: resourcev1.DeviceTolerationOpEqual, Value: "-"}, {Key: "a", Operator: resourcev1.DeviceTolerationOpEqual}}}}}}}}),
			want: []string{
				`spec.devices.requests[0].exactly.tolerations[0].value: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, ` +
					`'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', ` +
					`regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
			},
		},
		{
			name: "IP address", reason: "an address always has an owner, which never changes",
			errs: updated(t, &networkingv1.IPAddress{ObjectMeta: registrytest.ClusterStored("10.0.0.1")}, &networkingv1.IPAddress{
				ObjectMeta: registrytest.ClusterStored("10.0.0.1"), Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Name: "s"}}}),
			want: []string{"spec.parentRef: Required value", "spec.parentRef: Invalid value: null: field is immutable"},
		},
		{
			name: "network policy", reason: "an exception lies within its block",
			errs: created(t, &networkingv1.NetworkPolicy{ObjectMeta: registrytest.Stored("p"), Spec: networkingv1.NetworkPolicySpec{
				Egress: []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{
					{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8", Except: []string{"11.0.0.0/16"}}}, {}}}}}}),
			want: []string{
				"spec.egress[0].to[0].ipBlock.except[0]: Invalid value: \"11.0.0.0/16\": must be a strict subset of `cidr`",
				"spec.egress[0].to[1]: Required value: must specify a peer",
			},
		},
		{
			name: "autoscaler", reason: "a metric has the source that its type names",
			errs: created(t, &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: registrytest.Stored("h"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"}, MinReplicas: ptr.To[int32](3), MaxReplicas: 2,
				Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.PodsMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: "cpu",
					Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType}}}}}}),
			want: []string{
				"spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`",
				"spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization",
				"spec.metrics[0].pods: Required value: must populate information for the given metric source",
			},
		},
		{
			name: "storage class", reason: "a class makes the same volumes as long as it lives",
			errs: updated(t,
				&storagev1.StorageClass{ObjectMeta: registrytest.ClusterStored("c"), Provisioner: "a", VolumeBindingMode: ptr.To(storagev1.VolumeBindingImmediate)},
				&storagev1.StorageClass{ObjectMeta: registrytest.ClusterStored("c"), Provisioner: "b", VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)}),
			want: []string{
				"provisioner: Forbidden: updates to provisioner are forbidden.",
				`volumeBindingMode: Invalid value: "Immediate": field is immutable`,
			},
		},
		{
			name: "priority", reason: "the system keeps the highest priorities and its prefix",
			errs: created(t, &schedulingv1.PriorityClass{ObjectMeta: registrytest.ClusterStored("system-mine"), Value: 1}),
			want: []string{"metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class"},
		},
		{
			name: "flow schema", reason: "a rule names its subjects and its resources",
			errs: created(t, &flowcontrolv1.FlowSchema{ObjectMeta: registrytest.ClusterStored("f"), Spec: flowcontrolv1.FlowSchemaSpec{
				MatchingPrecedence: 1, Rules: []flowcontrolv1.PolicyRulesWithSubjects{{Subjects: []flowcontrolv1.Subject{
					{Kind: flowcontrolv1.SubjectKindUser, Group: &flowcontrolv1.GroupSubject{Name: "g"}}}}}}}),
			want: []string{
				"spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
				"spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
				"spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
				"spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
				"spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
			},
		},
		{
			name: "loopback endpoint", reason: "a webhook under development listens on the loopback address",
			errs: created(t, &corev1.Endpoints{ObjectMeta: registrytest.Stored("e"), Subsets: []corev1.EndpointSubset{{
				Addresses: []corev1.EndpointAddress{{IP: "127.0.0.1"}, {IP: "169.254.0.1"}}}}}),
			want: []string{`subsets[0].addresses[1].ip: Invalid value: "169.254.0.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, tc.errs, tc.want...)
		})
	}
}
