package batch

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// jobWith returns a valid job whose selector was set by the user. It applies the function change to the
// job after defaulting.
func jobWith(change func(*batchv1.Job)) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: registrytest.Stored("j"), Spec: batchv1.JobSpec{ManualSelector: ptr.To(true), Selector: registrytest.AppSelector(), Template: registrytest.AppTemplate()}}
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	defaultJob(j)
	change(j)
	return j
}

func unchangedJob(*batchv1.Job) {}

func TestJob(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		change       func(*batchv1.Job)
		want         []string
	}{
		{name: "least", reason: "a manual selector is enough", change: unchangedJob},
		{
			name: "generated", reason: "a selector that is not manual has to be the generated selector",
			change: func(j *batchv1.Job) {
				j.Spec.ManualSelector, j.UID = nil, "u"
				j.Spec.Template.Labels = map[string]string{
					"app": "web", "controller-uid": "u", "job-name": "other", batchv1.ControllerUidLabel: "u", batchv1.JobNameLabel: "j"}
			},
			want: []string{
				`spec.template.metadata.labels[job-name]: Invalid value: {"app":"web","batch.kubernetes.io/controller-uid":"u",` +
					`"batch.kubernetes.io/job-name":"j","controller-uid":"u","job-name":"other"}: must be 'j'`,
				"spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"web\"}}: `selector` not auto-generated",
			},
		},
		{
			name: "endless", reason: "the pods of a job have to end",
			change: func(j *batchv1.Job) { j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways },
			want:   []string{`spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`},
		},
		{
			name: "indexed", reason: "indexes require a number of completions",
			change: func(j *batchv1.Job) {
				j.Spec.CompletionMode, j.Spec.Completions = ptr.To(batchv1.IndexedCompletion), nil
				j.Spec.MaxFailedIndexes = ptr.To[int32](1)
			},
			want: []string{
				"spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
				"spec.completions: Required value: when completion mode is Indexed",
			},
		},
		{
			name: "failure policy", reason: "a rule is about either exit codes or conditions",
			change: func(j *batchv1.Job) {
				j.Spec.PodReplacementPolicy = ptr.To(batchv1.Failed)
				j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
					{Action: batchv1.PodFailurePolicyActionFailIndex},
					{Action: batchv1.PodFailurePolicyActionIgnore, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
						ContainerName: ptr.To("db"), Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{2, 1, 0}}},
				}}
			},
			want: []string{
				`spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set`,
				"spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
				`spec.podFailurePolicy.rules[1].onExitCodes.containerName: Invalid value: "db": must be one of the container or initContainer names in the pod template`,
				"spec.podFailurePolicy.rules[1].onExitCodes.values[2]: Invalid value: 0: must not be 0 for the In operator",
				"spec.podFailurePolicy.rules[1].onExitCodes.values: Invalid value: [2,1,0]: must be ordered",
			},
		},
		{
			name: "success policy", reason: "a rule counts existing indexes",
			change: func(j *batchv1.Job) {
				j.Spec.CompletionMode, j.Spec.Completions = ptr.To(batchv1.IndexedCompletion), ptr.To[int32](5)
				j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{
					{}, {SucceededIndexes: ptr.To("0-1"), SucceededCount: ptr.To[int32](3)},
					{SucceededIndexes: ptr.To("5")}, {SucceededIndexes: ptr.To("3000000000")}}}
			},
			want: []string{
				"spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified",
				"spec.successPolicy.rules[1].succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)",
				`spec.successPolicy.rules[2].succeededIndexes: Invalid value: "5": error parsing succeededIndexes: too large index: "5"`,
				`spec.successPolicy.rules[3].succeededIndexes: Invalid value: "3000000000": error parsing succeededIndexes: too large index: "3000000000"`,
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, validateJob(jobWith(tc.change)), tc.want...)
		})
	}
}

func TestJobUpdate(t *testing.T) {
	t.Parallel()
	suspended := func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(true) }
	for _, tc := range []struct {
		name, reason string
		old, now     func(*batchv1.Job)
		want         []string
	}{
		{
			name: "parallelism", reason: "parallelism can change",
			old: unchangedJob, now: func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](4) },
		},
		{
			name: "completions", reason: "a job's pods can't change",
			old: unchangedJob, now: func(j *batchv1.Job) { j.Spec.Completions = ptr.To[int32](4) },
			want: []string{"spec.completions: Invalid value: 4: field is immutable"},
		},
		{
			name: "elastic", reason: "completions of an indexed job change with its parallelism",
			old: func(j *batchv1.Job) { j.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion) },
			now: func(j *batchv1.Job) {
				j.Spec.CompletionMode, j.Spec.Completions = ptr.To(batchv1.IndexedCompletion), ptr.To[int32](4)
			},
			want: []string{"spec.completions: Invalid value: 4: can only be modified in tandem with spec.parallelism"},
		},
		{
			name:   "generated selector",
			reason: "an update doesn't check the labels that the server generates: an older server generated others",
			old:    func(j *batchv1.Job) { j.Spec.ManualSelector = nil },
			now:    func(j *batchv1.Job) { j.Spec.ManualSelector, j.Spec.Parallelism = nil, ptr.To[int32](4) },
		},
		{
			name: "suspended", reason: "a suspended job can get other nodes",
			old: suspended,
			now: func(j *batchv1.Job) {
				j.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "ssd"}
				j.Spec.Template.Spec.Containers[0].Resources.Requests = registrytest.Quantities("cpu", "1")
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, validateJobUpdate(jobWith(tc.now), jobWith(tc.old)), tc.want...)
		})
	}

	running := jobWith(func(j *batchv1.Job) { j.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "ssd"} })
	errs := validateJobUpdate(running, jobWith(unchangedJob))
	if len(errs) != 1 || errs[0].Field != "spec.template" || errs[0].Detail != "field is immutable" {
		t.Errorf("the template of a running job can't change: want one error for spec.template, got %v", errs)
	}
}

func TestJobStatusUpdate(t *testing.T) {
	t.Parallel()
	start := metav1.NewTime(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC))
	is := func(types ...batchv1.JobConditionType) []batchv1.JobCondition {
		var conditions []batchv1.JobCondition
		for _, t := range types {
			conditions = append(conditions, batchv1.JobCondition{Type: t, Status: corev1.ConditionTrue})
		}
		return conditions
	}
	for _, tc := range []struct {
		name, reason string
		old, now     batchv1.JobStatus
		want         []string
	}{
		{
			name: "complete", reason: "a job is complete after it succeeded",
			now: batchv1.JobStatus{Conditions: is(batchv1.JobSuccessCriteriaMet, batchv1.JobComplete),
				StartTime: &start, CompletionTime: &start},
		},
		{
			name: "abrupt", reason: "a complete job has a completion time and the condition SuccessCriteriaMet",
			now: batchv1.JobStatus{Conditions: is(batchv1.JobComplete), StartTime: &start},
			want: []string{
				"status.completionTime: Required value: completionTime is required for Complete jobs",
				"status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
			},
		},
		{
			name: "undone", reason: "an end is final, and counters only increase",
			old: batchv1.JobStatus{Conditions: is(batchv1.JobFailureTarget, batchv1.JobFailed), StartTime: &start, Failed: 2},
			now: batchv1.JobStatus{Conditions: is(batchv1.JobFailureTarget), StartTime: &start, Failed: 1},
			want: []string{
				"status.conditions: Invalid value: cannot disable the terminal Failed=True condition",
				"status.failed: Invalid value: 1: cannot decrease the failed counter",
			},
		},
		{
			name: "resumed", reason: "a job that runs again has a new start time",
			old: batchv1.JobStatus{Conditions: is(batchv1.JobSuspended), StartTime: &start},
			now: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse}}},
		},
		{
			name: "condition lost", reason: "a job without the condition Suspended hasn't been resumed, so its start time can't change",
			old:  batchv1.JobStatus{Conditions: is(batchv1.JobSuspended), StartTime: &start},
			now:  batchv1.JobStatus{},
			want: []string{"status.startTime: Invalid value: null: field is immutable for unsuspended job once set"},
		},
		{
			name: "fewer active pods than none", reason: "a status without ready pods says nothing about them",
			now:  batchv1.JobStatus{Active: -1},
			want: []string{"status.active: Invalid value: -1: must be greater than or equal to 0"},
		},
		{
			name: "more ready than active pods", reason: "a ready pod is active",
			now:  batchv1.JobStatus{Active: 1, Ready: ptr.To[int32](2)},
			want: []string{"status.ready: Invalid value: 2: cannot set more ready pods than active"},
		},
		{
			name: "indexes", reason: "the status of a job without indexes lists no indexes",
			now: batchv1.JobStatus{CompletedIndexes: "0"},
			want: []string{
				`status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode`,
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			job := func(s batchv1.JobStatus) *batchv1.Job { return jobWith(func(j *batchv1.Job) { j.Status = s }) }
			registrytest.WantErrors(t, tc.reason, validateJobStatusUpdate(job(tc.now), job(tc.old)), tc.want...)
		})
	}
}

func TestJobColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "work queue", Reason: "without completions, the job needs one success of any of its parallel pods",
			Object: &batchv1.Job{
				ObjectMeta: registrytest.MonthOld("x"),
				Spec: batchv1.JobSpec{Parallelism: ptr.To[int32](4),
					Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"k": "v"}},
					Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "one"}, {Name: "b", Image: "two"}}}}},
				Status: batchv1.JobStatus{StartTime: ptr.To(registrytest.MonthAgo())},
			},
			Want: []any{"x", "Running", "0/1 of 4", "30d", "30d", "a,b", "one,two", "k=v"},
		},
		{
			Name: "complete", Reason: "the duration ends with the job, and conditions with status False are ignored",
			Object: &batchv1.Job{
				ObjectMeta: registrytest.MonthOld("x"),
				Spec:       batchv1.JobSpec{Completions: ptr.To[int32](2)},
				Status: batchv1.JobStatus{
					Succeeded: 2, StartTime: ptr.To(metav1.Unix(1000, 0)), CompletionTime: ptr.To(metav1.Unix(1042, 0)),
					Conditions: []batchv1.JobCondition{
						{Type: batchv1.JobFailed, Status: corev1.ConditionFalse},
						{Type: batchv1.JobComplete, Status: corev1.ConditionTrue},
					},
				},
			},
			Want: []any{"x", "Complete", "2/2", "42s", "30d", "", "", "<none>"},
		},
	})
}

func TestJobWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "huge indexed job", Reason: "the warning needs a large number of completions and of parallel pods",
			Object: &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j", Generation: 1}, Spec: batchv1.JobSpec{
				CompletionMode: ptr.To(batchv1.IndexedCompletion), Completions: ptr.To[int32](100_001), Parallelism: ptr.To[int32](10_001),
			}},
			Want: []string{"spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"},
		},
	})
}

func TestJobDefaults(t *testing.T) {
	t.Parallel()
	registrytest.CheckDefaults(t, registrytest.Table(t, Group), []registrytest.DefaultsCase{
		{
			Name:     "backoff limit per index",
			Reason:   "a limit for each index replaces the limit for the whole job",
			Manifest: `{apiVersion: batch/v1, kind: Job, spec: {completions: 3, backoffLimitPerIndex: 1, completionMode: Indexed, podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}}}`,
			Path:     "spec",
			Want: `
backoffLimit: 2147483647
backoffLimitPerIndex: 1
completionMode: Indexed
completions: 3
parallelism: 1
manualSelector: false
suspend: false
podReplacementPolicy: Failed
podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: "True"}]}]}
template: {metadata: {}, spec: {containers: null, dnsPolicy: ClusterFirst, restartPolicy: Always, schedulerName: default-scheduler, securityContext: {}, terminationGracePeriodSeconds: 30}}
`,
		},
	})
}

func TestJobCreation(t *testing.T) {
	t.Parallel()
	registrytest.CheckPrepared(t, registrytest.Table(t, Group), []registrytest.PrepareCase{
		{
			Name: "selector", Reason: "the job selects its pods by its uid, and labels of the template are kept",
			Object: &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{Name: "j", UID: "u"},
				Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"job-name": "mine"}}}},
			},
			Want: &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{Name: "j", UID: "u", Generation: 1},
				Spec: batchv1.JobSpec{
					Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"batch.kubernetes.io/controller-uid": "u"}},
					Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
						"job-name": "mine", "batch.kubernetes.io/job-name": "j", "controller-uid": "u",
						"batch.kubernetes.io/controller-uid": "u",
					}}},
				},
			},
		},
		{
			Name: "manual selector", Reason: "the server adds no selector and no labels to a job with manualSelector",
			Object: &batchv1.Job{Spec: batchv1.JobSpec{ManualSelector: ptr.To(true)}},
			Want:   &batchv1.Job{ObjectMeta: registrytest.Generation(1), Spec: batchv1.JobSpec{ManualSelector: ptr.To(true)}},
		},
	})
}

func TestJobFieldLabels(t *testing.T) {
	t.Parallel()
	registrytest.CheckFieldLabels(t, registrytest.Table(t, Group), []registrytest.FieldLabelCase{{
		Name: "unknown", Reason: "jobs have an error text of their own",
		Kind: batchv1.SchemeGroupVersion.WithKind("Job"), Label: "a", Err: `field label "a" not supported for Job`,
	}})
}
