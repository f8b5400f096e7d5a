package served_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/miniapi-dev/miniapi/pkg/controllers/served"
)

// lists is a fake of discovery. The test sets its answer.
type lists struct {
	discovery.ServerResourcesInterface
	all   []*metav1.APIResourceList
	err   error
	asked int
	then  func() // called while discovery answers
}

func (l *lists) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	l.asked++
	if l.then != nil {
		l.then()
	}
	return l.all, l.err
}

func listOf(groupVersion string, names ...string) *metav1.APIResourceList {
	list := &metav1.APIResourceList{GroupVersion: groupVersion}
	for _, name := range names {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Kind: name, Verbs: []string{"get", "delete"}})
	}
	return list
}

func names(resources []served.Resource) (names []string) {
	for _, r := range resources {
		names = append(names, r.GroupVersionResource.GroupResource().String())
	}
	return names
}

// List requests discovery once, and again after a change. After an error, each call of List requests
// discovery again.
func TestList(t *testing.T) {
	t.Parallel()
	l := &lists{all: []*metav1.APIResourceList{listOf("v1", "pods"), listOf("apps/v1", "deployments")}}
	resources := served.New(l, nil)
	told := 0
	resources.OnChange(func() { told++ })
	expect := func(reason string, asked int, want ...string) error {
		t.Helper()
		got, err := resources.List()
		if diff := cmp.Diff(want, names(got)); diff != "" || l.asked != asked {
			t.Errorf("%s: after %d questions instead of %d, the resources differ (-want +got):\n%s", reason, l.asked, asked, diff)
		}
		return err
	}
	_ = expect("the first time", 1, "pods", "deployments.apps")
	_ = expect("the answer is known", 1, "pods", "deployments.apps")
	l.all = l.all[:1]
	resources.Changed()
	if told != 1 || resources.Changes() != 1 {
		t.Errorf("want one change to be told, got %d and %d", told, resources.Changes())
	}
	_ = expect("after a change", 2, "pods")

	l.err = errors.New("a server is away")
	resources.Changed()
	if err := expect("a part of an answer", 3, "pods"); !errors.Is(err, l.err) {
		t.Errorf("want %v, got %v", l.err, err)
	}
	l.err = nil
	_ = expect("asked again after an error", 4, "pods")

	l.then = resources.Changed
	resources.Changed()
	_ = expect("a change during the answer", 5, "pods")
	l.then = nil
	_ = expect("the answer may be old", 6, "pods")
}

// If discovery lists a group version that can't be parsed, List returns an InvalidVersionError and the other
// resources.
func TestInvalidVersion(t *testing.T) {
	t.Parallel()
	got, err := served.New(&lists{all: []*metav1.APIResourceList{listOf("a/b/c", "x"), listOf("v1", "pods")}}, nil).List()
	invalid := (*served.InvalidVersionError)(nil)
	if diff := cmp.Diff([]string{"pods"}, names(got)); diff != "" || !errors.As(err, &invalid) {
		t.Errorf("want an error of the version, got %v, and the resources differ (-want +got):\n%s", err, diff)
	}
	if !got[0].Can("get", "delete") || got[0].Can("get", "list") {
		t.Errorf("want pods to have get and delete alone, got %v", got[0].Verbs)
	}
}
