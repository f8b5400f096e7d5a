package pod

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestContainers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		change       func(*corev1.PodSpec, *corev1.Container)
		want         []string
	}{
		{
			name: "nothing", reason: "a container without defaults lacks four required fields",
			change: func(_ *corev1.PodSpec, c *corev1.Container) { *c = corev1.Container{} },
			want: []string{
				"spec.containers[0].name: Required value",
				"spec.containers[0].image: Required value",
				"spec.containers[0].terminationMessagePolicy: Required value",
				"spec.containers[0].imagePullPolicy: Required value",
			},
		},
		{
			name: "image", reason: "validation refuses whitespace around an image in pods, and accepts it in templates",
			change: func(_ *corev1.PodSpec, c *corev1.Container) { c.Image = " nginx" },
			want:   []string{`spec.containers[0].image: Invalid value: " nginx": must not have leading or trailing whitespace`},
		},
		{
			name: "ports", reason: "a port needs a number and a known protocol, and names of ports are unique",
			change: func(_ *corev1.PodSpec, c *corev1.Container) {
				c.Ports = []corev1.ContainerPort{
					{Name: "http", ContainerPort: 80, Protocol: corev1.ProtocolTCP},
					{Name: "http", ContainerPort: 70000, Protocol: "tcp"},
					{Protocol: corev1.ProtocolUDP},
				}
			},
			want: []string{
				`spec.containers[0].ports[1].name: Duplicate value: "http"`,
				"spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
				`spec.containers[0].ports[1].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"`,
				"spec.containers[0].ports[2].containerPort: Required value",
			},
		},
		{
			name: "host ports", reason: "two containers of a pod can't use the same port of the host",
			change: func(s *corev1.PodSpec, c *corev1.Container) {
				c.Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80, Protocol: corev1.ProtocolTCP}}
				other := *c.DeepCopy()
				other.Name = "other"
				s.Containers = append(s.Containers, other)
			},
			want: []string{`spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//80"`},
		},
		{
			name: "env", reason: "a variable has a valid name, and either a value or one source",
			change: func(_ *corev1.PodSpec, c *corev1.Container) {
				c.Env = []corev1.EnvVar{
					{},
					{Name: "A=B"},
					{Name: "NONE", ValueFrom: &corev1.EnvVarSource{}},
					{Name: "BOTH", Value: "x",
						ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}},
					{Name: "LABELS",
						ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.labels"}}},
				}
			},
			want: []string{
				"spec.containers[0].env[0].name: Required value",
				`spec.containers[0].env[1].name: Invalid value: "A=B": a valid environment variable name must consist only of printable ASCII characters other than '='`,
				"spec.containers[0].env[2].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
				"spec.containers[0].env[3].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
				`spec.containers[0].env[4].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name", "metadata.namespace", ` +
					`"metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"`,
			},
		},
		{
			name: "mounts", reason: "a mount names a volume of the pod, and mount paths are unique",
			change: func(s *corev1.PodSpec, c *corev1.Container) {
				s.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
				c.VolumeMounts = []corev1.VolumeMount{{Name: "tmp", MountPath: "/a"}, {Name: "gone", MountPath: "/a"}, {Name: "tmp"}}
				c.VolumeDevices = []corev1.VolumeDevice{{Name: "tmp", DevicePath: "/dev/x"}}
			},
			want: []string{
				`spec.containers[0].volumeMounts[0].name: Invalid value: "tmp": must not already exist in volumeDevices`,
				`spec.containers[0].volumeMounts[1].name: Not found: "gone"`,
				`spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/a": must be unique`,
				`spec.containers[0].volumeMounts[2].mountPath: Required value`,
				`spec.containers[0].volumeMounts[2].name: Invalid value: "tmp": must not already exist in volumeDevices`,
				`spec.containers[0].volumeDevices[0].name: Invalid value: "tmp": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode`,
				`spec.containers[0].volumeDevices[0].name: Invalid value: "tmp": must not already exist in volumeMounts`,
			},
		},
		{
			name: "probes", reason: "a probe has one handler, and a liveness probe has a success threshold of 1",
			change: func(_ *corev1.PodSpec, c *corev1.Container) {
				c.LivenessProbe = &corev1.Probe{SuccessThreshold: 2}
				c.ReadinessProbe = &corev1.Probe{TerminationGracePeriodSeconds: ptr.To[int64](1), ProbeHandler: corev1.ProbeHandler{
					Exec:    &corev1.ExecAction{Command: []string{"true"}},
					HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80), Scheme: "HTTP"},
				}}
			},
			want: []string{
				"spec.containers[0].livenessProbe: Required value: must specify a handler type",
				"spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
				"spec.containers[0].readinessProbe.httpGet: Forbidden: may not specify more than 1 handler type",
				"spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 1: must not be set for readinessProbes",
			},
		},
		{
			name: "protocols of probes", reason: "HTTP/2 is without encryption, and to the pod itself",
			change: func(_ *corev1.PodSpec, c *corev1.Container) {
				get := func(protocol corev1.HTTPProtocol, scheme corev1.URIScheme, host string) *corev1.HTTPGetAction {
					return &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80), Scheme: scheme, Host: host, Protocol: &protocol}
				}
				c.LivenessProbe = &corev1.Probe{SuccessThreshold: 1, ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 80, Mode: ptr.To(corev1.GRPCProbeMode("SSL"))}}}
				c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: get("HTTP3", "HTTP", "")}}
				c.StartupProbe = &corev1.Probe{SuccessThreshold: 1, ProbeHandler: corev1.ProbeHandler{HTTPGet: get("HTTP2", "HTTPS", "h")}}
				c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{HTTPGet: get("HTTP2", "HTTP", "h")}}
			},
			want: []string{
				`spec.containers[0].lifecycle.postStart.httpGet.host: Invalid value: "h": must be empty when ` + "`protocol`" + ` is "HTTP2"`,
				`spec.containers[0].livenessProbe.grpc.mode: Unsupported value: "SSL": supported values: "Plaintext", "TLS"`,
				`spec.containers[0].readinessProbe.httpGet.protocol: Unsupported value: "HTTP3": supported values: "HTTP1", "HTTP2"`,
				`spec.containers[0].startupProbe.httpGet.protocol: Invalid value: "HTTP2": is only supported with HTTP (H2C)`,
			},
		},
		{
			name: "options of mounts", reason: "an option is known, there once, and not for images",
			change: func(s *corev1.PodSpec, c *corev1.Container) {
				s.Volumes = []corev1.Volume{
					{Name: "e", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
					{Name: "i",
						VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "r", PullPolicy: corev1.PullAlways}}},
				}
				c.VolumeMounts = []corev1.VolumeMount{
					{Name: "e", MountPath: "/e", BindMountOptions: []string{"noexec", "ro", "noexec"}},
					{Name: "i", MountPath: "/i", BindMountOptions: []string{"nosuid"}},
				}
			},
			want: []string{
				`spec.containers[0].volumeMounts[0].bindMountOptions[1]: Unsupported value: "ro": supported values: "nodev", "noexec", "nosuid"`,
				`spec.containers[0].volumeMounts[0].bindMountOptions[2]: Duplicate value: "noexec"`,
				`spec.containers[0].volumeMounts[1].bindMountOptions: Invalid value: ["nosuid"]: bindMountOptions may not be used with image volumes`,
			},
		},
		{
			name: "lifecycle", reason: "a sleep before the stop has to be shorter than the grace period",
			change: func(s *corev1.PodSpec, c *corev1.Container) {
				s.TerminationGracePeriodSeconds = ptr.To[int64](5)
				c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 9}}}
			},
			want: []string{"spec.containers[0].lifecycle.preStop.sleep: Invalid value: 9: must be non-negative and less than terminationGracePeriodSeconds (5)"},
		},
		{
			name: "security", reason: "a privileged container can always escalate its privileges",
			change: func(_ *corev1.PodSpec, c *corev1.Container) {
				c.SecurityContext = &corev1.SecurityContext{
					Privileged: ptr.To(true), AllowPrivilegeEscalation: ptr.To(false), RunAsUser: ptr.To[int64](-1),
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost},
				}
			},
			want: []string{
				"spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
				"spec.containers[0].securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost",
				`spec.containers[0].securityContext: Invalid value: {"Capabilities":null,"Privileged":true,"SELinuxOptions":null,"WindowsOptions":null,` +
					`"RunAsUser":-1,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,` +
					`"SeccompProfile":{"Type":"Localhost","LocalhostProfile":null},"AppArmorProfile":null}: ` +
					"cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
			},
		},
		{
			name: "init", reason: "only init containers that are sidecars can have a liveness probe",
			change: func(s *corev1.PodSpec, c *corev1.Container) {
				once, sidecar := *c.DeepCopy(), *c.DeepCopy()
				once.Name, sidecar.Name, sidecar.RestartPolicy = "once", "web", ptr.To(corev1.ContainerRestartPolicyAlways)
				for _, c := range []*corev1.Container{&once, &sidecar} {
					c.LivenessProbe = &corev1.Probe{SuccessThreshold: 1, ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
				}
				s.InitContainers = []corev1.Container{once, sidecar}
			},
			want: []string{
				"spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
				`spec.initContainers[1].name: Duplicate value: "web"`,
			},
		},
		{
			name: "restart rules", reason: "restart rules require a restart policy",
			change: func(_ *corev1.PodSpec, c *corev1.Container) {
				c.RestartPolicyRules = []corev1.ContainerRestartRule{{Action: "Stop"}}
			},
			want: []string{
				"spec.containers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used",
				`spec.containers[0].restartPolicyRules[0].action: Unsupported value: "Stop": supported values: "Restart", "RestartAllContainers"`,
				"spec.containers[0].restartPolicyRules[0].exitCodes: Required value: must be specified",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			pod := podWith(func(p *corev1.Pod) { tc.change(&p.Spec, &p.Spec.Containers[0]) })
			registrytest.WantErrors(t, tc.reason, validatePod(pod), tc.want...)
		})
	}
}

func TestContainerResources(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		resources    corev1.ResourceRequirements
		want         []string
	}{
		{
			name: "above limit", reason: "a request can't exceed its limit",
			resources: corev1.ResourceRequirements{Requests: registrytest.Quantities("cpu", "2"),
				Limits: registrytest.Quantities("cpu", "1")},
			want: []string{`spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`},
		},
		{
			name: "extended", reason: "extended resources have equal requests and limits",
			resources: corev1.ResourceRequirements{Requests: registrytest.Quantities("example.com/gpu", "1"),
				Limits: registrytest.Quantities("example.com/gpu", "2")},
			want: []string{`spec.containers[0].resources.requests: Invalid value: "1": must be equal to example.com/gpu limit of 2`},
		},
		{
			name: "names", reason: "the name of a resource that is not standard needs a domain",
			resources: corev1.ResourceRequirements{Limits: registrytest.Quantities("speed", "1")},
			want: []string{
				`spec.containers[0].resources.limits[speed]: Invalid value: "speed": must be a standard resource type or fully qualified`,
				`spec.containers[0].resources.limits[speed]: Invalid value: "speed": must be a standard resource for containers`,
			},
		},
		{
			name: "negative", reason: "a limit can't be negative",
			resources: corev1.ResourceRequirements{Limits: registrytest.Quantities("memory", "-1")},
			want:      []string{`spec.containers[0].resources.limits[memory]: Invalid value: "-1": must be greater than or equal to 0`},
		},
		{
			name: "huge pages", reason: "huge pages require cpu or memory",
			resources: corev1.ResourceRequirements{Requests: registrytest.Quantities("hugepages-2Mi", "2Mi"),
				Limits: registrytest.Quantities("hugepages-2Mi", "2Mi")},
			want: []string{"spec.containers[0].resources: Forbidden: HugePages require cpu or memory"},
		},
		{
			name: "claims", reason: "a container refers to the claims that its pod lists",
			resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}},
			want: []string{
				`spec.containers[0].resources.claims[0]: Not found: "gpu": must be one of the names in pod.spec.resourceClaims which is empty`,
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			pod := podWith(func(p *corev1.Pod) { p.Spec.Containers[0].Resources = tc.resources })
			registrytest.WantErrors(t, tc.reason, validatePod(pod), tc.want...)
		})
	}
}

func TestInitContainerRestartRules(t *testing.T) {
	t.Parallel()
	pod := podWith(func(p *corev1.Pod) {
		c := *p.Spec.Containers[0].DeepCopy()
		c.Name, c.RestartPolicyRules = "init", []corev1.ContainerRestartRule{{Action: "Stop"}}
		p.Spec.InitContainers = []corev1.Container{c}
	})
	registrytest.WantErrors(t, "without a restart policy, the rules of an init container aren't checked", validatePod(pod),
		"spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used")
}

func TestPrivileged(t *testing.T) {
	t.Parallel()
	spec := registrytest.ValidPodSpec()
	spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
	pod := &corev1.Pod{ObjectMeta: registrytest.Stored("p"), Spec: spec}
	defaultPod(pod)
	registrytest.WantErrors(t, "privileged containers are valid by themselves", validatePod(pod))
	registrytest.WantErrors(t, "a cluster can disallow them", podvalidation.Privileged(nil, &pod.Spec),
		"containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy")
}
