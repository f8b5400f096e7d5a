package podsecurity

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	namespace := func(name, level string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": level}}}
	}
	pod := func(ns string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}, Spec: corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{Name: "c"}}}}
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "strict", Name: "d"}, Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: pod("").Spec}}}
	tests := []struct {
		name, reason, config, refusal string
		request                       plugintest.Request
	}{
		{name: "no label", reason: "by default everything is privileged", request: plugintest.Create(pod("free"))},
		{name: "baseline", reason: "a label of the namespace selects the level",
			request: plugintest.Create(pod("strict")),
			refusal: `pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)`},
		{name: "deployment", reason: "the plugin refuses only pods, and warns about objects with a pod template",
			request: plugintest.Create(deployment)},
		{name: "wrong level", reason: "a misspelled level protects nothing",
			request: plugintest.Create(namespace("new", "strict")),
			refusal: `must be one of privileged, baseline, restricted`},
		{name: "default level", reason: "the configuration sets the level of namespaces without labels", request: plugintest.Create(pod("free")),
			config:  "apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\ndefaults: {enforce: baseline}\n",
			refusal: "violates PodSecurity"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var err error
			var p *Plugin
			if test.config == "" {
				p, err = New(nil)
			} else {
				p, err = New(strings.NewReader(test.config))
			}
			if err != nil {
				t.Fatal(err)
			}
			objects := []runtime.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "free"}}, namespace("strict", "baseline")}
			plugintest.Start(t, p, nil, objects...)
			plugintest.Run(t, p, test.request, test.refusal)
		})
	}
}
