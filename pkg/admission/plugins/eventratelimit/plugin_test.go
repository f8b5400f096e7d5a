package eventratelimit

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
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
		{name: "second", reason: "the bucket of the namespace is empty", object: event("a"),
			refusal: "limit reached on type Namespace for key a"},
		{name: "other namespace", reason: "each namespace has its own bucket", object: event("b")},
		{name: "third namespace", reason: "a refused Event also takes a token of the server's bucket",
			object: event("c"), refusal: "limit reached on type Server for key "},
		{name: "both empty", reason: "the error names every limit that refuses the Event", object: event("a"),
			refusal: "[limit reached on type Server for key , limit reached on type Namespace for key a]"},
		{name: "other kind", reason: "only events are limited", object: &corev1.ConfigMap{}},
		{name: "later", reason: "buckets fill up", object: event("a"), after: time.Second},
	}
	for _, step := range steps {
		clock.SetTime(clock.Now().Add(step.after))
		t.Log(step.name, step.reason)
		plugintest.Run(t, p, plugintest.Create(step.object), step.refusal)
	}
}

// Events with the same key share a bucket. The bucket has one token, so the second Event is refused.
func TestKeys(t *testing.T) {
	t.Parallel()
	first := corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "e"}, Source: corev1.EventSource{Component: "c", Host: "h"},
		InvolvedObject: corev1.ObjectReference{Kind: "k", Namespace: "n", Name: "m", UID: "u", APIVersion: "v"},
	}
	changed := func(change func(*corev1.Event)) plugintest.Request {
		event := first
		change(&event)
		return plugintest.Create(&event)
	}
	const byUser, byObject = `limit reached on type User for key alice`, `limit reached on type SourceAndObject for key chknmuv`
	tests := []struct {
		name, reason, limit, refusal string
		request                      plugintest.Request
	}{
		{name: "same user", reason: "a user has one bucket for all namespaces", limit: "User", refusal: byUser,
			request: changed(func(e *corev1.Event) { e.Namespace = "b" })},
		{name: "other user", reason: "each user has a bucket", limit: "User",
			request: changed(func(*corev1.Event) {}).By(&user.DefaultInfo{Name: "bob"})},
		{name: "dry run", reason: "nothing is written", limit: "User",
			request: plugintest.Request{Operation: admission.Create, Object: &first, DryRun: true}},
		{name: "same object", reason: "the message of an event is not part of the key", limit: "SourceAndObject",
			refusal: byObject, request: changed(func(e *corev1.Event) { e.Reason = "x" })},
		{name: "other component", reason: "the component is part of the key", limit: "SourceAndObject",
			request: changed(func(e *corev1.Event) { e.Source.Component = "x" })},
		{name: "other host", reason: "the host is part of the key", limit: "SourceAndObject",
			request: changed(func(e *corev1.Event) { e.Source.Host = "x" })},
		{name: "other kind of object", reason: "the kind of the object is part of the key", limit: "SourceAndObject",
			request: changed(func(e *corev1.Event) { e.InvolvedObject.Kind = "x" })},
		{name: "other namespace", reason: "the namespace of the object is part of the key", limit: "SourceAndObject",
			request: changed(func(e *corev1.Event) { e.InvolvedObject.Namespace = "x" })},
		{name: "other object", reason: "the name of the object is part of the key", limit: "SourceAndObject",
			request: changed(func(e *corev1.Event) { e.InvolvedObject.Name = "x" })},
		{name: "other UID", reason: "the UID of the object is part of the key", limit: "SourceAndObject",
			request: changed(func(e *corev1.Event) { e.InvolvedObject.UID = "x" })},
		{name: "other version", reason: "the API version of the object is part of the key", limit: "SourceAndObject",
			request: changed(func(e *corev1.Event) { e.InvolvedObject.APIVersion = "x" })},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, err := newPlugin(strings.NewReader(header+"limits: [{type: "+test.limit+", qps: 1, burst: 1}]\n"), testingclock.NewFakePassiveClock(time.Unix(1700000000, 0)))
			if err != nil {
				t.Fatal(err)
			}
			plugintest.Run(t, p, plugintest.Create(&first), "")
			plugintest.Run(t, p, test.request, test.refusal)
		})
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, reason, content, err string }{
		{name: "no limits", reason: "a configuration without limits has no effect", content: header,
			err: "limits: Invalid value: null: must not be empty"},
		{name: "unknown type", reason: "the error lists the known types",
			content: header + "limits: [{type: Pod, qps: 1, burst: 1}]\n",
			err:     `limits[0].type: Unsupported value: "Pod": supported values: "Namespace", "Server", "SourceAndObject", "User"`},
		{name: "no rate", reason: "a bucket must fill up", content: header + "limits: [{type: Server, burst: 1}]\n",
			err: "limits[0].qps: Invalid value: 0: must be positive"},
		{name: "no burst", reason: "an empty bucket lets nothing through",
			content: header + "limits: [{type: Server, qps: 1}]\n",
			err:     "limits[0].burst: Invalid value: 0: must be positive"},
		{name: "no cache", reason: "buckets must be kept",
			content: header + "limits: [{type: User, qps: 1, burst: 1, cacheSize: -1}]\n",
			err:     "limits[0].cacheSize: Invalid value: -1: must not be negative"},
		{name: "other kind", reason: "the file is the configuration of another plugin",
			content: "kind: Configuration\n",
			err:     `kind "Configuration" of version "": must be Configuration of eventratelimit`},
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
