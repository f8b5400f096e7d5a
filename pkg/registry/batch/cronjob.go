package batch

import (
	"context"
	"regexp"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	batchv1beta1 "k8s.io/api/batch/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/podrules"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// cronJobKind is the row of cronjobs in the server's table of kinds.
var cronJobKind = registry.Kind{
	Resource:   "cronjobs",
	ShortNames: []string{"cj"},
	Categories: []string{"all"},
	Namespaced: true,
	Object:     &batchv1.CronJob{}, List: &batchv1.CronJobList{},
	Defaults: []registry.Default{registry.DefaultOf(defaultCronJob), registry.DefaultLike[batchv1beta1.CronJob](defaultCronJob)},
	Shape: podrules.ShapeOf("spec.jobTemplate.spec.template.spec",
		func(c *batchv1.CronJob) *corev1.PodSpec { return &c.Spec.JobTemplate.Spec.Template.Spec }),
	Status:        true,
	Generation:    true,
	OrphanThrough: []schema.GroupVersion{batchv1beta1.SchemeGroupVersion},
	Printer:       &cronJobColumns,
	Hooks: registry.HooksOf[*batchv1.CronJob]{
		Validate:       validateCronJob,
		ValidateUpdate: validateCronJobUpdate,
		Warnings:       cronJobWarnings,
	},
	Gated: []registry.Gate{registry.GateOf[batchv1.CronJob]("WorkloadWithJob", "Spec.JobTemplate.Spec.Scheduling")},
}

func defaultCronJob(c *batchv1.CronJob) {
	defaults.Zero(&c.Spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
	defaults.Pointer(&c.Spec.Suspend, false)
	defaults.Pointer(&c.Spec.SuccessfulJobsHistoryLimit, 3)
	defaults.Pointer(&c.Spec.FailedJobsHistoryLimit, 1)
	defaultJobSpec(&c.Spec.JobTemplate.Spec)
}

// maxCronJobName bounds the name of a CronJob. The names of its jobs have a suffix of 11 characters.
const maxCronJobName = utilvalidation.DNS1035LabelMaxLength - 11

func validateCronJob(o *batchv1.CronJob) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(cronJobSpec(validation.SpecPath, &o.Spec, nil))
	f.AddIf(len(o.Name) > maxCronJobName, field.Invalid(validation.MetadataPath.Child("name"), o.Name, utilvalidation.MaxLenError(maxCronJobName)))
	return f.Errs
}

func validateCronJobUpdate(o, old *batchv1.CronJob) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(cronJobSpec(validation.SpecPath, &o.Spec, &old.Spec))
	return f.Errs
}

func cronJobSpec(path *field.Path, s, old *batchv1.CronJobSpec) field.ErrorList {
	var f validation.Findings
	if s.Schedule != "" {
		f.Merge(schedule(path.Child("schedule"), s, old))
	}
	f.Merge(optionalCount(path.Child("startingDeadlineSeconds"), s.StartingDeadlineSeconds))
	if old == nil || !ptr.Equal(old.TimeZone, s.TimeZone) {
		f.Merge(timeZone(path.Child("timeZone"), s.TimeZone))
	}
	f.Merge(validation.RequiredOneOf(path.Child("concurrencyPolicy"), s.ConcurrencyPolicy,
		batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent))

	job, at := &s.JobTemplate.Spec, path.Child("jobTemplate", "spec")
	f.Merge(selectorlessJobSpec(at, job))
	f.AddIf(job.Selector != nil, field.Invalid(at.Child("selector"), job.Selector, "`selector` will be auto-generated"))
	f.AddIf(ptr.Deref(job.ManualSelector, false), field.NotSupported(at.Child("manualSelector"), job.ManualSelector, []string{"nil", "false"}))
	f.Merge(
		optionalCount(path.Child("successfulJobsHistoryLimit"), s.SuccessfulJobsHistoryLimit),
		optionalCount(path.Child("failedJobsHistoryLimit"), s.FailedJobsHistoryLimit))
	return f.Errs
}

// schedule checks a schedule. A new schedule must not contain a time zone, because the CronJob has a field for the time
// zone. In an update, the schedule may contain a time zone if the old schedule does and the field isn't set.
func schedule(path *field.Path, s, old *batchv1.CronJobSpec) field.ErrorList {
	var f validation.Findings
	if err := parseSchedule(s.Schedule); err != nil {
		f.Add(field.Invalid(path, s.Schedule, err.Error()))
	}
	if !strings.Contains(s.Schedule, "TZ") {
		return f.Errs
	}
	had := old != nil && strings.Contains(old.Schedule, "TZ")
	f.AddIf(had && s.TimeZone != nil, field.Invalid(path, s.Schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
	f.AddIf(!had, field.Invalid(path, s.Schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
	return f.Errs
}

// timeZonePart is the form of each part of a time zone's name. Old names have digits and signs. See
// https://data.iana.org/time-zones/theory.html#naming.
var timeZonePart = regexp.MustCompile(`^[A-Za-z.\-_0-9+]{1,14}$`)

func timeZone(path *field.Path, zone *string) field.ErrorList {
	if zone == nil {
		return nil
	}
	if *zone == "" {
		return field.ErrorList{field.Invalid(path, zone, "timeZone must be nil or non-empty string")}
	}
	for part := range strings.SplitSeq(*zone, "/") {
		if part == "." || part == ".." || strings.HasPrefix(part, "-") || !timeZonePart.MatchString(part) {
			return field.ErrorList{field.Invalid(path, zone, "unknown time zone "+*zone)}
		}
	}
	var f validation.Findings
	f.AddIf(strings.EqualFold(*zone, "Local"), field.Invalid(path, zone,
		"timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"))
	if _, err := time.LoadLocation(*zone); err != nil {
		f.Add(field.Invalid(path, zone, err.Error()))
	}
	return f.Errs
}

// cronJobColumns makes the rows of kubectl get. They show the schedule and the last run.
var cronJobColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Schedule", printers.Doc(batchv1.CronJobSpec{}, "schedule")),
		printers.Text("Timezone", printers.Doc(batchv1.CronJobSpec{}, "timeZone")),
		printers.Boolean("Suspend", printers.Doc(batchv1.CronJobSpec{}, "suspend")),
		printers.Number("Active", printers.Doc(batchv1.CronJobStatus{}, "active")),
		printers.Text("Last Schedule", printers.Doc(batchv1.CronJobStatus{}, "lastScheduleTime")),
		printers.AgeColumn,
		printers.Wide(printers.ContainersColumn),
		printers.Wide(printers.ImagesColumn),
		printers.Wide(printers.Text("Selector", printers.Doc(batchv1.JobSpec{}, "selector"))),
	},
	func(c *batchv1.CronJob) []any {
		job := c.Spec.JobTemplate.Spec
		last := printers.None
		if c.Status.LastScheduleTime != nil {
			last = printers.Since(*c.Status.LastScheduleTime)
		}
		return []any{
			c.Name, c.Spec.Schedule, ptr.Deref(c.Spec.TimeZone, printers.None), suspended(c), int64(len(c.Status.Active)),
			last, printers.Since(c.CreationTimestamp),
			printers.ContainerNames(job.Template.Spec.Containers), printers.ContainerImages(job.Template.Spec.Containers),
			metav1.FormatLabelSelector(job.Selector),
		}
	})

func suspended(c *batchv1.CronJob) string {
	switch {
	case c.Spec.Suspend == nil:
		return printers.Unset
	case *c.Spec.Suspend:
		return "True"
	}
	return "False"
}

func cronJobWarnings(_ context.Context, c, old *batchv1.CronJob) []string {
	var l warnings.List
	if old == nil {
		l.PodName(c.Name)
	}
	if old == nil || warnings.Changed(c, old) {
		jobSpecWarnings(&l, warnings.SpecPath.Child("jobTemplate", "spec"), &c.Spec.JobTemplate.Spec)
	}
	// A new CronJob with a time zone in its schedule is invalid, so only updates get the warning. As in kube-apiserver,
	// the path in the warning is spec.spec.schedule.
	if old != nil && strings.Contains(c.Spec.Schedule, "TZ") {
		l.Add("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, " +
			"see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details")
	}
	return l
}
