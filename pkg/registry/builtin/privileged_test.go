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
		{"allowed", "--allow-privileged is true by default", "", "pods", true, &corev1.Pod{Spec: spec}, ""},
		{"pod", "the containers of the pod would be privileged", "", "pods", false, &corev1.Pod{Spec: spec},
			"spec.containers[0].securityContext.privileged"},
		{"deployment", "the pods of the template could never be created", "apps", "deployments", false,
			&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: template}},
			"spec.template.spec.containers[0].securityContext.privileged"},
		{"cron job", "the template of the pods is inside the template of the job", "batch", "cronjobs", false,
			&batchv1.CronJob{Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}}}},
			"spec.jobTemplate.spec.template.spec.containers[0].securityContext.privileged"},
		{"controller without a template", "a replication controller without a template has no containers", "",
			"replicationcontrollers", false, &corev1.ReplicationController{}, ""},
		{"config map", "a config map has no containers", "", "configmaps", false, &corev1.ConfigMap{}, ""},
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
