package registry

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// privileged refuses privileged containers where the server doesn't allow them, in pods
// and in the templates of pods.
func (s strategy) privileged(obj runtime.Object) field.ErrorList {
	if s.deps.AllowPrivileged {
		return nil
	}
	spec, path := podSpecIn(obj)
	if spec == nil {
		return nil
	}
	return validation.Privileged(path, spec)
}

// podSpecIn is the pod spec that an object has or makes pods from, and where it is.
func podSpecIn(obj runtime.Object) (*corev1.PodSpec, *field.Path) {
	template := func(t *corev1.PodTemplateSpec, path ...string) (*corev1.PodSpec, *field.Path) {
		return &t.Spec, field.NewPath(path[0], append(path[1:], "spec")...)
	}
	switch o := obj.(type) {
	case *corev1.Pod:
		return &o.Spec, field.NewPath("spec")
	case *corev1.PodTemplate:
		return template(&o.Template, "template")
	case *corev1.ReplicationController:
		if o.Spec.Template == nil {
			return nil, nil
		}
		return template(o.Spec.Template, "spec", "template")
	case *appsv1.Deployment:
		return template(&o.Spec.Template, "spec", "template")
	case *appsv1.ReplicaSet:
		return template(&o.Spec.Template, "spec", "template")
	case *appsv1.StatefulSet:
		return template(&o.Spec.Template, "spec", "template")
	case *appsv1.DaemonSet:
		return template(&o.Spec.Template, "spec", "template")
	case *batchv1.Job:
		return template(&o.Spec.Template, "spec", "template")
	case *batchv1.CronJob:
		return template(&o.Spec.JobTemplate.Spec.Template, "spec", "jobTemplate", "spec", "template")
	}
	return nil, nil
}
