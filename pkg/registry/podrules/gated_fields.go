package podrules

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// gates are the feature gates of fields in pod specs.
var gates = []registry.Gate{
	registry.GateOf[corev1.PodSpec](registry.OffByDefault, "AtomicWriteVolumeUserFields",
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
	registry.GateOf[corev1.PodSpec](registry.OffByDefault, "EmptyDirVolumeMode", "Volumes.EmptyDir.Mode"),
	registry.GateOf[corev1.PodSpec](registry.OffByDefault, "VolumeBindMountOptions", ofContainers("VolumeMounts.BindMountOptions")...),
	registry.GateOf[corev1.PodSpec](registry.OffByDefault, "H2CContainerProbe", ofContainers(
		"LivenessProbe.HTTPGet.Protocol", "ReadinessProbe.HTTPGet.Protocol", "StartupProbe.HTTPGet.Protocol",
		"Lifecycle.PostStart.HTTPGet.Protocol", "Lifecycle.PreStop.HTTPGet.Protocol")...),
	registry.GateOf[corev1.PodSpec](registry.OffByDefault, "GRPCContainerProbeTLS", ofContainers(
		"LivenessProbe.GRPC.Mode", "ReadinessProbe.GRPC.Mode", "StartupProbe.GRPC.Mode")...),
	registry.GateOf[corev1.PodSpec](registry.OffByDefault, "EvictionRequestAPI", "EvictionResponders"),
	restartRules,
	registry.GateOf[corev1.PodSpec]("1.35", "EnvFiles", ofContainers("Env.ValueFrom.FileKeyRef")...),
	registry.GateOf[corev1.PodSpec]("1.35", "HostnameOverride", "HostnameOverride"),
	imageVolumes,
	registry.GateOf[corev1.PodSpec]("1.37", "ClusterTrustBundleProjection", "Volumes.Projected.Sources.ClusterTrustBundle"),
	registry.GateOf[corev1.PodSpec]("1.37", "PodCertificateRequest", "Volumes.Projected.Sources.PodCertificate"),
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
var restartRules = registry.GateBy("1.35", "ContainerRestartRules",
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
	})

func restartsByRule(c corev1.Container) bool {
	return len(c.RestartPolicyRules) > 0 || c.RestartPolicy != nil && *c.RestartPolicy != corev1.ContainerRestartPolicyAlways
}

// imageVolumes is the gate of image volumes (KEP-4639). If a volume is dropped, its mounts are dropped too.
var imageVolumes = registry.GateBy("1.35", "ImageVolume",
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
	})

func isImageVolume(v corev1.Volume) bool { return v.Image != nil }
