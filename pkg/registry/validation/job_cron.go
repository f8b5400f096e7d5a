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
	f := created(&o.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain)
	f.merge(cronJobSpec(specPath, &o.Spec, nil))
	f.addIf(len(o.Name) > maxCronJobName, field.Invalid(metadataPath.Child("name"), o.Name, utilvalidation.MaxLenError(maxCronJobName)))
	return f.errs
}

// CronJobUpdate checks a cron job that replaces another.
func CronJobUpdate(o, old *batchv1.CronJob) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	f.merge(cronJobSpec(specPath, &o.Spec, &old.Spec))
	return f.errs
}

func cronJobSpec(path *field.Path, s, old *batchv1.CronJobSpec) field.ErrorList {
	var f findings
	if at := path.Child("schedule"); s.Schedule == "" {
		f.add(field.Required(at, ""))
	} else {
		f.merge(schedule(at, s, old))
	}
	f.merge(optionalCount(path.Child("startingDeadlineSeconds"), s.StartingDeadlineSeconds))
	if old == nil || !ptr.Equal(old.TimeZone, s.TimeZone) {
		f.merge(timeZone(path.Child("timeZone"), s.TimeZone))
	}
	f.merge(requiredOneOf(path.Child("concurrencyPolicy"), s.ConcurrencyPolicy,
		batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent))

	job, at := &s.JobTemplate.Spec, path.Child("jobTemplate", "spec")
	oldJob := &batchv1.JobSpec{}
	if old != nil {
		oldJob = &old.JobTemplate.Spec
	}
	f.merge(selectorlessJobSpec(at, job))
	f.addIf(job.Selector != nil, field.Invalid(at.Child("selector"), job.Selector, "`selector` will be auto-generated"))
	f.addIf(ptr.Deref(job.ManualSelector, false), field.NotSupported(at.Child("manualSelector"), job.ManualSelector, []string{"nil", "false"}))
	f.merge(
		optionalCount(path.Child("successfulJobsHistoryLimit"), s.SuccessfulJobsHistoryLimit),
		optionalCount(path.Child("failedJobsHistoryLimit"), s.FailedJobsHistoryLimit),
		jobScheduling(at, job, oldJob))
	return f.errs
}

// schedule checks when jobs are created. A time zone belongs in the field for it, but
// one that is in the schedule already may stay.
func schedule(path *field.Path, s, old *batchv1.CronJobSpec) field.ErrorList {
	var f findings
	if err := cronSyntax(s.Schedule); err != nil {
		f.add(field.Invalid(path, s.Schedule, err.Error()))
	}
	if !strings.Contains(s.Schedule, "TZ") {
		return f.errs
	}
	had := old != nil && strings.Contains(old.Schedule, "TZ")
	f.addIf(had && s.TimeZone != nil, field.Invalid(path, s.Schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
	f.addIf(!had, field.Invalid(path, s.Schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
	return f.errs
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
	var f findings
	f.addIf(strings.EqualFold(*zone, "Local"), field.Invalid(path, zone,
		"timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"))
	if _, err := time.LoadLocation(*zone); err != nil {
		f.add(field.Invalid(path, zone, err.Error()))
	}
	return f.errs
}
