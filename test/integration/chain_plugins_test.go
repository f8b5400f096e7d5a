package integration_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// onPods makes a hook select the creation of pods.
var onPods = on("CREATE", "v1", "pods")

// The in-tree plugins change an object before the first webhook gets it.
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

// The in-tree plugins validate an object after all mutating webhooks, and before the validating webhooks. So a
// webhook's change can't bypass a plugin.
func TestValidatingPluginsComeAfterMutatingWebhooks(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	core := srv.Client().CoreV1()
	must(core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "careful", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "baseline"},
	}}, metav1.CreateOptions{}))(t)
	must(core.LimitRanges("careful").Create(t.Context(), &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Name: "limits"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
		}}},
	}, metav1.CreateOptions{}))(t)
	for _, tc := range []struct {
		name, reason string
		patch        miniapitest.PatchOperation
		want         string
	}{
		{
			"PodSecurity", "a webhook has made the container privileged",
			miniapitest.Add("/spec/containers/0/securityContext", map[string]any{"privileged": true}), `violates PodSecurity "baseline:latest": privileged`,
		},
		{
			"LimitRanger", "a webhook has given the container more than its maximum",
			miniapitest.Replace("/spec/containers/0/resources/limits/memory", "1Gi"), "maximum memory usage per Container is 64Mi, but limit is 1Gi",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			recorder := install(t, srv, mutating("mutate", patch(tc.patch), onPods), validating("validate", allow(), onPods))
			_, err := core.Pods("careful").Create(t.Context(), pod("a"), metav1.CreateOptions{})
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: want %q, got %v", tc.reason, tc.want, err)
			}
			if diff := cmp.Diff([]string{"mutate"}, called(recorder)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// NamespaceLifecycle runs first: if the namespace of an object doesn't exist, no webhook is called.
func TestNamespaceLifecycleComesFirst(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	core := srv.Client().CoreV1()
	must(core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ending"}}, metav1.CreateOptions{}))(t)
	must(core.ConfigMaps("ending").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "held", Finalizers: []string{"example.com/hold"},
	}}, metav1.CreateOptions{}))(t)
	ok(t, core.Namespaces().Delete(t.Context(), "ending", metav1.DeleteOptions{}))
	recorder := install(t, srv, mutating("mutate", allow(), on("CREATE", "v1", "configmaps")))
	for namespace, refused := range map[string]func(error) bool{
		"missing": apierrors.IsNotFound,
		"ending": func(err error) bool {
			return apierrors.IsForbidden(err) && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
		},
	} {
		if _, err := core.ConfigMaps(namespace).Create(t.Context(), thing(), metav1.CreateOptions{}); !refused(err) {
			t.Errorf("namespace %q: unexpected answer %v", namespace, err)
		}
	}
	if names := called(recorder); names != nil {
		t.Errorf("calls of webhooks: %v", names)
	}
}

// ResourceQuota runs last. It doesn't count an object that a validating webhook refuses, and counting an object calls
// no webhook again.
func TestResourceQuotaComesLast(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	core := srv.Client().CoreV1()
	quota := must(core.ResourceQuotas("default").Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/secrets": resource.MustParse("1")}},
	}, metav1.CreateOptions{}))(t)
	// This server has no controller of quotas, so the test writes the status that the controller would write.
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: corev1.ResourceList{"count/secrets": resource.MustParse("0")}}
	must(core.ResourceQuotas("default").UpdateStatus(t.Context(), quota, metav1.UpdateOptions{}))(t)
	create := func(name string) error {
		_, err := core.Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
	used := func() string {
		status := must(core.ResourceQuotas("default").Get(t.Context(), "few", metav1.GetOptions{}))(t).Status
		count := status.Used["count/secrets"]
		return count.String()
	}

	t.Run("refused", func(t *testing.T) {
		install(t, srv, validating("validate", deny("no"), on("CREATE", "v1", "secrets")))
		if err := create("refused"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "denied the request: no") {
			t.Errorf("want the webhook's refusal, got %v", err)
		}
		if count := used(); count != "0" {
			t.Errorf("want a refused secret not to be counted, got %s", count)
		}
	})
	t.Run("admitted", func(t *testing.T) {
		recorder := install(t, srv, validating("validate", allow(), on("CREATE", "v1", "secrets")))
		ok(t, create("counted"))
		if count := used(); count != "1" {
			t.Errorf("want the secret to be counted, got %s", count)
		}
		if err := create("too-many"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota: few") {
			t.Errorf("want the quota to be exceeded, got %v", err)
		}
		if diff := cmp.Diff([]string{"validate", "validate"}, called(recorder)); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
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
