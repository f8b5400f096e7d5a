package limitranger

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

// list abbreviates the name of the function in test tables.
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

func withInit(pod *corev1.Pod, resources corev1.ResourceRequirements) *corev1.Pod {
	pod.Spec.InitContainers = []corev1.Container{{Name: "i", Resources: resources}}
	return pod
}

func withOverhead(pod *corev1.Pod, overhead corev1.ResourceList) *corev1.Pod {
	pod.Spec.Overhead = overhead
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

// The defaults of a LimitRange don't change containers with their own requests and limits, and don't change a pod at an
// update.
func TestWithoutDefaults(t *testing.T) {
	t.Parallel()
	full := corev1.ResourceRequirements{Requests: list("cpu", "500m"), Limits: list("cpu", "1")}
	defaults := limitRange(
		corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Default: list("cpu", "2"), DefaultRequest: list("cpu", "1")},
		corev1.LimitRangeItem{Type: corev1.LimitTypePersistentVolumeClaim, Default: list("storage", "1Gi")},
	)
	tests := []struct {
		name, reason string
		request      plugintest.Request
	}{
		{name: "full", reason: "the container has its own requests and limits", request: plugintest.Create(podOf(full))},
		{name: "update", reason: "containers of a pod don't change",
			request: plugintest.Update(podOf(full), podOf(corev1.ResourceRequirements{}))},
		{name: "status", reason: "the status endpoint doesn't change containers",
			request: plugintest.Update(podOf(full), podOf(corev1.ResourceRequirements{})).Of("status")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, nil, defaults)
			want := test.request.Object.DeepCopyObject()
			plugintest.Run(t, p, test.request, "")
			if diff := cmp.Diff(want, test.request.Object); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// If several LimitRanges of a namespace have a default for one resource, the first LimitRange by name sets the default.
func TestOrder(t *testing.T) {
	t.Parallel()
	var ranges []runtime.Object
	for _, name := range []string{"e", "c", "a", "b", "d"} {
		l := limitRange(corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, DefaultRequest: list("example.com/"+name, "1", "example.com/shared", strconv.Itoa(int(name[0])))})
		l.Name = name
		ranges = append(ranges, l)
	}
	p := New()
	plugintest.Start(t, p, nil, ranges...)
	pod := podOf(corev1.ResourceRequirements{})
	pod.Annotations = map[string]string{"kept": "yes"}
	plugintest.Run(t, p, plugintest.Create(pod), "")
	if shared := pod.Spec.Containers[0].Resources.Requests["example.com/shared"]; shared.Value() != 'a' {
		t.Errorf("the default is %s, want that of the first limit range", shared.String())
	}
	if pod.Annotations["kept"] != "yes" {
		t.Errorf("annotations are %v: one is lost", pod.Annotations)
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
	leavingPod := podOf(small)
	leavingPod.DeletionTimestamp = &metav1.Time{}
	tests := []struct {
		name, reason, refusal string
		limit                 corev1.LimitRangeItem
		request               plugintest.Request
	}{
		{name: "within", reason: "the pod is within both bounds",
			limit:   corev1.LimitRangeItem{Type: container, Min: list("cpu", "100m"), Max: list("cpu", "200m")},
			request: plugintest.Create(podOf(small))},
		{name: "too little", reason: "the request counts",
			limit:   corev1.LimitRangeItem{Type: container, Min: list("cpu", "150m")},
			request: plugintest.Create(podOf(small)),
			refusal: "minimum cpu usage per Container is 150m, but request is 100m"},
		{name: "nothing", reason: "a container needs a request for a resource with a minimum",
			limit:   corev1.LimitRangeItem{Type: container, Min: list("memory", "1Mi")},
			request: plugintest.Create(podOf(small)),
			refusal: "minimum memory usage per Container is 1Mi.  No request is specified"},
		{name: "too much", reason: "the limit counts",
			limit:   corev1.LimitRangeItem{Type: container, Max: list("cpu", "150m")},
			request: plugintest.Create(podOf(small)),
			refusal: "maximum cpu usage per Container is 150m, but limit is 200m"},
		{name: "unlimited", reason: "without a limit there is no maximum",
			limit:   corev1.LimitRangeItem{Type: container, Max: list("memory", "1Gi")},
			request: plugintest.Create(podOf(small)),
			refusal: "maximum memory usage per Container is 1Gi.  No limit is specified"},
		{name: "whole pod", reason: "containers add up",
			limit:   corev1.LimitRangeItem{Type: whole, Max: list("cpu", "300m")},
			request: plugintest.Create(podOf(small, small)),
			refusal: "maximum cpu usage per Pod is 300m, but limit is 400m"},
		{name: "ratio", reason: "limits may not be far above requests",
			limit:   corev1.LimitRangeItem{Type: container, MaxLimitRequestRatio: list("cpu", "1500m")},
			request: plugintest.Create(podOf(small)),
			refusal: "cpu max limit to request ratio per Container is 1500m, but provided ratio is 2.000000"},
		{name: "two at once", reason: "the error lists all violations",
			limit:   corev1.LimitRangeItem{Type: container, Min: list("cpu", "1", "memory", "1Mi")},
			request: plugintest.Create(podOf(small)),
			refusal: "[minimum cpu usage per Container is 1, but request is 100m, minimum memory usage per Container is 1Mi.  No request is specified]"},
		{name: "init container", reason: "init containers are checked too",
			limit:   corev1.LimitRangeItem{Type: container, Max: list("cpu", "150m")},
			request: plugintest.Create(withInit(podOf(), small)),
			refusal: "maximum cpu usage per Container is 150m, but limit is 200m"},
		{name: "limit too little", reason: "the limit counts too",
			limit:   corev1.LimitRangeItem{Type: container, Min: list("cpu", "200m")},
			request: plugintest.Create(podOf(corev1.ResourceRequirements{Requests: list("cpu", "200m"), Limits: list("cpu", "100m")})),
			refusal: "minimum cpu usage per Container is 200m, but limit is 100m"},
		{name: "limit just enough", reason: "the bound is allowed",
			limit:   corev1.LimitRangeItem{Type: container, Min: list("cpu", "200m")},
			request: plugintest.Create(podOf(corev1.ResourceRequirements{Requests: list("cpu", "200m"), Limits: list("cpu", "200m")}))},
		{name: "request alone", reason: "without a limit, no limit is too low",
			limit:   corev1.LimitRangeItem{Type: container, Min: list("cpu", "100m")},
			request: plugintest.Create(podOf(corev1.ResourceRequirements{Requests: list("cpu", "100m")}))},
		{name: "limit alone", reason: "a missing request can't exceed the maximum",
			limit:   corev1.LimitRangeItem{Type: container, Max: list("cpu", "200m")},
			request: plugintest.Create(podOf(corev1.ResourceRequirements{Limits: list("cpu", "200m")}))},
		{name: "request too much", reason: "the request counts too",
			limit:   corev1.LimitRangeItem{Type: container, Max: list("cpu", "200m")},
			request: plugintest.Create(podOf(corev1.ResourceRequirements{Requests: list("cpu", "300m"), Limits: list("cpu", "200m")})),
			refusal: "maximum cpu usage per Container is 200m, but request is 300m"},
		{name: "overhead", reason: "the overhead belongs to the runtime and not to the pod",
			limit:   corev1.LimitRangeItem{Type: whole, Max: list("cpu", "200m")},
			request: plugintest.Create(withOverhead(podOf(small), list("cpu", "1")))},
		{name: "ratio just allowed", reason: "the bound is allowed",
			limit:   corev1.LimitRangeItem{Type: container, MaxLimitRequestRatio: list("cpu", "2")},
			request: plugintest.Create(podOf(small))},
		{name: "ratio to nothing", reason: "a request of zero has no ratio",
			limit:   corev1.LimitRangeItem{Type: container, MaxLimitRequestRatio: list("cpu", "2")},
			request: plugintest.Create(podOf(corev1.ResourceRequirements{Limits: list("cpu", "1")})),
			refusal: "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0"},
		{name: "ratio of nothing", reason: "no limit is far above every request",
			limit:   corev1.LimitRangeItem{Type: container, MaxLimitRequestRatio: list("cpu", "2")},
			request: plugintest.Create(podOf(corev1.ResourceRequirements{Requests: list("cpu", "1")})),
			refusal: "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0"},
		{name: "limits of claims", reason: "a pod isn't a claim",
			limit:   corev1.LimitRangeItem{Type: claim, Max: list("cpu", "1m"), Min: list("cpu", "1")},
			request: plugintest.Create(podOf(small))},
		{name: "update", reason: "containers of a pod don't change",
			limit:   corev1.LimitRangeItem{Type: container, Max: list("cpu", "1m")},
			request: plugintest.Update(podOf(small), podOf(small))},
		{name: "resize", reason: "a resize changes the resources of a pod's containers",
			limit:   corev1.LimitRangeItem{Type: container, Max: list("cpu", "1m")},
			request: plugintest.Update(podOf(small), podOf(small)).Of("resize"), refusal: "maximum cpu usage"},
		{name: "claim", reason: "claims only request",
			limit:   corev1.LimitRangeItem{Type: claim, Max: list("storage", "5Gi")},
			request: plugintest.Create(claimOf("6Gi")),
			refusal: "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi"},
		{name: "small claim", reason: "volumes have a least size",
			limit:   corev1.LimitRangeItem{Type: claim, Min: list("storage", "5Gi")},
			request: plugintest.Create(claimOf("4Gi")),
			refusal: "minimum storage usage per PersistentVolumeClaim is 5Gi, but request is 4Gi"},
		{name: "largest claim", reason: "the bound is allowed",
			limit:   corev1.LimitRangeItem{Type: claim, Max: list("storage", "5Gi"), Min: list("storage", "5Gi")},
			request: plugintest.Create(claimOf("5Gi"))},
		{name: "claim of nothing", reason: "a claim needs a request for a resource with a maximum",
			limit:   corev1.LimitRangeItem{Type: claim, Max: list("storage", "5Gi")},
			request: plugintest.Create(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}),
			refusal: "maximum storage usage per PersistentVolumeClaim is 5Gi.  No request is specified"},
		{name: "grown claim", reason: "claims can ask for more",
			limit:   corev1.LimitRangeItem{Type: claim, Max: list("storage", "5Gi")},
			request: plugintest.Update(claimOf("5Gi"), claimOf("6Gi")),
			refusal: "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi"},
		{name: "claim's status", reason: "an update of the status requests nothing",
			limit:   corev1.LimitRangeItem{Type: claim, Max: list("storage", "5Gi")},
			request: plugintest.Update(claimOf("6Gi"), claimOf("6Gi")).Of("status")},
		{name: "limits of containers", reason: "a claim isn't a container",
			limit:   corev1.LimitRangeItem{Type: container, Max: list("storage", "5Gi")},
			request: plugintest.Create(claimOf("6Gi"))},
		{name: "other kind", reason: "a ConfigMap has no requests and limits",
			limit:   corev1.LimitRangeItem{Type: container, Max: list("cpu", "1m")},
			request: plugintest.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}})},
		{name: "leaving pod", reason: "a pod that is being deleted uses no resources for long",
			limit:   corev1.LimitRangeItem{Type: container, Max: list("cpu", "1m")},
			request: plugintest.Update(leavingPod, leavingPod).Of("resize")},
		{name: "leaving claim", reason: "the finalizers of a deleted claim must be removable",
			limit:   corev1.LimitRangeItem{Type: claim, Max: list("storage", "5Gi")},
			request: plugintest.Update(leaving, leaving)},
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
