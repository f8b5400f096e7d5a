package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

const (
	// maxResponders is the number of responders that a pod can name, and one of Kubernetes.
	maxResponders = 11
	// heartbeatDeadline is the time after its last report in which a responder can't be replaced.
	heartbeatDeadline = 20 * time.Minute
	// timeSkew is the difference that the clocks of a responder and of the server can have.
	timeSkew = 30 * time.Second
	// longest is the longest time that a responder can expect to need.
	longest = 10 * 365 * 24 * time.Hour
	// ownPriority is the priority of the responder of Kubernetes, and ownPriorities the number of priorities that only
	// responders of Kubernetes have.
	ownPriority, ownPriorities = 100, 1000
)

// responders checks the responders of an eviction (KEP-4563). A controller makes one after the other active, in the order
// of their priorities: targets. Only the active responder reports its progress: reports.
type responders struct {
	targets, oldTargets []lifecyclev1alpha1.TargetResponder
	reports, oldReports []lifecyclev1alpha1.ResponderStatus
	// ended is true for an eviction that has succeeded or failed.
	ended bool
	now   time.Time
}

var (
	targetsPath = validation.StatusPath.Child("targetResponders")
	reportsPath = validation.StatusPath.Child("responders")
	finalStates = []lifecyclev1alpha1.ResponderStateType{
		lifecyclev1alpha1.ResponderStateCanceled, lifecyclev1alpha1.ResponderStateCompleted, lifecyclev1alpha1.ResponderStateInterrupted,
	}
)

func hasEnded(state lifecyclev1alpha1.ResponderStateType) bool {
	return slices.Contains(finalStates, state)
}

func newResponders(s, old *lifecyclev1alpha1.EvictionStatus, ended bool, now time.Time) *responders {
	return &responders{s.TargetResponders, old.TargetResponders, s.Responders, old.Responders, ended, now}
}

func (r *responders) validate() field.ErrorList {
	return append(r.validateTargets(), r.validateReports()...)
}

func (r *responders) validateTargets() field.ErrorList {
	if len(r.oldTargets) > 0 {
		if len(r.targets) != len(r.oldTargets) {
			return field.ErrorList{field.Invalid(targetsPath, validation.Unversioned(r.targets), "must preserve the same length and the same keys")}
		}
		if !targetNames(r.targets).IsSuperset(targetNames(r.oldTargets)) {
			return field.ErrorList{field.Invalid(targetsPath, validation.Unversioned(r.targets), "must preserve the same keys")}
		}
	}
	if len(r.targets) > maxResponders || len(targetNames(r.targets)) != len(r.targets) {
		return nil // the generated validation refuses it
	}
	targets, old := slices.SortedFunc(slices.Values(r.targets), inOrder), slices.SortedFunc(slices.Values(r.oldTargets), inOrder)
	var f validation.Findings
	for i := range targets {
		at := slices.IndexFunc(r.targets, func(t lifecyclev1alpha1.TargetResponder) bool { return t.Name == targets[i].Name })
		f.Merge(r.validateTarget(targetsPath.Index(at), &targets[i], r.step(targets, old, i)))
	}
	return f.Errs
}

// step is what a responder may be in the next status, and why.
type step struct {
	states []lifecyclev1alpha1.ResponderStateType
	reason string
}

// step returns the step of the responder with an index in the order of responders.
func (r *responders) step(targets, old []lifecyclev1alpha1.TargetResponder, i int) step {
	const finished = "the eviction request has finished processing"
	only := func(state lifecyclev1alpha1.ResponderStateType) []lifecyclev1alpha1.ResponderStateType {
		return []lifecyclev1alpha1.ResponderStateType{state}
	}
	active := slices.IndexFunc(old, func(t lifecyclev1alpha1.TargetResponder) bool {
		return t.State == lifecyclev1alpha1.ResponderStateActive
	})
	ends := active >= 0 && targets[active].State != lifecyclev1alpha1.ResponderStateActive
	allEnded := active < 0 && len(old) > 0 && (r.ended || hasEnded(old[len(old)-1].State))
	switch {
	case i < active || allEnded:
		return step{only(old[i].State), "final state is immutable"}
	case i == active && ends:
		return step{finalStates, "this responder must reach a final state"}
	case i == active && r.ended:
		return step{finalStates, finished}
	case i == active:
		return step{only(lifecyclev1alpha1.ResponderStateActive), "the eviction request stays active"}
	case i == 0 && len(old) == 0 || i == active+1 && ends:
		if r.ended {
			return step{only(lifecyclev1alpha1.ResponderStateInactive), finished}
		}
		return step{only(lifecyclev1alpha1.ResponderStateActive), "this responder is next in line"}
	}
	return step{only(lifecyclev1alpha1.ResponderStateInactive), "the previously active has not finished processing"}
}

func (r *responders) validateTarget(path *field.Path, t *lifecyclev1alpha1.TargetResponder, next step) field.ErrorList {
	var f validation.Findings
	i := slices.IndexFunc(r.reports, func(s lifecyclev1alpha1.ResponderStatus) bool { return s.Name == t.Name })
	if i < 0 {
		return field.ErrorList{field.Invalid(path, validation.Unversioned(*t), fmt.Sprintf("%q has to be tracked in %s first", t.Name, reportsPath))}
	}
	report := &r.reports[i]
	if priority := ptr.Deref(t.Priority, -1); priority >= 0 {
		own := t.Name == lifecyclev1alpha1.EvictionResponderImperativeEviction
		f.AddIf(own && priority != ownPriority, field.Invalid(path.Child("priority"), priority, fmt.Sprintf("core k8s responder is expected to have priority: %d", ownPriority)))
		f.AddIf(!own && priority < ownPriorities, field.Invalid(path.Child("priority"), priority, "priorities 0-999 are reserved for responders with *.k8s.io suffix"))
	}
	path = path.Child("state")
	if !slices.Contains(next.states, t.State) {
		var states []string
		for _, s := range next.states {
			states = append(states, string(s))
		}
		f.Add(field.Invalid(path, t.State, fmt.Sprintf("must be one of: %s, because %s", strings.Join(states, ", "), next.reason)))
		return f.Errs
	}
	running := report.StartTime != nil && report.CompletionTime == nil
	heard := ptr.Deref(report.HeartbeatTime, ptr.Deref(report.StartTime, metav1.Time{})).Time
	f.AddIf(t.State != lifecyclev1alpha1.ResponderStateActive && running && !r.ended && r.now.Before(heard.Add(heartbeatDeadline-timeSkew)),
		field.Forbidden(path, fmt.Sprintf("must stay Active because the responder is in progress and it should report %s or %s",
			reportsPath.Child("heartbeatTime"), reportsPath.Child("completionTime"))))
	f.AddIf(t.State == lifecyclev1alpha1.ResponderStateCompleted && report.CompletionTime == nil,
		field.Invalid(path, t.State, fmt.Sprintf("cannot become Completed because the responder didn't report %s", reportsPath.Child("completionTime"))))
	return f.Errs
}

func (r *responders) validateReports() field.ErrorList {
	names := sets.New[string]()
	for _, s := range r.reports {
		names.Insert(s.Name)
	}
	if len(r.reports) != len(r.targets) {
		return field.ErrorList{field.Invalid(reportsPath, validation.Unversioned(r.reports), "must be the same length as status.targetResponders and contain the same keys")}
	}
	if !names.IsSuperset(targetNames(r.targets)) {
		return field.ErrorList{field.Invalid(reportsPath, validation.Unversioned(r.reports), "must contain the same keys as status.targetResponders")}
	}
	if len(r.reports) > maxResponders || len(names) != len(r.reports) {
		return nil // the generated validation refuses it
	}
	var f validation.Findings
	for i := range r.reports {
		s := &r.reports[i]
		target := slices.IndexFunc(r.targets, func(t lifecyclev1alpha1.TargetResponder) bool { return t.Name == s.Name })
		active := target >= 0 && r.targets[target].State == lifecyclev1alpha1.ResponderStateActive
		var old *lifecyclev1alpha1.ResponderStatus
		if at := slices.IndexFunc(r.oldReports, func(o lifecyclev1alpha1.ResponderStatus) bool { return o.Name == s.Name }); at >= 0 {
			old = &r.oldReports[at]
		}
		f.Merge(r.validateReport(reportsPath.Index(i), s, old, active))
	}
	return f.Errs
}

// validateReport checks the times that a responder reports. The generated validation checks that a start and a completion
// don't change.
func (r *responders) validateReport(path *field.Path, s, before *lifecyclev1alpha1.ResponderStatus, active bool) field.ErrorList {
	if before != nil && !active && !equality.Semantic.DeepEqual(s, before) {
		return field.ErrorList{field.Invalid(path, validation.Unversioned(*s), apivalidation.FieldImmutableErrorMsg).WithOrigin("immutable")}
	}
	old := ptr.Deref(before, lifecyclev1alpha1.ResponderStatus{})
	var f validation.Findings
	const present = "must be set to the present time"

	start := path.Child("startTime")
	switch {
	case old.StartTime != nil && !old.StartTime.Equal(s.StartTime):
	case s.StartTime == nil && active:
		f.Add(field.Required(start, "is required for an active responder"))
	case s.StartTime != nil && old.StartTime == nil && !r.isPresent(s.StartTime):
		f.Add(field.Invalid(start, s.StartTime, present))
	}
	// started returns why a time can't be reported: only a responder that has started reports, and not earlier times.
	started := func(t *metav1.Time) string {
		switch {
		case s.StartTime == nil:
			return fmt.Sprintf("cannot be set before %s is set", start)
		case t.Before(s.StartTime):
			return fmt.Sprintf("must occur after %s", start)
		}
		return ""
	}

	heartbeat := path.Child("heartbeatTime")
	f.AddIf(old.HeartbeatTime != nil && s.HeartbeatTime == nil, field.Required(heartbeat, "is required once set"))
	if t := s.HeartbeatTime; t != nil && !old.HeartbeatTime.Equal(t) {
		switch msg := started(t); {
		case s.StartTime != nil && t.Before(old.HeartbeatTime):
			f.Add(field.Invalid(heartbeat, t, "cannot be decreased"))
		case msg != "":
			f.Add(field.Invalid(heartbeat, t, msg))
		case !r.isPresent(t):
			f.Add(field.Invalid(heartbeat, t, present))
		}
	}

	expected := path.Child("expectedCompletionTime")
	if t := s.ExpectedCompletionTime; t != nil && !old.ExpectedCompletionTime.Equal(t) {
		switch msg := started(t); {
		case msg != "":
			f.Add(field.Invalid(expected, t, msg))
		case t.Time.Before(r.now.Add(-timeSkew)):
			f.Add(field.Invalid(expected, t, "cannot be set to the past time"))
		case t.After(r.now.Add(longest)):
			f.Add(field.Invalid(expected, t, "must complete within 10 years"))
		}
	}

	completion := path.Child("completionTime")
	if t := s.CompletionTime; t != nil && (old.CompletionTime == nil || old.CompletionTime.Equal(t)) {
		if msg := started(t); msg != "" {
			f.Add(field.Invalid(completion, t, msg))
		} else if old.CompletionTime == nil && !r.isPresent(t) {
			f.Add(field.Invalid(completion, t, present))
		}
	}
	return f.Errs
}

// isPresent reports whether a time is the present, as far as the clocks of two machines agree.
func (r *responders) isPresent(t *metav1.Time) bool { return r.now.Sub(t.Time).Abs() < timeSkew }

func targetNames(targets []lifecyclev1alpha1.TargetResponder) sets.Set[string] {
	names := sets.New[string]()
	for _, t := range targets {
		names.Insert(t.Name)
	}
	return names
}

// inOrder compares two responders by the order in which they become active: the highest priority comes first, then the
// domains of the names label by label, beginning with the last label.
func inOrder(a, b lifecyclev1alpha1.TargetResponder) int {
	domain := func(name string) (labels []string, key string) {
		prefix, key, _ := strings.Cut(name, "/")
		labels = strings.Split(prefix, ".")
		slices.Reverse(labels)
		return labels, key
	}
	aDomain, aKey := domain(a.Name)
	bDomain, bKey := domain(b.Name)
	return cmp.Or(
		cmp.Compare(ptr.Deref(b.Priority, -1), ptr.Deref(a.Priority, -1)),
		slices.Compare(aDomain, bDomain),
		strings.Compare(aKey, bKey))
}
