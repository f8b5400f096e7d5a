package alwayspullimages

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	pod := func(image string) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Image: image, ImagePullPolicy: corev1.PullNever}},
			Containers:     []corev1.Container{{Image: image}},
			Volumes:        []corev1.Volume{{VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: image}}}},
		}}
	}
	tests := []struct {
		name, reason string
		request      plugintest.Request
		want         bool
	}{
		{name: "create", reason: "all images are new", request: plugintest.Create(pod("a")), want: true},
		{name: "other image", reason: "images of containers may change", request: plugintest.Update(pod("a"), pod("b")), want: true},
		{name: "same image", reason: "an update must not change the pull policy of running containers",
			request: plugintest.Update(pod("a"), pod("a"))},
		{name: "subresource", reason: "an update of the status adds no images",
			request: plugintest.Update(pod("a"), pod("b")).Of("status")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			plugintest.Run(t, New(), test.request, "")
			for _, image := range images(test.request.Object.(*corev1.Pod)) {
				if got := *image.policy == corev1.PullAlways; got != test.want {
					t.Errorf("%s: %s is %q", test.reason, image.path, *image.policy)
				}
			}
		})
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{ImagePullPolicy: corev1.PullNever}}}}
	err := New().Validate(t.Context(), plugintest.Create(pod).Attributes(t), nil)
	const want = `pods "p" is forbidden: spec.containers[0].imagePullPolicy: Unsupported value: "Never": supported values: "Always"`
	if err == nil || err.Error() != want {
		t.Errorf("a webhook has changed the policy back: error %v, want %s", err, want)
	}
}
