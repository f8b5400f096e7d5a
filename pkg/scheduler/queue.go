package scheduler

import (
	"cmp"
	"container/heap"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// The values are kube-scheduler's. A pod that has been refused, or whose binding has failed, backs off: for firstBackoff,
// and twice as long after each further time, up to longestBackoff. A refused pod is tried again after longestRefusal, even
// if nothing has changed that may help it.
const (
	firstBackoff   = time.Second
	longestBackoff = 10 * time.Second
	longestRefusal = 5 * time.Minute
)

// queue has the pods that wait for a node. A pod is in one of the lines, or in none if scheduling gates hold it.
type queue struct {
	pods map[types.UID]*waiting
	// active has the pods to schedule. refused has the pods that no node takes. backoff has refused pods that a change may
	// have helped; they are scheduled when active is empty, without a wait for the end of their backoff. failed has
	// the pods whose binding has failed.
	active, refused, backoff, failed line
}

func newQueue() queue {
	byEnd := func(a, b *waiting) int { return cmp.Or(a.until.Compare(b.until), a.compare(b)) }
	return queue{
		pods:    map[types.UID]*waiting{},
		active:  line{order: (*waiting).compare},
		refused: line{order: byEnd}, backoff: line{order: byEnd}, failed: line{order: byEnd},
	}
}

// waiting is a pod in a queue.
type waiting struct {
	*podInfo
	since            time.Time // when the pod was added, or when it was last refused
	refusals, errors int       // errors counts failures in a row
	refusedBy        sets.Set[string]
	until            time.Time // the end of the pod's time in its line, for all lines but active
	in               *line
	index            int // in the line
}

// compare puts the pod with the higher priority first, or else the one that waits for longer.
func (w *waiting) compare(other *waiting) int {
	return cmp.Or(cmp.Compare(other.priority, w.priority), w.since.Compare(other.since))
}

// put moves a pod to a line, which may be nil.
func (w *waiting) put(l *line) {
	if w.in != nil {
		heap.Remove(w.in, w.index)
	}
	if w.in = l; l != nil {
		heap.Push(l, w)
	}
}

// add adds a new pod.
func (q *queue) add(pod *podInfo) {
	w := &waiting{podInfo: pod, since: time.Now()}
	q.pods[pod.UID] = w
	if len(pod.Spec.SchedulingGates) == 0 {
		w.put(&q.active)
	}
}

func (q *queue) remove(uid types.UID) {
	if w := q.pods[uid]; w != nil {
		w.put(nil)
		delete(q.pods, uid)
	}
}

// next takes the next pod out of its line. It returns nil if no pod is to be scheduled now.
func (q *queue) next() *waiting {
	now := time.Now()
	for _, l := range []*line{&q.backoff, &q.failed, &q.refused} {
		for len(l.pods) > 0 && !l.pods[0].until.After(now) {
			l.pods[0].put(&q.active)
		}
	}
	for _, l := range []*line{&q.active, &q.backoff} {
		if len(l.pods) > 0 {
			w := l.pods[0]
			w.put(nil)
			return w
		}
	}
	return nil
}

// wake returns the time until next returns a pod although nothing has changed, or 0 if there is no such time.
func (q *queue) wake() (after time.Duration) {
	for _, l := range []*line{&q.failed, &q.refused} {
		if len(l.pods) == 0 {
			continue
		}
		if left := max(time.Until(l.pods[0].until), time.Millisecond); after == 0 || left < after {
			after = left
		}
	}
	return after
}

// refuse lets a pod wait until a change may help it.
func (q *queue) refuse(w *waiting, by sets.Set[string]) {
	w.since, w.refusedBy, w.errors = time.Now(), by, 0
	w.refusals++
	w.until = w.since.Add(longestRefusal)
	w.put(&q.refused)
}

// help lets refused pods be tried again if the function reports that a change may help them. It reports whether there
// are such pods.
func (q *queue) help(helps func(*waiting) bool) bool {
	var helped []*waiting
	for _, w := range q.refused.pods {
		if helps(w) {
			helped = append(helped, w)
		}
	}
	for _, w := range helped {
		w.until = w.since.Add(backoff(w.refusals))
		w.put(&q.backoff)
	}
	return len(helped) > 0
}

// fail lets a pod be tried again after a failure.
func (q *queue) fail(w *waiting) {
	w.since = time.Now()
	w.errors++
	w.until = w.since.Add(backoff(w.errors))
	w.put(&q.failed)
}

func backoff(times int) time.Duration {
	return min(firstBackoff<<min(times-1, 10), longestBackoff)
}

// line is a heap of pods. It implements heap.Interface.
type line struct {
	pods  []*waiting
	order func(a, b *waiting) int
}

func (l *line) Len() int           { return len(l.pods) }
func (l *line) Less(i, j int) bool { return l.order(l.pods[i], l.pods[j]) < 0 }

func (l *line) Swap(i, j int) {
	l.pods[i], l.pods[j] = l.pods[j], l.pods[i]
	l.pods[i].index, l.pods[j].index = i, j
}

func (l *line) Push(x any) {
	w := x.(*waiting)
	w.index = len(l.pods)
	l.pods = append(l.pods, w)
}

func (l *line) Pop() any {
	last := len(l.pods) - 1
	w := l.pods[last]
	l.pods[last] = nil
	l.pods = l.pods[:last]
	return w
}
