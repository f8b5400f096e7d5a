// Package answers has what containers that pretend answer: the objects of kwok (https://kwok.sigs.k8s.io) for logs, attach
// and port-forward.
//
// The objects name files and addresses that the server's machine reaches, so they come from a file of the server's own, and
// not from the API.
package answers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
)

// Set has the objects of one or several files.
type Set struct {
	logs     rules[v1alpha1.Log]
	attaches rules[v1alpha1.AttachConfig]
	forwards rules[v1alpha1.Forward]
}

// rules have the rules of pods, and those of the pods that a selector selects.
type rules[R any] struct{ named, selected []rule[R] }

// rule has what the containers or the ports of a pod answer.
type rule[R any] struct {
	namespace, name string
	selector        *v1alpha1.ObjectSelector
	entries         []R
}

// kinds has what adds an object in JSON to a set, by kind.
var kinds = map[string]func(*Set, []byte) error{
	v1alpha1.LogsKind: func(s *Set, text []byte) error {
		return add(text, func(o *v1alpha1.Logs) error { return s.logs.name(o.ObjectMeta, o.Spec.Logs, checkLog) })
	},
	v1alpha1.ClusterLogsKind: func(s *Set, text []byte) error {
		return add(text, func(o *v1alpha1.ClusterLogs) error { return s.logs.selectBy(o.Spec.Selector, o.Spec.Logs, checkLog) })
	},
	v1alpha1.AttachKind: func(s *Set, text []byte) error {
		return add(text, func(o *v1alpha1.Attach) error { return s.attaches.name(o.ObjectMeta, o.Spec.Attaches, checkAttach) })
	},
	v1alpha1.ClusterAttachKind: func(s *Set, text []byte) error {
		return add(text, func(o *v1alpha1.ClusterAttach) error {
			return s.attaches.selectBy(o.Spec.Selector, o.Spec.Attaches, checkAttach)
		})
	},
	v1alpha1.PortForwardKind: func(s *Set, text []byte) error {
		return add(text, func(o *v1alpha1.PortForward) error {
			return s.forwards.name(o.ObjectMeta, o.Spec.Forwards, checkForward)
		})
	},
	v1alpha1.ClusterPortForwardKind: func(s *Set, text []byte) error {
		return add(text, func(o *v1alpha1.ClusterPortForward) error {
			return s.forwards.selectBy(o.Spec.Selector, o.Spec.Forwards, checkForward)
		})
	},
}

// Has reports whether a kind says what containers answer.
func Has(kind string) bool { return kinds[kind] != nil || isExec(kind) }

// Kinds returns the kinds of the objects.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// Add adds an object in JSON.
func (s *Set) Add(kind string, text []byte) error {
	if isExec(kind) {
		return errors.New("kwok runs the commands of kubectl exec on this machine, which isn't supported: say what they answer by the annotation miniapi.dev/exec")
	}
	return kinds[kind](s, text)
}

// isExec reports whether a kind says where the commands of kubectl exec run.
func isExec(kind string) bool { return kind == v1alpha1.ExecKind || kind == v1alpha1.ClusterExecKind }

// Append adds the objects of another set.
func (s *Set) Append(other *Set) {
	s.logs.append(other.logs)
	s.attaches.append(other.attaches)
	s.forwards.append(other.forwards)
}

// add decodes an object, which has only the fields of its type.
func add[O any](text []byte, to func(*O) error) error {
	o := new(O)
	unknown, err := json.UnmarshalStrict(text, o)
	if err := errors.Join(append(unknown, err)...); err != nil {
		return err
	}
	return to(o)
}

func (r *rules[R]) name(pod metav1.ObjectMeta, entries []R, check func(R) error) error {
	r.named = append(r.named, rule[R]{namespace: cmp.Or(pod.Namespace, metav1.NamespaceDefault), name: pod.Name, entries: entries})
	return checkAll(entries, check)
}

func (r *rules[R]) selectBy(selector *v1alpha1.ObjectSelector, entries []R, check func(R) error) error {
	r.selected = append(r.selected, rule[R]{selector: selector, entries: entries})
	return checkAll(entries, check)
}

func (r *rules[R]) append(other rules[R]) {
	r.named, r.selected = append(r.named, other.named...), append(r.selected, other.selected...)
}

func checkAll[R any](entries []R, check func(R) error) error {
	for i, entry := range entries {
		if err := check(entry); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return nil
}

func checkLog(l v1alpha1.Log) error {
	if l.LogsFile == nil {
		return errors.New("logsFile: must be the path of a file")
	}
	return nil
}

func checkAttach(a v1alpha1.AttachConfig) error {
	if a.LogsFile == nil {
		return errors.New("logsFile: must be the path of a file")
	}
	return nil
}

func checkForward(f v1alpha1.Forward) error {
	if len(f.Command) > 0 {
		return fmt.Errorf("command %q: no command runs on this machine: name a target", strings.Join(f.Command, " "))
	}
	if f.Target == nil {
		return errors.New("target: must be an address and a port")
	}
	return nil
}

// entryOf returns the entry for a container or a port of a pod, as kwok chooses it: that of the pod, or else that of the
// first selector. An entry that names the container or the port comes before one that names none.
func entryOf[R any, K comparable](r rules[R], namespace, pod string, key K, keys func(R) []K) (entry R, ok bool) {
	for _, named := range r.named {
		if named.namespace == namespace && named.name == pod {
			return choose(named.entries, key, keys)
		}
	}
	for _, selected := range r.selected {
		if !selects(selected.selector, namespace, pod) {
			continue
		}
		if entry, ok = choose(selected.entries, key, keys); ok {
			return entry, true
		}
	}
	return entry, false
}

func selects(s *v1alpha1.ObjectSelector, namespace, pod string) bool {
	return s == nil || (len(s.MatchNamespaces) == 0 || slices.Contains(s.MatchNamespaces, namespace)) &&
		(len(s.MatchNames) == 0 || slices.Contains(s.MatchNames, pod))
}

func choose[R any, K comparable](entries []R, key K, keys func(R) []K) (entry R, ok bool) {
	i := slices.IndexFunc(entries, func(e R) bool { return slices.Contains(keys(e), key) })
	if i < 0 {
		i = slices.IndexFunc(entries, func(e R) bool { return len(keys(e)) == 0 })
	}
	if i < 0 {
		return entry, false
	}
	return entries[i], true
}

// LogFile returns the file with the log of a container, or of the container before its last restart.
func (s *Set) LogFile(namespace, pod, container string, previous bool) (string, bool) {
	l, ok := entryOf(s.logs, namespace, pod, container, func(l v1alpha1.Log) []string { return l.Containers })
	file := l.LogsFile
	if previous {
		file = l.PreviousLogsFile
	}
	if !ok || file == nil {
		return "", false
	}
	return *file, true
}

// AttachFile returns the file with what a client sees that attaches to a container.
func (s *Set) AttachFile(namespace, pod, container string) (string, bool) {
	a, ok := entryOf(s.attaches, namespace, pod, container, func(a v1alpha1.AttachConfig) []string { return a.Containers })
	if !ok {
		return "", false
	}
	return *a.LogsFile, true
}

// Target returns the address to which a port of a pod is forwarded.
func (s *Set) Target(namespace, pod string, port int32) (v1alpha1.ForwardTarget, bool) {
	f, ok := entryOf(s.forwards, namespace, pod, port, func(f v1alpha1.Forward) []int32 { return f.Ports })
	if !ok {
		return v1alpha1.ForwardTarget{}, false
	}
	return *f.Target, true
}
