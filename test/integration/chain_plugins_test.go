package integration_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// onPods makes a hook select the creation of pods.
var onPods = on("CREATE", "v1", "pods")

// In-tree plugins, such as LimitRanger and Priority, change an object before the first webhook gets it.
func TestMutatingPluginsComeBeforeWebhooks(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	must(srv.Client().CoreV1().LimitRanges("default").Create(t.Context(), &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Name: "defaults"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, Default: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
		}}},
	}, metav1.CreateOptions{}))(t)
	recorder := install(t, srv, mutating("mutate", allow(), onPods))
	must(srv.Client().CoreV1().Pods("default").Create(t.Context(), pod("a"), metav1.CreateOptions{}))(t)

	seen := decode[corev1.Pod](t, only(t, recorder).Object.Raw)
	if memory := seen.Spec.Containers[0].Resources.Limits.Memory(); memory.String() != "64Mi" {
		t.Errorf("LimitRanger: want its default of 64Mi, got %s", memory)
	}
	if len(seen.Spec.Tolerations) != 2 {
		t.Errorf("DefaultTolerationSeconds: want its two tolerations, got %v", seen.Spec.Tolerations)
	}
	if seen.Spec.Priority == nil || seen.Spec.PreemptionPolicy == nil {
		t.Error("Priority: want priority and preemption policy to be set")
	}
}

// Each of the four plugins for webhooks and policies can be turned off alone.
func TestEachWayToExtendTheChainIsTurnedOff(t *testing.T) {
	t.Parallel()
	extensions := []string{mutatingPolicies, mutatingWebhooks, validatingPolicies, validatingWebhooks}
	for _, off := range append(extensions, "none of them") {
		t.Run(off, func(t *testing.T) {
			t.Parallel()
			var options []miniapitest.Option
			if slices.Contains(extensions, off) {
				options = append(options, miniapitest.WithoutAdmissionPlugins(off))
			}
			srv := miniapitest.Start(t, options...)
			mutate(t, srv, "policy", mutations(applies(`Object{data: {"policy": "seen"}}`)), nil)
			enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named("policy"), Spec: validations(admissionregistrationv1.Validation{Expression: "false", Message: "seen"})},
				binding(admissionregistrationv1.Warn))
			recorder := install(t, srv, mutating("mutate", allow()), validating("validate", allow()))
			client, warnings := warned(t, srv)
			created := must(client.CoreV1().ConfigMaps("default").Create(t.Context(), thing(), metav1.CreateOptions{}))(t)

			var got []string
			if created.Data["policy"] == "seen" {
				got = append(got, mutatingPolicies)
			}
			if slices.Contains(called(recorder), "mutate") {
				got = append(got, mutatingWebhooks)
			}
			if strings.Contains(strings.Join(warnings.take(), "\n"), "Validation failed for ValidatingAdmissionPolicy 'policy'") {
				got = append(got, validatingPolicies)
			}
			if slices.Contains(called(recorder), "validate") {
				got = append(got, validatingWebhooks)
			}
			want := slices.DeleteFunc(slices.Clone(extensions), func(name string) bool { return name == off })
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("plugins that were asked (-want +got):\n%s", diff)
			}
		})
	}
}

// If a plugin is turned off or on, the order of the other plugins stays the same.
func TestPluginsAreChosen(t *testing.T) {
	t.Parallel()
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		srv := miniapitest.Start(t, miniapitest.WithoutAdmissionPlugins("MutatingAdmissionWebhook", "DefaultTolerationSeconds"))
		recorder := install(t, srv, mutating("mutate", allow(), onPods), validating("validate", allow(), onPods))
		created := must(srv.Client().CoreV1().Pods("default").Create(t.Context(), pod("a"), metav1.CreateOptions{}))(t)
		if diff := cmp.Diff([]string{"validate"}, called(recorder)); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if len(created.Spec.Tolerations) != 0 {
			t.Errorf("want no tolerations, got %v", created.Spec.Tolerations)
		}
	})
	t.Run("on", func(t *testing.T) {
		t.Parallel()
		srv := miniapitest.Start(t, miniapitest.WithAdmissionPlugins("AlwaysPullImages"))
		recorder := install(t, srv, mutating("mutate", allow(), onPods))
		must(srv.Client().CoreV1().Pods("default").Create(t.Context(), pod("a"), metav1.CreateOptions{}))(t)
		if policy := decode[corev1.Pod](t, only(t, recorder).Object.Raw).Spec.Containers[0].ImagePullPolicy; policy != corev1.PullAlways {
			t.Errorf("want the image to be pulled always, got %s", policy)
		}
	})
}
