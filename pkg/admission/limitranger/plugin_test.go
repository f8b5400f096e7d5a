package limitranger

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/internal/plugintest"
)

// list is short for tables.
var list = plugintest.Resources

func limitRange(limits ...corev1.LimitRangeItem) *corev1.LimitRange {
	return &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "l"}, Spec: corev1.LimitRangeSpec{Limits: limits}}
}

func podOf(containers ...corev1.ResourceRequirements) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}
	for i, resources := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: string(rune('a' + i)), Resources: resources})
	}
	return pod
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	p := New()
	plugintest.Start(t, p, nil, limitRange(corev1.LimitRangeItem{
		Type: corev1.LimitTypeContainer, Default: list("cpu", "2", "memory", "2Gi"), DefaultRequest: list("cpu", "1", "memory", "1Gi"),
	}))
	pod := podOf(corev1.ResourceRequirements{}, corev1.ResourceRequirements{Requests: list("cpu", "500m")})
	pod.Spec.InitContainers = []corev1.Container{{Name: "i", Resources: corev1.ResourceRequirements{Limits: list("cpu", "1", "memory", "1Gi")}}}
	plugintest.Run(t, p, plugintest.Create(pod), "")

	full := corev1.ResourceRequirements{Requests: list("cpu", "1", "memory", "1Gi"), Limits: list("cpu", "2", "memory", "2Gi")}
	want := podOf(full, corev1.ResourceRequirements{Requests: list("cpu", "500m", "memory", "1Gi"), Limits: list("cpu", "2", "memory", "2Gi")})
	want.Spec.InitContainers = []corev1.Container{{Name: "i", Resources: corev1.ResourceRequirements{Requests: list("cpu", "1", "memory", "1Gi"), Limits: list("cpu", "1", "memory", "1Gi")}}}
	want.Annotations = map[string]string{annotation: "LimitRanger plugin set: cpu, memory request for container a; cpu, memory limit for container a; " +
		"memory request for container b; cpu, memory limit for container b; cpu, memory request for init container i"}
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConstraints(t *testing.T) {
	t.Parallel()
	container, whole, claim := corev1.LimitTypeContainer, corev1.LimitTypePod, corev1.LimitTypePersistentVolumeClaim
	small := corev1.ResourceRequirements{Requests: list("cpu", "100m"), Limits: list("cpu", "200m")}
	claimOf := func(size string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}, Spec: corev1.PersistentVolumeClaimSpec{
			Resources: corev1.VolumeResourceRequirements{Requests: list("storage", size)}}}
	}
	leaving := claimOf("9Gi")
	leaving.DeletionTimestamp = &metav1.Time{}
	tests := []struct {
		name, reason, refusal string
		limit                 corev1.LimitRangeItem
		request               plugintest.Request
	}{
		{name: "within", reason: "both bounds hold", limit: corev1.LimitRangeItem{Type: container, Min: list("cpu", "100m"), Max: list("cpu", "200m")}, request: plugintest.Create(podOf(small))},
		{name: "too little", reason: "the request counts", limit: corev1.LimitRangeItem{Type: container, Min: list("cpu", "150m")}, request: plugintest.Create(podOf(small)), refusal: "minimum cpu usage per Container is 150m, but request is 100m"},
		{name: "nothing", reason: "what is bounded must be said", limit: corev1.LimitRangeItem{Type: container, Min: list("memory", "1Mi")}, request: plugintest.Create(podOf(small)), refusal: "minimum memory usage per Container is 1Mi.  No request is specified"},
		{name: "too much", reason: "the limit counts", limit: corev1.LimitRangeItem{Type: container, Max: list("cpu", "150m")}, request: plugintest.Create(podOf(small)), refusal: "maximum cpu usage per Container is 150m, but limit is 200m"},
		{name: "unlimited", reason: "without a limit there is no maximum", limit: corev1.LimitRangeItem{Type: container, Max: list("memory", "1Gi")}, request: plugintest.Create(podOf(small)), refusal: "maximum memory usage per Container is 1Gi.  No limit is specified"},
		{name: "whole pod", reason: "containers add up", limit: corev1.LimitRangeItem{Type: whole, Max: list("cpu", "300m")}, request: plugintest.Create(podOf(small, small)), refusal: "maximum cpu usage per Pod is 300m, but limit is 400m"},
		{name: "ratio", reason: "limits may not be far above requests", limit: corev1.LimitRangeItem{Type: container, MaxLimitRequestRatio: list("cpu", "1500m")}, request: plugintest.Create(podOf(small)), refusal: "cpu max limit to request ratio per Container is 1500m, but provided ratio is 2.000000"},
		{name: "two at once", reason: "all that is wrong is told", limit: corev1.LimitRangeItem{Type: container, Min: list("cpu", "1", "memory", "1Mi")}, request: plugintest.Create(podOf(small)), refusal: "[minimum cpu usage per Container is 1, but request is 100m, minimum memory usage per Container is 1Mi.  No request is specified]"},
		{name: "update", reason: "containers of a pod don't change", limit: corev1.LimitRangeItem{Type: container, Max: list("cpu", "1m")}, request: plugintest.Update(podOf(small), podOf(small))},
		{name: "resize", reason: "but for their resources", limit: corev1.LimitRangeItem{Type: container, Max: list("cpu", "1m")}, request: plugintest.Update(podOf(small), podOf(small)).Of("resize"), refusal: "maximum cpu usage"},
		{name: "claim", reason: "claims only request", limit: corev1.LimitRangeItem{Type: claim, Max: list("storage", "5Gi")}, request: plugintest.Create(claimOf("6Gi")), refusal: "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi"},
		{name: "leaving claim", reason: "its finalizers must come off", limit: corev1.LimitRangeItem{Type: claim, Max: list("storage", "5Gi")}, request: plugintest.Update(leaving, leaving)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, nil, limitRange(test.limit))
			plugintest.Run(t, p, test.request, test.refusal)
		})
	}
}
