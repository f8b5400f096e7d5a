package statefulset

import (
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

// parentOf returns the name of the StatefulSet and the ordinal in the name of a pod. The ordinal is -1 if the name has
// none.
func parentOf(pod string) (set string, ordinal int) {
	i := strings.LastIndexByte(pod, '-')
	if i < 0 {
		return "", -1
	}
	n, err := strconv.ParseUint(pod[i+1:], 10, 31)
	if err != nil {
		return "", -1
	}
	return pod[:i], int(n)
}

func ordinalOf(pod *corev1.Pod) int {
	_, ordinal := parentOf(pod.Name)
	return ordinal
}

// ordinals returns the first ordinal of a StatefulSet's pods, and the one after the last.
func ordinals(set *appsv1.StatefulSet) (first, end int) {
	if set.Spec.Ordinals != nil {
		first = int(set.Spec.Ordinals.Start)
	}
	return first, first + int(*set.Spec.Replicas)
}

// isWanted reports whether the StatefulSet has a pod with the ordinal of a pod.
func isWanted(set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	first, end := ordinals(set)
	ordinal := ordinalOf(pod)
	return first <= ordinal && ordinal < end
}

func podName(set *appsv1.StatefulSet, ordinal int) string {
	return set.Name + "-" + strconv.Itoa(ordinal)
}

// newPod returns the pod with an ordinal, of a template that is a revision of the StatefulSet.
func newPod(set *appsv1.StatefulSet, ordinal int, revision *revision) *corev1.Pod {
	pod := owned.NewPod(revision.template, set, metav1.NewControllerRef(set, kind))
	pod.Name = podName(set, ordinal)
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, set.Spec.ServiceName
	identify(pod)
	pod.Labels[appsv1.StatefulSetRevisionLabel] = revision.Name
	mountClaims(set, pod)
	return pod
}

// identify gives a pod the labels of its identity.
func identify(pod *corev1.Pod) {
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[appsv1.StatefulSetPodNameLabel] = pod.Name
	pod.Labels[appsv1.PodIndexLabel] = strconv.Itoa(ordinalOf(pod))
}

// hasClaims reports whether the volumes of a pod are the claims of its StatefulSet.
func hasClaims(set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	return !slices.ContainsFunc(set.Spec.VolumeClaimTemplates, func(template corev1.PersistentVolumeClaim) bool {
		return !slices.ContainsFunc(pod.Spec.Volumes, func(volume corev1.Volume) bool {
			claim := volume.PersistentVolumeClaim
			return volume.Name == template.Name && claim != nil && claim.ClaimName == claimName(set, &template, pod)
		})
	})
}

// mountClaims replaces the volumes of a pod that have the names of its StatefulSet's claims.
func mountClaims(set *appsv1.StatefulSet, pod *corev1.Pod) {
	var volumes []corev1.Volume
	for _, template := range set.Spec.VolumeClaimTemplates {
		volumes = append(volumes, corev1.Volume{Name: template.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(set, &template, pod)},
		}})
	}
	for _, volume := range pod.Spec.Volumes {
		if !slices.ContainsFunc(set.Spec.VolumeClaimTemplates, func(t corev1.PersistentVolumeClaim) bool { return t.Name == volume.Name }) {
			volumes = append(volumes, volume)
		}
	}
	pod.Spec.Volumes = volumes
}

func claimName(set *appsv1.StatefulSet, template *corev1.PersistentVolumeClaim, pod *corev1.Pod) string {
	return template.Name + "-" + podName(set, ordinalOf(pod))
}

// newClaims returns the claims of a pod.
func newClaims(set *appsv1.StatefulSet, pod *corev1.Pod) []*corev1.PersistentVolumeClaim {
	var claims []*corev1.PersistentVolumeClaim
	for _, template := range set.Spec.VolumeClaimTemplates {
		claim := template.DeepCopy()
		claim.Name, claim.Namespace = claimName(set, &template, pod), set.Namespace
		if claim.Labels == nil {
			claim.Labels = map[string]string{}
		}
		for key, value := range set.Spec.Selector.MatchLabels {
			claim.Labels[key] = value
		}
		claims = append(claims, claim)
	}
	return claims
}
