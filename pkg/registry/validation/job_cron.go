package validation

import (
	"regexp"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// maxCronJobName leaves room for the 11 characters that the names of its jobs end in.
const maxCronJobName = utilvalidation.DNS1035LabelMaxLength - 11

// CronJob checks a new cron job.
func CronJob(o *batchv1.CronJob) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(cronJobSpec(SpecPath, &o.Spec, nil))
	f.AddIf(len(o.Name) > maxCronJobName, field.Invalid(MetadataPath.Child("name"), o.Name, utilvalidation.MaxLenError(maxCronJobName)))
	return f.Errs
}

// CronJobUpdate checks a cron job that replaces another.
func CronJobUpdate(o, old *batchv1.CronJob) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(cronJobSpec(SpecPath, &o.Spec, &old.Spec))
	return f.Errs
}

func cronJobSpec(path *field.Path, s, old *batchv1.CronJobSpec) field.ErrorList {
	var f Findings
	if at := path.Child("schedule"); s.Schedule == "" {
		f.Add(field.Required(at, ""))
	} else {
		f.Merge(schedule(at, s, old))
	}
	f.Merge(optionalCount(path.Child("startingDeadlineSeconds"), s.StartingDeadlineSeconds))
	if old == nil || !ptr.Equal(old.TimeZone, s.TimeZone) {
		f.Merge(timeZone(path.Child("timeZone"), s.TimeZone))
	}
	f.Merge(RequiredOneOf(path.Child("concurrencyPolicy"), s.ConcurrencyPolicy,
		batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent))

	job, at := &s.JobTemplate.Spec, path.Child("jobTemplate", "spec")
	oldJob := &batchv1.JobSpec{}
	if old != nil {
		oldJob = &old.JobTemplate.Spec
	}
	f.Merge(selectorlessJobSpec(at, job))
	f.AddIf(job.Selector != nil, field.Invalid(at.Child("selector"), job.Selector, "`selector` will be auto-generated"))
	f.AddIf(ptr.Deref(job.ManualSelector, false), field.NotSupported(at.Child("manualSelector"), job.ManualSelector, []string{"nil", "false"}))
	f.Merge(
		optionalCount(path.Child("successfulJobsHistoryLimit"), s.SuccessfulJobsHistoryLimit),
		optionalCount(path.Child("failedJobsHistoryLimit"), s.FailedJobsHistoryLimit),
		jobScheduling(at, job, oldJob))
	return f.Errs
}

// schedule checks when jobs are created. A time zone belongs in the field for it, but
// one that is in the schedule already may stay.
func schedule(path *field.Path, s, old *batchv1.CronJobSpec) field.ErrorList {
	var f Findings
	if err := cronSyntax(s.Schedule); err != nil {
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

// timeZonePart is the form of each part of a name, see
// https://data.iana.org/time-zones/theory.html#naming, with the digits and signs of old names.
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
	var f Findings
	f.AddIf(strings.EqualFold(*zone, "Local"), field.Invalid(path, zone,
		"timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"))
	if _, err := time.LoadLocation(*zone); err != nil {
		f.Add(field.Invalid(path, zone, err.Error()))
	}
	return f.Errs
}
