package batch

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/podrules"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// jobKind is the row of jobs in the server's table of kinds.
var jobKind = registry.Kind{
	Resource:   "jobs",
	Categories: []string{"all"},
	Namespaced: true,
	Object:     &batchv1.Job{}, List: &batchv1.JobList{},
	Defaults:      []registry.Default{registry.DefaultOf(defaultJob)},
	Shape:         podrules.ShapeOf("spec.template.spec", func(j *batchv1.Job) *corev1.PodSpec { return &j.Spec.Template.Spec }),
	Status:        true,
	Generation:    true,
	OrphanThrough: []schema.GroupVersion{batchv1.SchemeGroupVersion},
	Printer:       &jobColumns,
	Hooks: registry.HooksOf[*batchv1.Job]{
		PrepareForCreate:     selectOwnPods,
		Validate:             validateJob,
		ValidateUpdate:       validateJobUpdate,
		ValidateStatusUpdate: validateJobStatusUpdate,
		Warnings:             jobWarnings,
	},
	Gated: []registry.Gate{
		registry.GateOf[batchv1.Job]("JobManagedBy", "Spec.ManagedBy"),
		registry.GateOf[batchv1.Job]("WorkloadWithJob", "Spec.Scheduling"),
	},
	Fields:  jobFields,
	Storage: newJobStorage,
}

func defaultJob(j *batchv1.Job) {
	spec := &j.Spec
	if spec.Parallelism == nil {
		defaults.Pointer(&spec.Completions, 1)
	}
	defaults.Pointer(&spec.Parallelism, 1)
	if spec.BackoffLimitPerIndex == nil {
		defaults.Pointer(&spec.BackoffLimit, 6)
	} else {
		defaults.Pointer(&spec.BackoffLimit, math.MaxInt32)
	}
	defaults.Pointer(&spec.CompletionMode, batchv1.NonIndexedCompletion)
	defaults.Pointer(&spec.Suspend, false)
	defaults.Pointer(&spec.ManualSelector, false)
	if spec.PodFailurePolicy == nil {
		defaults.Pointer(&spec.PodReplacementPolicy, batchv1.TerminatingOrFailed)
	} else {
		defaults.Pointer(&spec.PodReplacementPolicy, batchv1.Failed)
	}
	defaults.LabelsOf(spec.Template.Labels, &j.Labels)
	defaultJobSpec(spec)
}

// validateJob checks a new job. The server calls selectOwnPods earlier, which generates the selector.
func validateJob(o *batchv1.Job) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(generatedSelector(o), jobSpec(validation.SpecPath, &o.Spec), lastHostname(o))
	return f.Errs
}

// lastHostname checks the host name of an indexed job's last pod, which is the longest.
func lastHostname(o *batchv1.Job) field.ErrorList {
	n := ptr.Deref(o.Spec.Completions, 0)
	if !isIndexed(&o.Spec) || n <= 0 {
		return nil
	}
	var f validation.Findings
	hostname := fmt.Sprintf("%s-%d", o.Name, n-1)
	f.AddIf(len(utilvalidation.IsDNS1123Label(hostname)) > 0, field.Invalid(validation.MetadataPath.Child("name"), o.Name,
		"will not able to create pod with invalid DNS label: "+hostname))
	return f.Errs
}

// generatedSelector checks a job with a generated selector. The pod template must have the labels that the server
// generates, and the selector must match these labels.
func generatedSelector(o *batchv1.Job) field.ErrorList {
	if ptr.Deref(o.Spec.ManualSelector, false) || o.Spec.Selector == nil {
		return nil
	}
	var f validation.Findings
	f.AddIf(o.UID == "", field.Required(validation.MetadataPath.Child("uid"), ""))
	generated := labels.Set{}
	path := validation.SpecPath.Child("template", "metadata", "labels")
	for _, label := range []struct{ key, value string }{
		{legacyControllerUIDLabel, string(o.UID)},
		{legacyJobNameLabel, o.Name},
		{batchv1.ControllerUidLabel, string(o.UID)},
		{batchv1.JobNameLabel, o.Name},
	} {
		generated[label.key] = label.value
		must := fmt.Sprintf("must be '%s'", label.value)
		if v, set := o.Spec.Template.Labels[label.key]; !set {
			f.Add(field.Required(path.Key(label.key), must))
		} else if v != label.value {
			f.Add(field.Invalid(path.Key(label.key), o.Spec.Template.Labels, must))
		}
	}
	if s, err := metav1.LabelSelectorAsSelector(o.Spec.Selector); err == nil {
		f.AddIf(!s.Matches(generated), field.Invalid(validation.SpecPath.Child("selector"), o.Spec.Selector, "`selector` not auto-generated"))
	}
	return f.Errs
}

func validateJobUpdate(o, old *batchv1.Job) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	s, was := &o.Spec, &old.Spec
	f.Merge(
		jobSpec(validation.SpecPath, s),
		completionsUpdate(validation.SpecPath.Child("completions"), s, was),
		validation.Unchanged(validation.SpecPath.Child("selector"), s.Selector, was.Selector),
		jobTemplateUpdate(validation.SpecPath.Child("template"), &s.Template, old),
		validation.Unchanged(validation.SpecPath.Child("completionMode"), s.CompletionMode, was.CompletionMode),
		validation.Unchanged(validation.SpecPath.Child("podFailurePolicy"), s.PodFailurePolicy, was.PodFailurePolicy),
		validation.Unchanged(validation.SpecPath.Child("backoffLimitPerIndex"), s.BackoffLimitPerIndex, was.BackoffLimitPerIndex),
		validation.Unchanged(validation.SpecPath.Child("managedBy"), s.ManagedBy, was.ManagedBy),
		validation.Unchanged(validation.SpecPath.Child("successPolicy"), s.SuccessPolicy, was.SuccessPolicy),
		jobSchedulingUpdate(validation.SpecPath.Child("scheduling"), s.Scheduling, was.Scheduling),
		lastHostname(o))
	return f.Errs
}

// completionsUpdate checks that completions changes only for an indexed job, and only to the same number as parallelism
// (KEP-3715).
func completionsUpdate(path *field.Path, s, was *batchv1.JobSpec) field.ErrorList {
	switch {
	case !isIndexed(s):
		return validation.Unchanged(path, s.Completions, was.Completions)
	case s.Completions == nil || ptr.Equal(s.Completions, was.Completions) || ptr.Equal(s.Completions, s.Parallelism):
		return nil
	}
	return field.ErrorList{field.Invalid(path, s.Completions, "can only be modified in tandem with spec.parallelism")}
}

// jobTemplateUpdate checks that the pod template of a job doesn't change. If the job is suspended and has no running
// pods, the fields that restrict the choice of a node (KEP-2926), the resources (KEP-5440) and the metadata of the
// template may change.
func jobTemplateUpdate(path *field.Path, t *corev1.PodTemplateSpec, old *batchv1.Job) field.ErrorList {
	was := old.Spec.Template.DeepCopy()
	suspended := ptr.Deref(old.Spec.Suspend, false)
	idle := old.Status.Active == 0 && (old.Status.StartTime == nil || jobConditionIs(old.Status.Conditions, batchv1.JobSuspended))
	if suspended && idle {
		a := ptr.Deref(was.Spec.Affinity, corev1.Affinity{})
		a.NodeAffinity = podvalidation.NodeAffinity(&t.Spec)
		was.Spec.Affinity = &a
		if a == (corev1.Affinity{}) && t.Spec.Affinity == nil {
			was.Spec.Affinity = nil
		}
		was.Spec.NodeSelector = t.Spec.NodeSelector
		was.Spec.Tolerations = t.Spec.Tolerations
		was.Spec.SchedulingGates = t.Spec.SchedulingGates
		takeResources(was.Spec.Containers, t.Spec.Containers)
		takeResources(was.Spec.InitContainers, t.Spec.InitContainers)
		if apiequality.Semantic.DeepEqual(t.Spec, was.Spec) {
			return nil
		}
		return field.ErrorList{field.Invalid(validation.SpecPath.Child("template.spec"), validation.Unversioned(t.Spec), apivalidation.FieldImmutableErrorMsg)}
	}
	if apiequality.Semantic.DeepEqual(t, was) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, validation.Unversioned(t), apivalidation.FieldImmutableErrorMsg)}
}

func takeResources(containers, from []corev1.Container) {
	if len(containers) != len(from) {
		return
	}
	for i := range containers {
		if containers[i].Name == from[i].Name {
			containers[i].Resources = from[i].Resources
		}
	}
}

// jobStorage is the storage of jobs. It warns of deletions that leave pods behind: through batch/v1, a deletion
// orphans the pods by default, which few users expect.
type jobStorage struct{ *registry.Storage }

var _ rest.StandardStorage = &jobStorage{}

func newJobStorage(main *registry.Storage, _ registry.Dependencies) (rest.Storage, error) {
	return &jobStorage{main}, nil
}

func (j *jobStorage) warn(ctx context.Context, options *metav1.DeleteOptions) {
	//nolint:staticcheck // orphanDependents is deprecated, and still obeyed
	if options != nil && options.PropagationPolicy == nil && options.OrphanDependents == nil &&
		j.Strategy.DefaultGarbageCollectionPolicy(ctx) == rest.OrphanDependents {
		warning.AddWarning(ctx, "", jobDeletionWarnings)
	}
}

// Delete deletes a job. It warns if the deletion orphans the job's pods only because the request sets no propagation
// policy.
func (j *jobStorage) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	j.warn(ctx, options)
	return j.Storage.Delete(ctx, name, validate, options)
}

// DeleteCollection deletes the selected jobs. It warns in the same case as Delete.
func (j *jobStorage) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, list *metainternalversion.ListOptions) (runtime.Object, error) {
	j.warn(ctx, options)
	return j.Storage.DeleteCollection(ctx, validate, options, list)
}

// The labels of a job's pods with the name and the UID of the job. They are older than the labels with the prefix
// batch.kubernetes.io/.
const (
	legacyJobNameLabel       = "job-name"
	legacyControllerUIDLabel = "controller-uid"
)

// selectOwnPods adds the job's name and UID to the labels of the pod template, and makes the selector match the
// UID. It changes nothing if spec.manualSelector is true. Labels that the client has set stay, and validation checks
// them.
//
// The labels of the template are changed in place. By default (see defaultJob), the job has the same map of labels,
// so the job gets the new labels too.
func selectOwnPods(_ context.Context, j *batchv1.Job) {
	if ptr.Deref(j.Spec.ManualSelector, false) {
		return
	}
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

// jobColumns makes the rows of kubectl get. They show the progress.
var jobColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Status", "Status of the job."),
		printers.Text("Completions", printers.Doc(batchv1.JobStatus{}, "succeeded")),
		printers.Text("Duration", "Time required to complete the job."),
		printers.AgeColumn,
		printers.Wide(printers.ContainersColumn),
		printers.Wide(printers.ImagesColumn),
		printers.Wide(printers.Text("Selector", printers.Doc(batchv1.JobSpec{}, "selector"))),
	},
	func(j *batchv1.Job) []any {
		containers := j.Spec.Template.Spec.Containers
		return []any{
			j.Name, jobStatus(j), completions(j), jobDuration(j), printers.Since(j.CreationTimestamp),
			printers.ContainerNames(containers), printers.ContainerImages(containers), metav1.FormatLabelSelector(j.Spec.Selector),
		}
	})

// jobStatus returns the state that kubectl get shows. If a job has two conditions of the same type, only the first one
// counts. Validation has another rule: one true condition is enough (jobConditionIs). kube-apiserver has the same two
// rules.
func jobStatus(j *batchv1.Job) string {
	is := func(t batchv1.JobConditionType) bool {
		for _, condition := range j.Status.Conditions {
			if condition.Type == t {
				return condition.Status == corev1.ConditionTrue
			}
		}
		return false
	}
	switch {
	case is(batchv1.JobComplete):
		return "Complete"
	case is(batchv1.JobFailed):
		return "Failed"
	case j.DeletionTimestamp != nil:
		return "Terminating"
	case is(batchv1.JobSuspended):
		return "Suspended"
	case is(batchv1.JobFailureTarget):
		return "FailureTarget"
	case is(batchv1.JobSuccessCriteriaMet):
		return "SuccessCriteriaMet"
	}
	return "Running"
}

// completions shows how many completions the job has reached, and how many it needs. A job that works through a
// queue needs one pod that succeeds.
func completions(j *batchv1.Job) string {
	switch {
	case j.Spec.Completions != nil:
		return fmt.Sprintf("%d/%d", j.Status.Succeeded, *j.Spec.Completions)
	case ptr.Deref(j.Spec.Parallelism, 0) > 1:
		return fmt.Sprintf("%d/1 of %d", j.Status.Succeeded, *j.Spec.Parallelism)
	}
	return fmt.Sprintf("%d/1", j.Status.Succeeded)
}

func jobDuration(j *batchv1.Job) string {
	switch start, end := j.Status.StartTime, j.Status.CompletionTime; {
	case start == nil:
		return ""
	case end == nil:
		return duration.HumanDuration(time.Since(start.Time))
	default:
		return duration.HumanDuration(end.Sub(start.Time))
	}
}

// jobDeletionWarnings warns of a deletion that orphans the job's pods.
const jobDeletionWarnings = "child pods are preserved by default when jobs are deleted; " +
	"set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"

func jobWarnings(_ context.Context, j, old *batchv1.Job) []string {
	var l warnings.List
	if old == nil {
		l.PodName(j.Name)
	}
	if old == nil || warnings.Changed(j, old) {
		jobSpecWarnings(&l, warnings.SpecPath, &j.Spec)
	}
	return l
}

var jobFields = registry.FieldsOf[*batchv1.Job]{
	Values: func(j *batchv1.Job) fields.Set {
		return fields.Set{"status.successful": strconv.Itoa(int(j.Status.Succeeded))}
	},
	Names:       []string{"status.successful"},
	Unsupported: "field label %[1]q not supported for Job",
}
