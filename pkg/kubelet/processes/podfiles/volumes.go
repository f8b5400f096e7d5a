// Package podfiles lays out the volumes of a pod whose containers run as processes, in folders of this machine. The files of
// ConfigMaps, Secrets, the downward API and tokens are those that a kubelet writes. A hostPath volume is a path of this machine.
// All other volumes are empty folders.
package podfiles

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/environment"
)

// Volumes are the volumes of a pod.
type Volumes struct {
	folder string
	tokens tokens
}

// New returns the volumes of a pod, which lie in a folder.
func New(folder string) *Volumes {
	return &Volumes{folder: folder, tokens: tokens{of: map[corev1.ServiceAccountTokenProjection]token{}}}
}

// Path returns the folder or the file of a volume of the pod.
func (v *Volumes) Path(pod *corev1.Pod, name string) string {
	for _, volume := range pod.Spec.Volumes {
		if volume.Name == name && volume.HostPath != nil {
			return volume.HostPath.Path
		}
	}
	return v.path(name)
}

// path returns the folder of a volume that belongs to the pod.
func (v *Volumes) path(name string) string { return filepath.Join(v.folder, name) }

// Write writes the volumes, or changes them to what the cluster has now. The error is that of the kubelet.
func (v *Volumes) Write(ctx context.Context, cluster Cluster, pod environment.Pod) error {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if err := v.write(ctx, cluster, pod, volume); err != nil {
			return fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", volume.Name, err)
		}
	}
	return nil
}

// Renewal returns the time at which Write has to renew a token, or false without one.
func (v *Volumes) Renewal() (time.Time, bool) { return v.tokens.renewal() }

func (v *Volumes) write(ctx context.Context, cluster Cluster, pod environment.Pod, volume *corev1.Volume) error {
	if volume.HostPath != nil {
		return checkHostPath(volume.HostPath)
	}
	projections, mode := projectionsOf(volume)
	if projections == nil {
		return os.MkdirAll(v.path(volume.Name), 0o700)
	}
	s := source{cluster: cluster, pod: pod, mode: mode, tokens: &v.tokens}
	content := map[string]File{}
	for _, p := range projections {
		files, err := s.of(ctx, p)
		if err != nil {
			return err
		}
		maps.Copy(content, files)
	}
	return write(v.path(volume.Name), content)
}

// projectionsOf returns the sources of a volume's files, or nil if the volume is an empty folder.
func projectionsOf(volume *corev1.Volume) ([]corev1.VolumeProjection, *int32) {
	switch {
	case volume.ConfigMap != nil:
		from := volume.ConfigMap
		return []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: from.LocalObjectReference, Items: from.Items, Optional: from.Optional,
		}}}, from.DefaultMode
	case volume.Secret != nil:
		from := volume.Secret
		return []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: from.SecretName}, Items: from.Items, Optional: from.Optional,
		}}}, from.DefaultMode
	case volume.DownwardAPI != nil:
		return []corev1.VolumeProjection{{DownwardAPI: &corev1.DownwardAPIProjection{Items: volume.DownwardAPI.Items}}}, volume.DownwardAPI.DefaultMode
	case volume.Projected != nil:
		return append([]corev1.VolumeProjection{}, volume.Projected.Sources...), volume.Projected.DefaultMode
	}
	return nil, nil
}

// ReadOnly reports whether containers can't change a volume of a pod, because its files come from the cluster.
func ReadOnly(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(volume corev1.Volume) bool {
		projections, _ := projectionsOf(&volume)
		return volume.Name == name && projections != nil
	})
}

// Given reports whether a process gets what a volume stands for. Other volumes are empty folders in its place.
func Given(volume *corev1.Volume) bool {
	projections, _ := projectionsOf(volume)
	return projections != nil || volume.EmptyDir != nil || volume.HostPath != nil
}
