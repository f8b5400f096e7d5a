package hookregistry_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookregistry"
)

var create = catalog.GroupHook{Group: "hooks.example", Hook: "BeforeCreate"}

func config(name string, handlers ...string) runtimev1.ExtensionConfig {
	c := runtimev1.ExtensionConfig{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "7"}}
	for i, handler := range handlers {
		version := []string{"hooks.example/v1", "hooks.example/v2"}[i%2]
		c.Status.Handlers = append(c.Status.Handlers, runtimev1.ExtensionHandler{
			Name: handler, RequestHook: runtimev1.GroupVersionHook{APIVersion: version, Hook: "BeforeCreate"},
		})
	}
	return c
}

func names(t *testing.T, r *hookregistry.Registry) []string {
	t.Helper()
	list, err := r.List(create)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, registration := range list {
		all = append(all, registration.Name)
	}
	return all
}

func isReady(r *hookregistry.Registry) bool {
	select {
	case <-r.Ready():
		return true
	default:
		return false
	}
}

// TestWarmUpIsAllOrNothing calls WarmUp with a valid ExtensionConfig and two invalid ones. Nothing must be registered.
// A second call of WarmUp, with the valid ExtensionConfig alone, must register its handlers.
func TestWarmUpIsAllOrNothing(t *testing.T) {
	t.Parallel()
	r := hookregistry.New()
	bad := config("bad", "a.bad")
	bad.Spec.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	err := r.WarmUp([]runtimev1.ExtensionConfig{config("good", "a.good"), bad, config("worse", "a.other")})
	for _, want := range []string{`"bad": spec.namespaceSelector`, `"worse": status.handlers[0]: name "a.other": must end with .worse`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
	if isReady(r) {
		t.Error("the registry is ready after a warm-up that failed")
	}
	c := config("late", "a.late")
	_, listErr := r.List(create)
	_, getErr := r.Get("a.good")
	for what, err := range map[string]error{"list": listErr, "get": getErr, "add": r.Add(&c)} {
		if !errors.Is(err, hookregistry.ErrNotReady) {
			t.Errorf("%s in a cold registry: %v", what, err)
		}
	}
	if err := r.WarmUp([]runtimev1.ExtensionConfig{config("good", "a.good")}); err != nil || !isReady(r) {
		t.Fatalf("ready is %v: %v", isReady(r), err)
	}
	if diff := cmp.Diff([]string{"a.good"}, names(t, r)); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
	if err := r.WarmUp(nil); err == nil {
		t.Error("a warm registry was warmed up again")
	}
}

func TestAddAndRemove(t *testing.T) {
	t.Parallel()
	r := hookregistry.New()
	if err := r.WarmUp([]runtimev1.ExtensionConfig{config("b", "z.b", "a.b"), config("a", "x.a")}); err != nil {
		t.Fatal(err)
	}
	expect := func(reason string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, names(t, r)); diff != "" {
			t.Errorf("(-want +got, %s): %s", reason, diff)
		}
	}
	expect("handlers of all versions, by ExtensionConfig and name", "x.a", "a.b", "z.b")
	replaced := config("b", "m.b")
	if err := r.Add(&replaced); err != nil {
		t.Fatal(err)
	}
	expect("the handlers of an ExtensionConfig are replaced", "x.a", "m.b")
	invalid := config("b", "n.c")
	if err := r.Add(&invalid); err == nil {
		t.Error("an invalid ExtensionConfig was added")
	}
	expect("an invalid ExtensionConfig changes nothing", "x.a", "m.b")
	r.Remove("b")
	r.Remove("never there")
	expect("a removed ExtensionConfig has no handlers", "x.a")
	if _, err := r.Get("m.b"); err == nil {
		t.Error("a removed handler is found")
	}
	got, err := r.Get("x.a")
	if err != nil {
		t.Fatal(err)
	}
	if got.Timeout != 10*time.Second || got.FailurePolicy != "Fail" || !got.Namespaces.Empty() || got.ConfigVersion != "7" || got.Handler != "x" {
		t.Errorf("the registration is %+v", got)
	}
}
