package builtin_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

func TestPrivileged(t *testing.T) {
	t.Parallel()
	yes := true
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", SecurityContext: &corev1.SecurityContext{Privileged: &yes}}}}
	template := corev1.PodTemplateSpec{Spec: spec}
	for _, test := range []struct {
		name, reason    string
		group, resource string
		allow           bool
		obj             runtime.Object
		want            string
	}{
		{"allowed", "the flag's default lets them be", "", "pods", true, &corev1.Pod{Spec: spec}, ""},
		{"pod", "a pod runs them", "", "pods", false, &corev1.Pod{Spec: spec}, "spec.containers[0].securityContext.privileged"},
		{"deployment", "what can't run shouldn't be stored", "apps", "deployments", false, &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: template}}, "spec.template.spec.containers[0].securityContext.privileged"},
		{"cron job", "its pods are three templates down", "batch", "cronjobs", false, &batchv1.CronJob{Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}}}}, "spec.jobTemplate.spec.template.spec.containers[0].securityContext.privileged"},
		{"controller without a template", "there is nothing to look at", "", "replicationcontrollers", false, &corev1.ReplicationController{}, ""},
		{"config map", "it runs nothing", "", "configmaps", false, &corev1.ConfigMap{}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := builtin.Table().Strategy(row(t, test.group, test.resource), registry.Dependencies{AllowPrivileged: test.allow})
			errs := slices.DeleteFunc(s.Validate(t.Context(), test.obj), func(err *field.Error) bool { return !strings.HasSuffix(err.Field, ".privileged") })
			var got string
			if len(errs) > 0 {
				got = errs[0].Field
			}
			if got != test.want {
				t.Errorf("%s: got an error at %q, want %q", test.reason, got, test.want)
			}
		})
	}
}
