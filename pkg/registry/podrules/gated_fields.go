package podrules

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
)

// gates are the feature gates of fields in pod specs.
var gates = []registry.Gate{
	registry.GateOf[corev1.PodSpec]("AtomicWriteVolumeUserFields",
		"Volumes.Secret.DefaultUser", "Volumes.Secret.Items.User",
		"Volumes.ConfigMap.DefaultUser", "Volumes.ConfigMap.Items.User",
		"Volumes.DownwardAPI.DefaultUser", "Volumes.DownwardAPI.Items.User",
		"Volumes.Projected.DefaultUser",
		"Volumes.Projected.Sources.Secret.Items.User",
		"Volumes.Projected.Sources.ConfigMap.Items.User",
		"Volumes.Projected.Sources.DownwardAPI.Items.User",
		"Volumes.Projected.Sources.ServiceAccountToken.User",
		"Volumes.Projected.Sources.ClusterTrustBundle.User",
		"Volumes.Projected.Sources.PodCertificate.User"),
	stopSignals,
	registry.GateOf[corev1.PodSpec]("DynamicResourceAllocation", append(ofContainers("Resources.Claims"), "ResourceClaims")...),
	registry.GateOf[corev1.PodSpec]("EmptyDirVolumeMode", "Volumes.EmptyDir.Mode"),
	registry.GateOf[corev1.PodSpec]("GenericWorkload", "SchedulingGroup"),
	registry.GateOf[corev1.PodSpec]("InPlacePodVerticalScaling", ofContainers("ResizePolicy")...),
	registry.GateOf[corev1.PodSpec]("MatchLabelKeysInPodTopologySpread", "TopologySpreadConstraints.MatchLabelKeys"),
	podResources,
	procMounts,
	registry.GateOf[corev1.PodSpec]("SELinuxChangePolicy", "SecurityContext.SELinuxChangePolicy"),
	registry.GateOf[corev1.PodSpec]("SupplementalGroupsPolicy", "SecurityContext.SupplementalGroupsPolicy"),
	registry.GateOf[corev1.PodSpec]("UserNamespacesSupport", "HostUsers"),
	registry.GateOf[corev1.PodSpec]("VolumeBindMountOptions", ofContainers("VolumeMounts.BindMountOptions")...),
	registry.GateOf[corev1.PodSpec]("H2CContainerProbe", ofContainers(
		"LivenessProbe.HTTPGet.Protocol", "ReadinessProbe.HTTPGet.Protocol", "StartupProbe.HTTPGet.Protocol",
		"Lifecycle.PostStart.HTTPGet.Protocol", "Lifecycle.PreStop.HTTPGet.Protocol")...),
	registry.GateOf[corev1.PodSpec]("GRPCContainerProbeTLS", ofContainers(
		"LivenessProbe.GRPC.Mode", "ReadinessProbe.GRPC.Mode", "StartupProbe.GRPC.Mode")...),
	registry.GateOf[corev1.PodSpec]("EvictionRequestAPI", "EvictionResponders"),
	restartRules,
	registry.GateOf[corev1.PodSpec]("EnvFiles", ofContainers("Env.ValueFrom.FileKeyRef")...),
	registry.GateOf[corev1.PodSpec]("HostnameOverride", "HostnameOverride"),
	imageVolumes,
	registry.GateOf[corev1.PodSpec]("ClusterTrustBundleProjection", "Volumes.Projected.Sources.ClusterTrustBundle"),
	registry.GateOf[corev1.PodSpec]("PodCertificateRequest", "Volumes.Projected.Sources.PodCertificate"),
}

// ofContainers returns the paths of fields in all containers of a pod spec.
func ofContainers(paths ...string) []string {
	var fields []string
	for _, list := range []string{"InitContainers", "Containers", "EphemeralContainers"} {
		for _, path := range paths {
			fields = append(fields, list+"."+path)
		}
	}
	return fields
}

// restartRules is the gate of restart policies of containers (KEP-5307). An init container with the policy Always
// is a sidecar. Sidecars are older than the gate, so the gate drops only the rules of a sidecar, and not its policy.
var restartRules = registry.GateBy("ContainerRestartRules",
	func(spec *corev1.PodSpec) bool {
		return slices.ContainsFunc(spec.InitContainers, restartsByRule) ||
			slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool { return c.RestartPolicy != nil })
	},
	func(spec *corev1.PodSpec) {
		for i := range spec.InitContainers {
			c := &spec.InitContainers[i]
			c.RestartPolicyRules = nil
			if restartsByRule(*c) {
				c.RestartPolicy = nil
			}
		}
		for i := range spec.Containers {
			spec.Containers[i].RestartPolicy, spec.Containers[i].RestartPolicyRules = nil, nil
		}
		for i := range spec.EphemeralContainers {
			spec.EphemeralContainers[i].RestartPolicy, spec.EphemeralContainers[i].RestartPolicyRules = nil, nil
		}
	},
	"InitContainers.RestartPolicy", "InitContainers.RestartPolicyRules", "Containers.RestartPolicy")

func restartsByRule(c corev1.Container) bool {
	return len(c.RestartPolicyRules) > 0 || c.RestartPolicy != nil && *c.RestartPolicy != corev1.ContainerRestartPolicyAlways
}

// stopSignals is the gate of the stop signals of containers (KEP-4960). If a lifecycle has only a stop signal, the whole
// lifecycle is dropped.
var stopSignals = registry.GateBy("ContainerStopSignals",
	func(spec *corev1.PodSpec) bool {
		for _, c := range podspec.Containers(spec, nil) {
			if c.Lifecycle != nil && c.Lifecycle.StopSignal != nil {
				return true
			}
		}
		return false
	},
	func(spec *corev1.PodSpec) {
		for _, c := range podspec.Containers(spec, nil) {
			if c.Lifecycle == nil || c.Lifecycle.StopSignal == nil {
				continue
			}
			if c.Lifecycle.StopSignal = nil; *c.Lifecycle == (corev1.Lifecycle{}) {
				c.Lifecycle = nil
			}
		}
	},
	ofContainers("Lifecycle.StopSignal")...)

// podResources is the gate of the resources of a whole pod (KEP-2837). Empty resources don't count as used.
var podResources = registry.GateBy("PodLevelResources",
	func(spec *corev1.PodSpec) bool {
		return spec.Resources != nil && len(spec.Resources.Requests)+len(spec.Resources.Limits) > 0
	},
	func(spec *corev1.PodSpec) { spec.Resources = nil },
	"Resources.Requests", "Resources.Limits")

// procMounts is the gate of unmasked procfs mounts (KEP-4265). Instead of dropping the field, it sets the value that
// containers without the field have.
var procMounts = registry.GateBy("ProcMountType",
	func(spec *corev1.PodSpec) bool {
		for _, c := range podspec.Containers(spec, nil) {
			if s := c.SecurityContext; s != nil && s.ProcMount != nil && *s.ProcMount != corev1.DefaultProcMount {
				return true
			}
		}
		return false
	},
	func(spec *corev1.PodSpec) {
		for _, c := range podspec.Containers(spec, nil) {
			if s := c.SecurityContext; s != nil && s.ProcMount != nil {
				*s.ProcMount = corev1.DefaultProcMount
			}
		}
	},
	ofContainers("SecurityContext.ProcMount")...)

// imageVolumes is the gate of image volumes (KEP-4639). If a volume is dropped, its mounts are dropped too.
var imageVolumes = registry.GateBy("ImageVolume",
	func(spec *corev1.PodSpec) bool { return slices.ContainsFunc(spec.Volumes, isImageVolume) },
	func(spec *corev1.PodSpec) {
		images := map[string]bool{}
		for _, v := range spec.Volumes {
			images[v.Name] = isImageVolume(v)
		}
		spec.Volumes = slices.DeleteFunc(spec.Volumes, isImageVolume)
		ofImage := func(m corev1.VolumeMount) bool { return images[m.Name] }
		for i := range spec.InitContainers {
			spec.InitContainers[i].VolumeMounts = slices.DeleteFunc(spec.InitContainers[i].VolumeMounts, ofImage)
		}
		for i := range spec.Containers {
			spec.Containers[i].VolumeMounts = slices.DeleteFunc(spec.Containers[i].VolumeMounts, ofImage)
		}
		for i := range spec.EphemeralContainers {
			spec.EphemeralContainers[i].VolumeMounts = slices.DeleteFunc(spec.EphemeralContainers[i].VolumeMounts, ofImage)
		}
	},
	"Volumes.Image")

func isImageVolume(v corev1.Volume) bool { return v.Image != nil }
