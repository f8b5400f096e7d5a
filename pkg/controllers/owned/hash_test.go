package owned_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

// The hashes are those of kube-controller-manager 1.37.2 for a Deployment with the template. Hidden states of a template's
// values don't count.
func TestTemplateHash(t *testing.T) {
	t.Parallel()
	parsed := resource.MustParse("1Gi")
	if parsed.String() != "1Gi" { // String keeps the text in the quantity
		t.Fatal(parsed.String())
	}
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(0)),
			RestartPolicy:                 corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst, SchedulerName: corev1.DefaultSchedulerName,
			SecurityContext: &corev1.PodSecurityContext{},
			Containers: []corev1.Container{{
				Name: "c", Image: "i:1", Command: []string{}, ImagePullPolicy: corev1.PullIfNotPresent,
				TerminationMessagePath: corev1.TerminationMessagePathDefault, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
				Env: []corev1.EnvVar{{Name: "A", Value: "b"}},
				Resources: corev1.ResourceRequirements{
					Limits:   corev1.ResourceList{corev1.ResourceMemory: parsed},
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m"), corev1.ResourceMemory: resource.MustParse("1Mi")},
				},
				ReadinessProbe: &corev1.Probe{
					ProbeHandler:   corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80), Scheme: corev1.URISchemeHTTP}},
					TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
				},
			}},
		},
	}
	for _, test := range []struct {
		name, reason string
		collisions   *int32
		want         string
	}{
		{"none", "the template alone counts", nil, "9b5588784"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := owned.TemplateHash(template, test.collisions)
			if err != nil || got != test.want {
				t.Errorf("%s: want the hash %s, got %s and the error %v", test.reason, test.want, got, err)
			}
		})
	}
}
