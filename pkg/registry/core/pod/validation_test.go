package pod

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

const subdomainMessage = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
	"and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
	`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`

// podWith returns a valid pod with defaults. It applies the function change to the pod after defaulting.
func podWith(change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: registrytest.Stored("p"), Spec: registrytest.ValidPodSpec()}
	defaultPod(pod)
	change(pod)
	return pod
}

func unchangedPod(*corev1.Pod) {}

func TestPod(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		change       func(*corev1.Pod)
		want         []string
	}{
		{
			name: "SELinux by mount", reason: "SELinux labels by mount option are on by default since Kubernetes 1.37",
			change: func(p *corev1.Pod) {
				p.Spec.SecurityContext = &corev1.PodSecurityContext{SELinuxChangePolicy: ptr.To(corev1.SELinuxChangePolicyMountOption)}
			},
		},
		{
			name: "SELinux in another way", reason: "the field has two possible values",
			change: func(p *corev1.Pod) {
				p.Spec.SecurityContext = &corev1.PodSecurityContext{SELinuxChangePolicy: ptr.To(corev1.PodSELinuxChangePolicy("Never"))}
			},
			want: []string{`spec.securityContext.seLinuxChangePolicy: Unsupported value: "Never": supported values: "MountOption", "Recursive"`},
		},
		{
			name: "least", reason: "a minimal pod with defaults is valid",
			change: unchangedPod,
		},
		{
			name: "empty", reason: "a spec without defaults lacks four required fields, and the errors keep this order",
			change: func(p *corev1.Pod) { p.Spec = corev1.PodSpec{} },
			want: []string{
				"spec.terminationGracePeriodSeconds: Required value",
				"spec.containers: Required value",
				`spec.restartPolicy: Required value`,
				`spec.dnsPolicy: Required value`,
			},
		},
		{
			name: "names", reason: "each field that contains a name has a rule of its own",
			change: func(p *corev1.Pod) {
				p.Name = "P"
				p.Spec.NodeName, p.Spec.Hostname, p.Spec.PriorityClassName = "n/1", "a.b", "pc/1"
			},
			want: []string{
				`metadata.name: Invalid value: "P": ` + subdomainMessage,
				`spec.nodeName: Invalid value: "n/1": ` + subdomainMessage,
				`spec.hostname: Invalid value: "a.b": must not contain dots`,
				`spec.priorityClassName: Invalid value: "pc/1": ` + subdomainMessage,
			},
		},
		{
			name: "create only", reason: "a new pod has no ephemeral containers, and no node together with scheduling gates",
			change: func(p *corev1.Pod) {
				p.Spec.NodeName = "n"
				p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "a"}, {Name: "a"}}
				p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
					Name: "debug", Image: "busybox", ImagePullPolicy: corev1.PullAlways,
					TerminationMessagePolicy: corev1.TerminationMessageReadFile}}}
			},
			want: []string{
				`spec.schedulingGates[1]: Duplicate value: "a"`,
				`spec.ephemeralContainers: Forbidden: cannot be set on create`,
				`spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared`,
			},
		},
		{
			name: "dns", reason: "the DNS policy None requires a nameserver",
			change: func(p *corev1.Pod) {
				p.Spec.DNSPolicy = corev1.DNSNone
				p.Spec.DNSConfig = &corev1.PodDNSConfig{}
			},
			want: []string{"spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None"},
		},
		{
			name: "host network", reason: "a pod in the host's network has equal container and host ports",
			change: func(p *corev1.Pod) {
				p.Spec.HostNetwork = true
				p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 81, Protocol: corev1.ProtocolTCP}}
			},
			want: []string{"spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true"},
		},
		{
			name: "scheduling", reason: "all fields that restrict the choice of a node are checked",
			change: func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpEqual, Value: "v"}}
				p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{TopologyKey: "zone", WhenUnsatisfiable: "Never"}}
				p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{}}}
			},
			want: []string{
				`spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term`,
				`spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero`,
				`spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Never": supported values: "DoNotSchedule", "ScheduleAnyway"`,
				"spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
			},
		},
		{
			name: "windows", reason: "a Windows pod can't have settings for Linux",
			change: func(p *corev1.Pod) {
				p.Spec.OS = &corev1.PodOS{Name: corev1.Windows}
				p.Spec.HostPID = true
				p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](1)}
				p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
			},
			want: []string{
				"spec.hostPID: Forbidden: cannot be set for a windows pod",
				"spec.securityContext.runAsUser: Forbidden: cannot be set for a windows pod",
				"spec.containers[0].securityContext.privileged: Forbidden: cannot be set for a windows pod",
			},
		},
		{
			name: "shared processes", reason: "the pod either shares the host's processes, or its own",
			change: func(p *corev1.Pod) { p.Spec.HostPID, p.Spec.ShareProcessNamespace = true, ptr.To(true) },
			want:   []string{"spec.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled"},
		}, {
			name: "sysctls", reason: "a sysctl has a unique name",
			change: func(p *corev1.Pod) {
				p.Spec.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: ""}, {Name: "a.b"}, {Name: "a.b"}}}
			},
			want: []string{
				"spec.securityContext.sysctls[0].name: Required value",
				`spec.securityContext.sysctls[2].name: Duplicate value: "a.b"`,
			},
		},
		{
			name: "seccomp annotations", reason: "the annotation of the pod comes before the annotations of the containers",
			change: func(p *corev1.Pod) {
				p.Annotations = map[string]string{corev1.SeccompPodAnnotationKey: "a", corev1.SeccompContainerAnnotationKeyPrefix + "c": "b"}
			},
			want: []string{
				`metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "a": must be a valid seccomp profile`,
				`metadata.annotations.container.seccomp.security.alpha.kubernetes.io/c: Invalid value: "b": must be a valid seccomp profile`,
			},
		},
		{
			name: "deletion cost", reason: "a cost doesn't begin with a zero",
			change: func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.PodDeletionCost: "05"} },
			want:   []string{`metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "05": must be a 32bit integer`},
		},
		{
			name: "signed deletion cost", reason: "a cost doesn't begin with a plus sign",
			change: func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.PodDeletionCost: "+5"} },
			want:   []string{`metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+5": must be a 32bit integer`},
		},
		{
			name: "negative deletion cost", reason: "as in kube-apiserver, a zero can follow the minus sign",
			change: func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.PodDeletionCost: "-05"} },
		},
		{
			name: "mirror", reason: "the kubelet creates mirror pods and sets their node",
			change: func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} },
			want:   []string{`metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, validatePod(podWith(tc.change)), tc.want...)
		})
	}
}

func TestPodUpdate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		old, now     func(*corev1.Pod)
		want         []string
	}{
		{
			name: "allowed", reason: "an update can change these four fields",
			old: func(p *corev1.Pod) {
				p.Spec.ActiveDeadlineSeconds = ptr.To[int64](10)
				p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "gate"}}
			},
			now: func(p *corev1.Pod) {
				p.Spec.ActiveDeadlineSeconds = ptr.To[int64](5)
				p.Spec.Containers[0].Image = "nginx:2"
				p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
				p.Spec.NodeSelector = map[string]string{"disk": "ssd"}
			},
		},
		{
			name: "deadline", reason: "a deadline can only become shorter",
			old:  func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](5) },
			now:  func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](10) },
			want: []string{"spec.activeDeadlineSeconds: Invalid value: 10: must be less than or equal to previous value"},
		},
		{
			name:   "stored deletion cost",
			reason: "old versions of Kubernetes accepted any cost, and an update can keep or change an invalid cost",
			old:    func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.PodDeletionCost: "high"} },
			now:    func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.PodDeletionCost: "low"} },
		},
		{
			name: "invalid deletion cost", reason: "an update can't set an invalid cost, and the annotations are checked twice",
			old: unchangedPod,
			now: func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.PodDeletionCost: "high"} },
			want: []string{
				`metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "high": must be a 32bit integer`,
				`metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "high": must be a 32bit integer`,
			},
		},
		{
			name: "containers", reason: "the number of containers can't change",
			old: unchangedPod,
			now: func(p *corev1.Pod) {
				more := *p.Spec.Containers[0].DeepCopy()
				more.Name = "more"
				p.Spec.Containers = append(p.Spec.Containers, more)
			},
			want: []string{"spec.containers: Forbidden: pod updates may not add or remove containers"},
		},
		{
			name: "gates", reason: "a scheduling gate can only be removed",
			old:  unchangedPod,
			now:  func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "new"}} },
			want: []string{"spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'new'"},
		},
		{
			name: "the same gate twice", reason: "a gate is reported once, at its last index",
			old: unchangedPod,
			now: func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "new"}, {Name: "new"}} },
			want: []string{
				`spec.schedulingGates[1]: Duplicate value: "new"`,
				"spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'new'",
			},
		},
		{
			name: "tolerations", reason: "a toleration can't be removed",
			old: func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}
			},
			now:  unchangedPod,
			want: []string{"spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, validatePodUpdate(podWith(tc.now), podWith(tc.old)), tc.want...)
		})
	}
}

// TestPodUpdateDifference checks that the error about a changed spec shows the changes, with the field names of
// kube-apiserver's internal types.
func TestPodUpdateDifference(t *testing.T) {
	t.Parallel()
	errs := validatePodUpdate(podWith(func(p *corev1.Pod) { p.Spec.HostPID, p.Spec.InitContainers = true, []corev1.Container{} }), podWith(unchangedPod))
	if len(errs) != 1 || errs[0].Type != field.ErrorTypeForbidden || errs[0].Field != "spec" {
		t.Fatalf("want one error for the spec, got %v", errs)
	}
	summary, difference, _ := strings.Cut(errs[0].Detail, "\n")
	const want = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
		"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
		"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
	if diff := cmp.Diff(want, summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	for _, line := range []string{`- "HostPID": false,`, `+ "HostPID": true,`} {
		if !strings.Contains(difference, line) {
			t.Errorf("want a line %q in\n%s", line, difference)
		}
	}
	if strings.Contains(difference, `"InitContainers": []`) {
		t.Errorf("want no line for an empty list in place of none, got\n%s", difference)
	}
}

func TestPodStatusUpdate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		old, now     func(*corev1.Pod)
		want         []string
	}{
		{
			name: "node", reason: "only the binding subresource sets the node",
			old: unchangedPod, now: func(p *corev1.Pod) { p.Spec.NodeName = "n" },
			want: []string{"status.nodeName: Forbidden: may not be changed directly"},
		},
		{
			name: "restart", reason: "a container that ended can't run again under the restart policy Never",
			old: func(p *corev1.Pod) {
				p.Spec.RestartPolicy = corev1.RestartPolicyNever
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
			},
			now: func(p *corev1.Pod) {
				p.Spec.RestartPolicy = corev1.RestartPolicyNever
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
			},
			want: []string{"status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"},
		},
		{
			name: "user of a container", reason: "the container runtime may report any uid of Linux, but no greater number",
			old: unchangedPod, now: func(p *corev1.Pod) {
				for _, uid := range []int64{3000000000, 1 << 32} {
					p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{User: &corev1.ContainerUser{Linux: &corev1.LinuxContainerUser{UID: uid}}})
				}
			},
			want: []string{"status.containerStatuses[1].user.linux.uid: Invalid value: 4294967296: must be between 0 and 4294967295, inclusive"},
		},
		{
			name: "empty address", reason: "an empty item of podIPs is no address of the pod",
			old: unchangedPod, now: func(p *corev1.Pod) { p.Status.PodIPs = []corev1.PodIP{{}} },
			want: []string{
				`status.podIPs[0]: Invalid value: "": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
				`status.podIPs: Invalid value: [{"IP":""}]: podIP and podIPs must either both be set or both be unset`,
			},
		},
		{
			name: "qos", reason: "the QoS class of a pod can't change",
			old:  func(p *corev1.Pod) { p.Status.QOSClass = corev1.PodQOSBestEffort },
			now:  func(p *corev1.Pod) { p.Status.QOSClass = corev1.PodQOSBurstable },
			want: []string{`status.qosClass: Invalid value: "Burstable": field is immutable`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, validatePodStatusUpdate(podWith(tc.now), podWith(tc.old)), tc.want...)
		})
	}
}

func TestPodResize(t *testing.T) {
	t.Parallel()
	sized := func(requests corev1.ResourceList) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = requests }
	}
	for _, tc := range []struct {
		name, reason string
		now          func(*corev1.Pod)
		want         []string
	}{
		{name: "more", reason: "a resize can change the cpu request", now: sized(registrytest.Quantities("cpu", "2"))},
		{
			name: "class", reason: "a resize can't change the QoS class of the pod", now: sized(nil),
			want: []string{
				`spec: Invalid value: "": Pod QOS Class may not change as a result of resizing`,
				"spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
			},
		},
		{
			name: "image", reason: "a resize can't change other fields",
			now: func(p *corev1.Pod) {
				sized(registrytest.Quantities("cpu", "2"))(p)
				p.Spec.Containers[0].Image = "other"
			},
			want: []string{"spec: Forbidden: only cpu and memory resources are mutable"},
		},
		{
			name: "another resource of the pod", reason: "a resize can't add it, valid or not",
			now: func(p *corev1.Pod) {
				sized(registrytest.Quantities("cpu", "1"))(p)
				p.Spec.Resources = &corev1.ResourceRequirements{Limits: registrytest.Quantities("foo", "1")}
			},
			want: []string{
				`spec.resources.limits[foo]: Invalid value: "foo": must be a standard resource type or fully qualified`,
				"spec: Forbidden: only cpu and memory resources are mutable at pod-level",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, validatePodResize(podWith(tc.now), podWith(sized(registrytest.Quantities("cpu", "1")))), tc.want...)
		})
	}
	claiming := func(cpu string) *corev1.Pod {
		return podWith(func(p *corev1.Pod) {
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("gpu")}}
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{
				Requests: registrytest.Quantities("cpu", cpu), Claims: []corev1.ResourceClaim{{Name: "gpu"}}}
		})
	}
	registrytest.WantErrors(t, "a resize of a container with a resource claim keeps the claim", validatePodResize(claiming("2"), claiming("1")))
	dropped := claiming("2")
	dropped.Spec.Containers[0].Resources.Claims = nil
	registrytest.WantErrors(t, "a resize can't drop a claim", validatePodResize(dropped, claiming("1")),
		"spec: Forbidden: only cpu and memory resources are mutable")
	initializing := func(cpu string) *corev1.Pod {
		return podWith(func(p *corev1.Pod) {
			setup := *p.Spec.Containers[0].DeepCopy()
			setup.Name, setup.Resources.Requests = "setup", registrytest.Quantities("cpu", cpu)
			setup.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
			p.Spec.InitContainers = []corev1.Container{setup}
		})
	}
	registrytest.WantErrors(t, "an init container that runs to completion doesn't restart for a resize", validatePodResize(initializing("2"), initializing("1")),
		`spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: "RestartContainer": must not be set to 'RestartContainer' for non-sidecar initContainers`,
		"spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of RestartContainer cannot be resized")
}

func TestPodEphemeralContainersUpdate(t *testing.T) {
	t.Parallel()
	debugging := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: "busybox"}}}
			defaultPod(p)
		}
	}
	registrytest.WantErrors(t, "a container can be added",
		validatePodEphemeralContainersUpdate(podWith(debugging("a")), podWith(unchangedPod)))
	registrytest.WantErrors(t, "a container cannot go",
		validatePodEphemeralContainersUpdate(podWith(debugging("b")), podWith(debugging("a"))),
		"spec.ephemeralContainers: Forbidden: existing ephemeral containers \"a\" may not be removed\n")
	registrytest.WantErrors(t, "names differ between containers of all types",
		validatePodEphemeralContainersUpdate(podWith(debugging("web")), podWith(unchangedPod)),
		`spec.ephemeralContainers[0].name: Duplicate value: "web"`)
}
