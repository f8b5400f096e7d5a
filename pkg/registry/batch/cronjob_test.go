package batch

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestCronJob(t *testing.T) {
	t.Parallel()
	build := func(schedule string, zone *string) *batchv1.CronJob {
		c := &batchv1.CronJob{ObjectMeta: registrytest.Stored("c"), Spec: batchv1.CronJobSpec{Schedule: schedule, TimeZone: zone}}
		c.Spec.JobTemplate.Spec.Template = registrytest.AppTemplate()
		c.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		defaultCronJob(c)
		return c
	}
	const zoned = `spec.schedule: Invalid value: "TZ=UTC 0 0 * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead`
	for _, tc := range []struct {
		name, reason, schedule string
		zone                   *string
		want                   []string
	}{
		{name: "full", reason: "ranges, steps, lists and names", schedule: "*/15 8-18 1,15 jan-jun mon-fri"},
		{name: "nickname", reason: "a nickname stands for a schedule", schedule: "@every 1h30m"},
		{name: "few", reason: "a schedule has five fields", schedule: "* * *",
			want: []string{`spec.schedule: Invalid value: "* * *": expected exactly 5 fields, found 3: [* * *]`}},
		{name: "minute", reason: "an hour has 60 minutes", schedule: "60 * * * *",
			want: []string{`spec.schedule: Invalid value: "60 * * * *": end of range (60) above maximum (59): 60`}},
		{name: "word", reason: "the week has no such day", schedule: "0 0 * * someday",
			want: []string{`spec.schedule: Invalid value: "0 0 * * someday": failed to parse int from someday: strconv.Atoi: parsing "someday": invalid syntax`}},
		{name: "panic", reason: "the parser panics for a time zone without a schedule", schedule: "TZ=0",
			want: []string{`spec.schedule: Invalid value: "TZ=0": invalid schedule format: runtime error: slice bounds out of range [:-1]`,
				`spec.schedule: Invalid value: "TZ=0": cannot use TZ or CRON_TZ in schedule, use timeZone field instead`}},
		{name: "zone inside", reason: "a time zone has its own field", schedule: "TZ=UTC 0 0 * * *", want: []string{zoned}},
		{name: "zone", reason: "the time zone has to exist", schedule: "0 0 * * *", zone: ptr.To("Mars/Olympus"),
			want: []string{`spec.timeZone: Invalid value: "Mars/Olympus": unknown time zone Mars/Olympus`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, validateCronJob(build(tc.schedule, tc.zone)), tc.want...)
		})
	}
	registrytest.WantErrors(t, "a time zone in a schedule that has one already may stay",
		validateCronJobUpdate(build("TZ=UTC 5 0 * * *", nil), build("TZ=UTC 0 0 * * *", nil)))

	long := build("0 0 * * *", nil)
	long.Name = "a234567890123456789012345678901234567890123456789012345"
	registrytest.WantErrors(t, "the names of its jobs are 11 characters longer, and have to be labels", validateCronJob(long),
		`metadata.name: Invalid value: "`+long.Name+`": must be no more than 52 characters`)
}

func TestCronJobColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "suspended", Reason: "a cron job without a time zone or a last schedule shows <none>",
			Object: &batchv1.CronJob{ObjectMeta: registrytest.MonthOld("x"), Spec: batchv1.CronJobSpec{
				Schedule: "* * * * *", Suspend: ptr.To(true),
				JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "one"}, {Name: "b", Image: "two"}}}}}},
			}},
			Want: []any{"x", "* * * * *", "<none>", "True", int64(0), "<none>", "30d", "a,b", "one,two", "<none>"},
		},
	})
}

func TestCronJobWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "time zone in the schedule", Reason: "an update may keep the time zone, and kube-apiserver's warning has this path",
			Object: &batchv1.CronJob{Spec: batchv1.CronJobSpec{
				Schedule:    "TZ=UTC * * * * *",
				JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeSelector: map[string]string{"beta.kubernetes.io/os": "linux"}}}}},
			}},
			Old:  &batchv1.CronJob{},
			Want: []string{"cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"},
		},
	})
}
