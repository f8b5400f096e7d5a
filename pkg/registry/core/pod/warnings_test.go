package pod

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func volume(source corev1.VolumeSource) []corev1.Volume {
	return []corev1.Volume{{Name: "v", VolumeSource: source}}
}

func TestPodWarnings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		meta         metav1.ObjectMeta
		spec         corev1.PodSpec
		want         []string
	}{
		{
			name: "nothing to say", reason: "an ordinary pod has no warnings",
			spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}},
		},
		{
			name: "dotted name", reason: "a pod's name can contain dots, but a hostname can't",
			meta: metav1.ObjectMeta{Name: "a.b"},
			want: []string{
				"metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
			},
		},
		{
			name:   "node labels",
			reason: "the warning leaves the label out if the field's path ends with the label; malformed values in preferred terms are valid but get a warning",
			spec: corev1.PodSpec{
				NodeSelector: map[string]string{"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "arm"},
				Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
						Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
							{Key: "beta.kubernetes.io/instance-type", Values: []string{"-1"}},
						}},
					}},
				}},
				TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{TopologyKey: "failure-domain.beta.kubernetes.io/zone"}},
			},
			want: []string{
				`spec.nodeSelector[beta.kubernetes.io/arch]: deprecated since v1.14; use "kubernetes.io/arch" instead`,
				`spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`,
				`spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key: beta.kubernetes.io/instance-type is deprecated since v1.17; use "node.kubernetes.io/instance-type" instead`,
				`spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].values[0]: -1 is invalid, a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
				`spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead`,
				`spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod`,
			},
		},
		{
			name: "removed node labels", reason: "clusters no longer set these labels, whether or not another label takes their place",
			spec: corev1.PodSpec{
				NodeSelector: map[string]string{
					"node-role.kubernetes.io/master": "", "app.kubernetes.io/created-by": "x",
					"scheduler.alpha.kubernetes.io/preferAvoidPods": "x",
				},
				Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "node-role.kubernetes.io/master"}}}},
				}}},
			},
			want: []string{
				"spec.nodeSelector[app.kubernetes.io/created-by]: deprecated since v1.9",
				`spec.nodeSelector[node-role.kubernetes.io/master]: use "node-role.kubernetes.io/control-plane" instead`,
				"spec.nodeSelector[scheduler.alpha.kubernetes.io/preferAvoidPods]: deprecated since v1.22; use Taints and Tolerations instead",
				`spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: ` +
					`node-role.kubernetes.io/master is use "node-role.kubernetes.io/control-plane" instead`,
			},
		},
		{
			name: "pod affinity", reason: "a missing selector matches no pod, and an empty selector matches all pods",
			spec: corev1.PodSpec{Affinity: &corev1.Affinity{
				PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
					{LabelSelector: &metav1.LabelSelector{}}, {},
				}},
				PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{}}},
			}},
			want: []string{
				"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[1].labelSelector: a null labelSelector results in matching no pod",
				"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: a null labelSelector results in matching no pod",
			},
		},
		{
			name: "annotations", reason: "a warning about an annotation is dropped if the field of the same meaning is set",
			meta: metav1.ObjectMeta{Annotations: map[string]string{
				"scheduler.alpha.kubernetes.io/critical-pod":          "",
				"seccomp.security.alpha.kubernetes.io/pod":            "unconfined",
				"container.seccomp.security.alpha.kubernetes.io/set":  "unconfined",
				"container.seccomp.security.alpha.kubernetes.io/not":  "unconfined",
				"container.apparmor.security.beta.kubernetes.io/same": "unconfined",
				"container.apparmor.security.beta.kubernetes.io/not":  "localhost/x",
			}},
			spec: corev1.PodSpec{
				SecurityContext: &corev1.PodSecurityContext{AppArmorProfile: &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}},
				Containers: []corev1.Container{
					{Name: "set", SecurityContext: &corev1.SecurityContext{SeccompProfile: &corev1.SeccompProfile{}}},
					{Name: "same"},
					{Name: "not"},
				},
			},
			want: []string{
				`metadata.annotations[container.apparmor.security.beta.kubernetes.io/not]: deprecated since v1.30; use the "appArmorProfile" field instead`,
				`metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead`,
				`metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use the "seccompProfile" field instead`,
				`metadata.annotations[container.seccomp.security.alpha.kubernetes.io/not]: non-functional in v1.27+; use the "seccompProfile" field instead`,
			},
		},
		{
			name: "old volume", reason: "validation accepts volume types that have been removed",
			spec: corev1.PodSpec{Volumes: volume(corev1.VolumeSource{Glusterfs: &corev1.GlusterfsVolumeSource{}})},
			want: []string{"spec.volumes[0].glusterfs: deprecated in v1.25, non-functional in v1.26+"},
		},
		{
			name: "claim in a volume", reason: "the claim template of an ephemeral volume is checked like a claim",
			spec: corev1.PodSpec{Volumes: volume(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
				VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
					Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("200m")}},
				}},
			}})},
			want: []string{
				`spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte value "200m" is invalid, must be an integer`,
			},
		},
		{
			name:   "files that hide each other",
			reason: "one path can't be both a file and a folder; paths that only share a prefix don't overlap",
			spec: corev1.PodSpec{Volumes: volume(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "m"},
				Items:                []corev1.KeyToPath{{Path: "a/b"}, {Path: "a"}, {Path: "ab"}, {Path: "a/b/"}},
			}})},
			want: []string{
				`volume "v" (ConfigMap "m"): overlapping paths: "a" with "a/b"`,
				`volume "v" (ConfigMap "m"): overlapping paths: "a/b" with "a/b"`,
				`volume "v" (ConfigMap "m"): overlapping paths: "a/b" with "a"`,
			},
		},
		{
			name: "files of several sources", reason: "the warning names the source of each path",
			spec: corev1.PodSpec{Volumes: volume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Items: []corev1.KeyToPath{{Path: "t"}}}},
				{},
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "t/u"}},
				{PodCertificate: &corev1.PodCertificateProjection{CredentialBundlePath: "x"}},
			}}})},
			want: []string{
				`volume "v" (Projected) has no sources provided`,
				`volume "v" (Projected): overlapping paths: "t/u" (ServiceAccountToken) with "t" (Secret "s")`,
			},
		},
		{
			name: "duplicates", reason: "the warning names the later duplicate, and an empty name gets a warning of its own",
			spec: corev1.PodSpec{
				HostAliases:      []corev1.HostAlias{{IP: "192.0.2.1"}, {IP: "192.0.2.1"}},
				ImagePullSecrets: []corev1.LocalObjectReference{{Name: ""}, {Name: ""}},
			},
			want: []string{
				`spec.hostAliases[1].ip: duplicate ip "192.0.2.1"`,
				`spec.imagePullSecrets[1].name: duplicate name ""`,
				`spec.imagePullSecrets[0].name: invalid empty name ""`,
				`spec.imagePullSecrets[1].name: invalid empty name ""`,
			},
		},
		{
			name: "fractions of bytes", reason: "memory and ephemeral storage are counted in whole bytes, and CPUs in thousandths",
			spec: corev1.PodSpec{
				Overhead: corev1.ResourceList{"cpu": resource.MustParse("1m"), "memory": resource.MustParse("1m")},
				InitContainers: []corev1.Container{{Resources: corev1.ResourceRequirements{
					Limits: corev1.ResourceList{"ephemeral-storage": resource.MustParse("1500m"), "memory": resource.MustParse("1Gi")},
				}}},
				Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
					Limits:   corev1.ResourceList{"ephemeral-storage": resource.MustParse("2m"), "memory": resource.MustParse("2m")},
					Requests: corev1.ResourceList{"ephemeral-storage": resource.MustParse("1m"), "memory": resource.MustParse("1m")},
				}}},
			},
			want: []string{
				`spec.overhead[memory]: fractional byte value "1m" is invalid, must be an integer`,
				`spec.initContainers[0].resources.limits[ephemeral-storage]: fractional byte value "1500m" is invalid, must be an integer`,
				`spec.containers[0].resources.limits[memory]: fractional byte value "2m" is invalid, must be an integer`,
				`spec.containers[0].resources.requests[memory]: fractional byte value "1m" is invalid, must be an integer`,
				`spec.containers[0].resources.limits[ephemeral-storage]: fractional byte value "2m" is invalid, must be an integer`,
				`spec.containers[0].resources.requests[ephemeral-storage]: fractional byte value "1m" is invalid, must be an integer`,
			},
		},
		{
			name: "environment", reason: "a redefinition that refers to the variable's earlier value hides nothing",
			spec: corev1.PodSpec{Containers: []corev1.Container{{Env: []corev1.EnvVar{
				{Name: "X", Value: "a"}, {Name: "X", Value: "$(X)b"}, {Name: "X", Value: "$(X)"}, {Name: "X", Value: "c"},
				{Name: "X", ValueFrom: &corev1.EnvVarSource{}},
			}}}},
			want: []string{
				`spec.containers[0].env[2]: hides previous definition of "X", which may be dropped when using apply`,
				`spec.containers[0].env[3]: hides previous definition of "X", which may be dropped when using apply`,
				`spec.containers[0].env[4]: hides previous definition of "X", which may be dropped when using apply`,
			},
		},
		{
			name: "ports", reason: "two addresses of the host can have the same port",
			spec: corev1.PodSpec{
				InitContainers: []corev1.Container{{Ports: []corev1.ContainerPort{
					{ContainerPort: 80, HostPort: 80, HostIP: "192.0.2.1"}, {ContainerPort: 80, HostPort: 80, HostIP: "192.0.2.2"},
				}}},
				Containers: []corev1.Container{
					{Ports: []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}, {ContainerPort: 81}}},
					{Ports: []corev1.ContainerPort{{ContainerPort: 81}, {ContainerPort: 81, HostPort: 81}, {ContainerPort: 82, HostIP: "192.0.2.1", Protocol: "TCP"}}},
				},
			},
			want: []string{
				"spec.containers[0].ports[0]: dangerously ambiguous port definition with spec.initContainers[0].ports[0]",
				"spec.containers[0].ports[0]: dangerously ambiguous port definition with spec.initContainers[0].ports[1]",
				"spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[1]",
				"spec.containers[1].ports[1]: overlapping port definition with spec.containers[0].ports[1]",
				"spec.containers[1].ports[1]: overlapping port definition with spec.containers[1].ports[0]",
				"spec.containers[1].ports[2]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:82 Protocol:TCP HostIP:192.0.2.1}",
			},
		},
		{
			name: "port names", reason: "a port name refers to the first port with the name",
			spec: corev1.PodSpec{Containers: []corev1.Container{
				{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 80}}},
				{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 81}}},
			}},
			want: []string{
				`spec.containers[1].ports[0]: duplicate port name "web" with spec.containers[0].ports[0], services and probes that select ports by name will use spec.containers[0].ports[0]`,
			},
		},
		{
			name: "negative grace", reason: "the stored value stays negative, and the kubelet uses 1 second instead",
			spec: corev1.PodSpec{TerminationGracePeriodSeconds: ptr.To[int64](-5)},
			want: []string{"spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{ObjectMeta: test.meta, Spec: test.spec}
			if pod.Name == "" {
				pod.Name = "p"
			}
			if diff := cmp.Diff(test.want, append(podAppArmorWarnings(context.Background(), pod, nil), podWarnings(context.Background(), pod, nil)...)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
			if got := podWarnings(context.Background(), pod, pod); got != nil {
				t.Errorf("an update warned: %q", got)
			}
		})
	}
}
