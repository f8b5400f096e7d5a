package registry

import (
	"context"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

var deploymentHooks = HooksOf[*appsv1.Deployment]{
	PrepareForStatusUpdate: func(_ context.Context, d, old *appsv1.Deployment) { d.Labels = old.Labels },
	// A change of annotations counts, too: the controller copies them to ReplicaSets.
	SpecChanged: func(d, old *appsv1.Deployment) bool {
		return !apiequality.Semantic.DeepEqual(d.Spec, old.Spec) || !apiequality.Semantic.DeepEqual(d.Annotations, old.Annotations)
	},
	Validate:             validation.Deployment,
	ValidateUpdate:       validation.DeploymentUpdate,
	ValidateStatusUpdate: validation.DeploymentStatusUpdate,
	Warnings:             warnings.Deployment,
}

// daemonSetHooks count the changes of the template in an annotation, as the spec of
// extensions/v1beta1 did. Clients can't set it.
var daemonSetHooks = HooksOf[*appsv1.DaemonSet]{
	PrepareForCreate: func(_ context.Context, d *appsv1.DaemonSet) {
		setTemplateGeneration(d, max(1, templateGeneration(d)))
	},
	PrepareForUpdate: func(_ context.Context, d, old *appsv1.DaemonSet) {
		generation := templateGeneration(old)
		if !apiequality.Semantic.DeepEqual(d.Spec.Template, old.Spec.Template) {
			generation++
		}
		setTemplateGeneration(d, generation)
	},
	PrepareForStatusUpdate: func(_ context.Context, d, old *appsv1.DaemonSet) {
		setTemplateGeneration(d, templateGeneration(old))
	},
	Validate:             validation.DaemonSet,
	ValidateUpdate:       validation.DaemonSetUpdate,
	ValidateStatusUpdate: validation.DaemonSetStatusUpdate,
	Warnings:             warnings.DaemonSet,
}

func templateGeneration(d *appsv1.DaemonSet) int64 {
	// What isn't a number counts as none.
	n, _ := strconv.ParseInt(d.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	return n
}

func setTemplateGeneration(d *appsv1.DaemonSet, n int64) {
	metav1.SetMetaDataAnnotation(&d.ObjectMeta, appsv1.DeprecatedTemplateGeneration, strconv.FormatInt(n, 10))
}

var jobHooks = HooksOf[*batchv1.Job]{
	PrepareForCreate: func(_ context.Context, j *batchv1.Job) {
		if j.Spec.ManualSelector == nil || !*j.Spec.ManualSelector {
			selectOwnPods(j)
		}
	},
	Validate:             validation.Job,
	ValidateUpdate:       validation.JobUpdate,
	ValidateStatusUpdate: validation.JobStatusUpdate,
	Warnings:             warnings.Job,
}

// Labels of pods that tell what job they belong to, before they had a prefix.
const (
	legacyJobNameLabel       = "job-name"
	legacyControllerUIDLabel = "controller-uid"
)

// selectOwnPods labels the template with the job's name and uid, and selects by the
// uid. A value that is there already is left for validation to judge.
//
// The template's labels are changed in place: where they are the job's own labels, by
// default (see package defaults), the job gets them, too.
func selectOwnPods(j *batchv1.Job) {
	labels := &j.Spec.Template.Labels
	setIfAbsent(labels, legacyJobNameLabel, j.Name)
	setIfAbsent(labels, batchv1.JobNameLabel, j.Name)
	setIfAbsent(labels, legacyControllerUIDLabel, string(j.UID))
	setIfAbsent(labels, batchv1.ControllerUidLabel, string(j.UID))
	if j.Spec.Selector == nil {
		j.Spec.Selector = &metav1.LabelSelector{}
	}
	setIfAbsent(&j.Spec.Selector.MatchLabels, batchv1.ControllerUidLabel, string(j.UID))
}

func setIfAbsent(labels *map[string]string, key, value string) {
	if *labels == nil {
		*labels = map[string]string{}
	}
	if _, ok := (*labels)[key]; !ok {
		(*labels)[key] = value
	}
}

var jobFields = FieldsOf[*batchv1.Job]{
	Values: func(j *batchv1.Job) fields.Set {
		return fields.Set{"status.successful": strconv.Itoa(int(j.Status.Succeeded))}
	},
	Names:       []string{"status.successful"},
	Unsupported: "field label %[1]q not supported for batchv1.Job",
}
