package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

const (
	mine, own                     = "example.com/a", lifecyclev1alpha1.EvictionResponderImperativeEviction
	inactive, active, interrupted = lifecyclev1alpha1.ResponderStateInactive, lifecyclev1alpha1.ResponderStateActive, lifecyclev1alpha1.ResponderStateInterrupted
	completed                     = lifecyclev1alpha1.ResponderStateCompleted
)

func ago(d time.Duration) *metav1.Time { return &metav1.Time{Time: time.Now().Add(-d)} }

// status returns the status of an eviction with two responders: one of a user, and the one of Kubernetes.
func status(first, second lifecyclev1alpha1.ResponderStateType, report lifecyclev1alpha1.ResponderStatus) lifecyclev1alpha1.EvictionStatus {
	report.Name = mine
	return lifecyclev1alpha1.EvictionStatus{
		TargetResponders: []lifecyclev1alpha1.TargetResponder{
			{Name: own, Priority: ptr.To[int32](100), State: second}, {Name: mine, Priority: ptr.To[int32](10000), State: first},
		},
		Responders: []lifecyclev1alpha1.ResponderStatus{{Name: own}, report},
	}
}

func ended(s lifecyclev1alpha1.EvictionStatus, condition metav1.ConditionStatus) lifecyclev1alpha1.EvictionStatus {
	s.Conditions = []metav1.Condition{{Type: "TargetEvicted", Status: condition, Reason: "PodDeleted", LastTransitionTime: metav1.Now()}}
	return s
}

func TestEvictionResponders(t *testing.T) {
	t.Parallel()
	type report = lifecyclev1alpha1.ResponderStatus
	none := lifecyclev1alpha1.EvictionStatus{}
	running := report{StartTime: ago(time.Hour), HeartbeatTime: ago(time.Minute)}
	silent := report{StartTime: running.StartTime, HeartbeatTime: ago(time.Hour)}
	done := report{StartTime: running.StartTime, HeartbeatTime: running.HeartbeatTime, CompletionTime: ago(0)}
	withPriority := func(priority int32) lifecyclev1alpha1.EvictionStatus {
		s := status(active, inactive, report{StartTime: ago(0)})
		s.TargetResponders[1].Priority = &priority
		return s
	}
	next := func(first report, second *metav1.Time) lifecyclev1alpha1.EvictionStatus {
		s := status(interrupted, active, first)
		s.Responders[0].StartTime = second
		return s
	}
	untracked := status(active, inactive, report{StartTime: ago(0)})
	untracked.Responders = nil
	for _, c := range []struct {
		name, reason string
		old, status  lifecyclev1alpha1.EvictionStatus
		want         []string
	}{
		{"first", "the responder with the highest priority begins", none, status(active, inactive, report{StartTime: ago(0)}), nil},
		{"second before first", "a responder waits for those before it", none, status(inactive, active, report{}), []string{
			`status.targetResponders[1].state: must be one of: Active, because this responder is next in line`,
			`status.targetResponders[0].state: must be one of: Inactive, because the previously active has not finished processing`,
			"status.responders[0].startTime: is required for an active responder",
		}},
		{"untracked", "each responder has a place for its reports", none, untracked, []string{
			`status.targetResponders[1]: "example.com/a" has to be tracked in status.responders first`,
			`status.targetResponders[0]: "imperative-eviction.k8s.io/evictor" has to be tracked in status.responders first`,
			`status.responders: must be the same length as status.targetResponders and contain the same keys`,
		}},
		{"priority of Kubernetes", "users have the priorities from 1000", none, withPriority(200), []string{
			"status.targetResponders[1].priority: priorities 0-999 are reserved for responders with *.k8s.io suffix",
		}},
		{"fewer responders", "the list stays", status(active, inactive, running), none, []string{
			"status.targetResponders: must preserve the same length and the same keys",
		}},
		{"interrupted while it reports", "a responder that reports isn't replaced", status(active, inactive, running), next(running, ago(0)), []string{
			"status.targetResponders[1].state: must stay Active because the responder is in progress and it should report status.responders.heartbeatTime or status.responders.completionTime",
		}},
		{"interrupted when silent", "a responder that doesn't report is replaced", status(active, inactive, silent),
			next(silent, ago(0)), nil},
		{"completed without a report", "the responder says when it has completed", status(active, inactive, silent), status(completed, inactive, silent), []string{
			`status.targetResponders[1].state: cannot become Completed because the responder didn't report status.responders.completionTime`,
			`status.targetResponders[0].state: must be one of: Active, because this responder is next in line`,
		}},
		{"completed", "the report comes from the active responder", status(active, inactive, running),
			status(active, inactive, done), nil},
		{"active again", "a responder runs once", next(silent, ago(0)), status(active, inactive, silent), []string{
			`status.targetResponders[1].state: must be one of: Interrupted, because final state is immutable`,
			`status.targetResponders[0].state: must be one of: Canceled, Completed, Interrupted, because this responder must reach a final state`,
			"status.responders[0]: field is immutable",
		}},
		{"times", "a responder reports the present", status(active, inactive, running), status(active, inactive, report{
			StartTime: running.StartTime, HeartbeatTime: ago(2 * time.Minute),
			ExpectedCompletionTime: ago(2 * time.Hour), CompletionTime: ago(time.Minute),
		}), []string{
			"status.responders[1].heartbeatTime: cannot be decreased",
			"status.responders[1].expectedCompletionTime: must occur after status.responders[1].startTime",
			"status.responders[1].completionTime: must be set to the present time",
		}},
		{"evicted", "the last responder ends first", status(active, inactive, running), ended(status(active, inactive, running), metav1.ConditionTrue), []string{
			`status.targetResponders[1].state: must be one of: Canceled, Completed, Interrupted, because the eviction request has finished processing`,
		}},
		{"not evicted again", "an eviction ends once", ended(status(active, inactive, running), metav1.ConditionTrue), ended(status(interrupted, inactive, running), metav1.ConditionFalse), []string{
			"status.conditions: TargetEvicted condition status cannot be reverted",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stored := &lifecyclev1alpha1.Eviction{ObjectMeta: registrytest.Stored("e"), Status: c.old}
			update := &lifecyclev1alpha1.Eviction{ObjectMeta: registrytest.Stored("e"), Status: c.status}
			var got []string
			for _, err := range validateEvictionStatusUpdate(update, stored) {
				got = append(got, err.Field+": "+err.Detail) // the values have the times of the test
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: errors (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	target := lifecyclev1alpha1.EvictionTarget{Pod: &lifecyclev1alpha1.EvictionPodReference{Name: "p"}}
	eviction := func(s lifecyclev1alpha1.EvictionStatus) *lifecyclev1alpha1.Eviction {
		return &lifecyclev1alpha1.Eviction{ObjectMeta: registrytest.MonthOld("e"), Spec: lifecyclev1alpha1.EvictionSpec{Target: target}, Status: s}
	}
	month := registrytest.MonthAgo()
	running := status(active, inactive, lifecyclev1alpha1.ResponderStatus{StartTime: &month, HeartbeatTime: &month, ExpectedCompletionTime: &month, Message: ptr.To(" draining ")})
	running.ObservedGeneration, running.Requesters = ptr.To[int64](1), []lifecyclev1alpha1.Requester{{Name: "b"}, {Name: "a"}, {Name: "c", Intent: lifecyclev1alpha1.RequesterIntentWithdrawn}}
	done := ended(status(completed, inactive, lifecyclev1alpha1.ResponderStatus{StartTime: &month, CompletionTime: &month}), metav1.ConditionTrue)
	done.Requesters = running.Requesters[2:]
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "new", Reason: "an eviction begins without responders", Object: eviction(lifecyclev1alpha1.EvictionStatus{}),
			Want: []any{"e", "p", "Pod", "Pending", "<unset> (0/0)", "<unset>", "<unknown>", "<none>", "30d", "<unset>", "<unset>"},
		},
		{
			Name: "running", Reason: "the row shows what the active responder reports", Object: eviction(running),
			Want: []any{"e", "p", "Pod", "Progressing", mine + " (1/2)", "Started (30d ago)", "30d ago",
				"a + 1 more...", "30d", "30d ago", "draining"},
		},
		{
			Name: "done", Reason: "without an active responder, the row shows the last one", Object: eviction(done),
			Want: []any{"e", "p", "Pod", "TargetEvicted (PodDeleted)", mine + " (1/2)", "Completed (30d ago)", "-",
				"<withdrawn>", "30d", "<unset>", "<unset>"},
		},
		{
			Name: "request", Reason: "the row names the pod and the requester",
			Object: &lifecyclev1alpha1.EvictionRequest{ObjectMeta: registrytest.MonthOld("r"),
				Spec: lifecyclev1alpha1.EvictionRequestSpec{Requester: "a", Intent: "Eviction"}},
			Want: []any{"r", "<unset>", "<unset>", "Pending", "a", "Eviction", "30d"},
		},
	})
}

func TestEvictionRequest(t *testing.T) {
	t.Parallel()
	request := func(name, requester string) *lifecyclev1alpha1.EvictionRequest {
		r := &lifecyclev1alpha1.EvictionRequest{ObjectMeta: registrytest.Stored(name)}
		r.Spec.Requester, r.Spec.Intent = requester, lifecyclev1alpha1.EvictionRequestIntentEviction
		r.Spec.Target.Pod = &lifecyclev1alpha1.EvictionRequestPodReference{Name: "p", UID: "3f0f9fe8-1206-4a95-8489-a33e749e3f0f"}
		return r
	}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{Name: "request", Reason: "a requester has a domain", Object: request("r", "example.com/r")},
		{Name: "name", Reason: "a name is checked once", Object: request("R", "example.com/r"), Want: []string{
			`metadata.name: Invalid value: "R": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
		}},
		{Name: "requester of Kubernetes", Reason: "the domains of Kubernetes are reserved", Object: request("r", "policy.k8s.io/r"), Want: []string{
			`spec.requester: Invalid value: "policy.k8s.io/r": domain names *.k8s.io, *.kubernetes.io are reserved`,
		}},
		{Name: "another requester", Reason: "a request stays the same requester's", Object: request("r", "example.com/s"), Old: request("r", "example.com/r"), Want: []string{
			`spec.requester: Invalid value: null: field is immutable`,
		}},
	})
}
