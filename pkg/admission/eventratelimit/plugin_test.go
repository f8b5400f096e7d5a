package eventratelimit

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/miniapi-dev/miniapi/pkg/admission/internal/plugintest"
)

const header = "apiVersion: eventratelimit.admission.k8s.io/v1alpha1\nkind: Configuration\n"

func TestPlugin(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakePassiveClock(time.Unix(1700000000, 0))
	p, err := newPlugin(strings.NewReader(header+"limits:\n- {type: Server, qps: 1, burst: 3}\n- {type: Namespace, qps: 1, burst: 1}\n"), clock)
	if err != nil {
		t.Fatal(err)
	}
	event := func(namespace string) runtime.Object {
		return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "e"}}
	}
	steps := []struct {
		name, reason, refusal string
		object                runtime.Object
		after                 time.Duration
	}{
		{name: "first", reason: "the bucket is full", object: event("a")},
		{name: "second", reason: "that of the namespace is empty", object: event("a"), refusal: "limit reached on type Namespace for key a"},
		{name: "other namespace", reason: "it has a bucket of its own", object: event("b")},
		{name: "third namespace", reason: "refused ones count for the server, too", object: event("c"), refusal: "limit reached on type Server for key "},
		{name: "other kind", reason: "only events are limited", object: &corev1.ConfigMap{}},
		{name: "later", reason: "buckets fill up", object: event("a"), after: time.Second},
	}
	for _, step := range steps {
		clock.SetTime(clock.Now().Add(step.after))
		t.Log(step.name, step.reason)
		plugintest.Run(t, p, plugintest.Create(step.object), step.refusal)
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, reason, content, err string }{
		{name: "no limits", reason: "it would do nothing", content: header, err: "limits: Invalid value: null: must not be empty"},
		{name: "unknown type", reason: "the known ones are told", content: header + "limits: [{type: Pod, qps: 1, burst: 1}]\n", err: `limits[0].type: Unsupported value: "Pod": supported values: "Namespace", "Server", "SourceAndObject", "User"`},
		{name: "no rate", reason: "a bucket must fill up", content: header + "limits: [{type: Server, burst: 1}]\n", err: "limits[0].qps: Invalid value: 0: must be positive"},
		{name: "other kind", reason: "it is somebody else's", content: "kind: Configuration\n", err: "no kind"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := New(strings.NewReader(test.content)); err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: error %v, want %q", test.reason, err, test.err)
			}
		})
	}
	if _, err := New(nil); err == nil {
		t.Error("without a configuration there is nothing to do")
	}
}
