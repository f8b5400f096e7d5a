package integration_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// An objectSelector is compared with the labels of the object and of the old object. A null object, and an object
// without labels, don't match it. An empty selector matches everything.
func TestObjectSelector(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	maps := srv.Client().CoreV1().ConfigMaps("default")
	labelled := func(labels map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "thing", Labels: labels}}
	}
	bar, none := map[string]string{"foo": "bar"}, map[string]string(nil)
	for _, tc := range []struct {
		name, reason string
		// old has the labels of the stored object.
		old map[string]string
		do  func(context.Context) error
		// matches tells whether a webhook with the selector foo=bar is called.
		matches bool
	}{
		{"create with the label", "the object matches", nil, func(ctx context.Context) error {
			_, err := maps.Create(ctx, labelled(bar), metav1.CreateOptions{DryRun: dry})
			return err
		}, true},
		{"create without", "a create has no old object that could match", nil, func(ctx context.Context) error {
			_, err := maps.Create(ctx, labelled(none), metav1.CreateOptions{DryRun: dry})
			return err
		}, false},
		{"create with another value", "the value counts", nil, func(ctx context.Context) error {
			_, err := maps.Create(ctx, labelled(map[string]string{"foo": "baz"}), metav1.CreateOptions{DryRun: dry})
			return err
		}, false},
		{"update that adds the label", "the object matches", map[string]string{"a": "b"}, func(ctx context.Context) error {
			_, err := maps.Update(ctx, labelled(bar), metav1.UpdateOptions{DryRun: dry})
			return err
		}, true},
		{"update that removes it", "the old object matches", bar, func(ctx context.Context) error {
			_, err := maps.Update(ctx, labelled(none), metav1.UpdateOptions{DryRun: dry})
			return err
		}, true},
		{"update without", "neither matches", map[string]string{"a": "b"}, func(ctx context.Context) error {
			_, err := maps.Update(ctx, labelled(none), metav1.UpdateOptions{DryRun: dry})
			return err
		}, false},
		{"delete with the label", "the old object matches", bar, func(ctx context.Context) error {
			return maps.Delete(ctx, "thing", metav1.DeleteOptions{DryRun: dry})
		}, true},
		{"delete without", "the object is null, which doesn't match", map[string]string{"a": "b"}, func(ctx context.Context) error {
			return maps.Delete(ctx, "thing", metav1.DeleteOptions{DryRun: dry})
		}, false},
		{"connect", "options have no labels", nil, func(context.Context) error {
			request(t, srv.Config(), http.MethodPost, "/api/v1/namespaces/default/pods/missing/attach", nil)
			return nil
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.old != nil {
				must(maps.Create(t.Context(), labelled(tc.old), metav1.CreateOptions{}))(t)
				defer func() { ok(t, maps.Delete(t.Context(), "thing", metav1.DeleteOptions{})) }()
			}
			everything := on("*", "v1", "configmaps", "pods/attach")
			recorder := install(t, srv,
				mutating("selects", allow(), everything, objectSelector(bar)), validating("selects", allow(), everything, objectSelector(bar)),
				mutating("takes-all", allow(), everything), validating("takes-all", allow(), everything, func(h *hook) { h.ObjectSelector = &metav1.LabelSelector{} }))
			ok(t, tc.do(t.Context()))
			want := []string{"takes-all", "takes-all"}
			if tc.matches {
				want = []string{"selects", "selects", "takes-all", "takes-all"}
			}
			if diff := cmp.Diff(want, calledSorted(recorder)); diff != "" {
				t.Errorf("%s: calls (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// The objectSelector of a webhook is compared with the labels in its review, which include changes by earlier webhooks.
func TestObjectSelectorIsEvaluatedOnSentObjects(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	recorder := install(t, srv,
		mutating("a", patch(miniapitest.Add("/metadata/labels/foo", "bar"))),
		mutating("b", allow(), objectSelector(map[string]string{"foo": "bar"})), validating("c", allow(), objectSelector(map[string]string{"foo": "bar"})))
	must(srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), thing(), metav1.CreateOptions{}))(t)
	if diff := cmp.Diff([]string{"a", "b", "c"}, called(recorder)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// A webhook is called only if both its namespaceSelector and its objectSelector match.
func TestBothSelectors(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	core := srv.Client().CoreV1()
	watched := map[string]string{"watched": "yes"}
	must(core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "watched", Labels: watched}}, metav1.CreateOptions{}))(t)
	recorder := install(t, srv, validating("hook", allow(), objectSelector(watched), func(h *hook) {
		h.NamespaceSelector = &metav1.LabelSelector{MatchLabels: watched}
	}))
	for _, namespace := range []string{"watched", "default"} {
		for name, labels := range map[string]map[string]string{"watched": watched, "plain": nil} {
			must(core.ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{}))(t)
		}
	}
	if r := only(t, recorder); r.Namespace != "watched" || r.Name != "watched" {
		t.Errorf("want watched/watched, got %s/%s", r.Namespace, r.Name)
	}
}

// A webhook is called only if all its matchConditions are true. A condition can use the request, both objects, and the
// user's permissions. A condition that can't be evaluated counts as a failed call, unless another condition is false.
func TestMatchConditions(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	grant(t, srv, "jane", rbacRule("", "update", "configmaps"))
	jane := clientOf(t, srv, "jane", "developers")
	const failing = "object.data.missing == 'a'"
	for _, tc := range []struct {
		name, reason string
		expressions  []string
		called       bool
		// failed is the name of the condition that can't be evaluated.
		failed string
	}{
		{"none", "a webhook without conditions is always called", nil, true, ""},
		{"holds", "the webhook is called", []string{"true"}, true, ""},
		{"doesn't hold", "the webhook isn't called", []string{"false"}, false, ""},
		{"one of two holds", "all conditions must be true", []string{"true", "false"}, false, ""},
		{"request", "request has the fields of the webhook's review", []string{
			"request.operation == 'UPDATE'", "request.name == 'thing'", "request.namespace == 'default'", "request.kind.kind == 'ConfigMap'",
			"request.resource.resource == 'configmaps'", "request.userInfo.username == 'jane'", "'developers' in request.userInfo.groups", "!request.dryRun",
			"request.options.kind == 'UpdateOptions'",
		}, true, ""},
		{"object", "object has the client's content", []string{"object.data.by == 'update'", "object.metadata.labels.app == 'thing'"}, true, ""},
		{"oldObject", "oldObject has the stored content", []string{"!has(oldObject.data.by)", "oldObject.data.made == 'first'"}, true, ""},
		{"authorizer", "authorizer checks the permissions of the user", []string{
			"authorizer.group('').resource('configmaps').namespace('default').check('update').allowed()",
			"!authorizer.group('').resource('nodes').check('delete').allowed()",
			"authorizer.requestResource.check('update').allowed()",
		}, true, ""},
		{"library", "CEL's functions are there", []string{"'thing'.matches('^t') && quantity('1Ki').isGreaterThan(quantity('1k')) && url('https://a/b').getHost() == 'a'"}, true, ""},
		{"error", "a condition that fails is neither true nor false", []string{failing}, false, "condition-0"},
		{"error and one that holds", "the other condition is true, so the error decides", []string{"true", failing}, false, "condition-1"},
		{"error and one that doesn't hold", "a false condition skips the webhook in any case", []string{failing, "false"}, false, ""},
	} {
		for _, policy := range []admissionregistrationv1.FailurePolicyType{admissionregistrationv1.Fail, admissionregistrationv1.Ignore} {
			for _, make := range []func(string, http.Handler, ...change) hook{mutating, validating} {
				t.Run(tc.name+" "+string(policy), func(t *testing.T) {
					prepare(t, srv.Client(), true)
					recorder := install(t, srv, make("hook", allow(), on("UPDATE", "v1", "configmaps"), failurePolicy(policy), func(h *hook) {
						for i, expression := range tc.expressions {
							h.MatchConditions = append(h.MatchConditions, admissionregistrationv1.MatchCondition{Name: fmt.Sprint("condition-", i), Expression: expression})
						}
					}))
					changed := thing()
					changed.Data["by"] = "update"
					_, err := jane.CoreV1().ConfigMaps("default").Update(t.Context(), changed, metav1.UpdateOptions{})
					refused := tc.failed != "" && policy == admissionregistrationv1.Fail
					switch {
					case !refused:
						ok(t, err)
					case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `configmaps "thing" is forbidden: `) || !strings.Contains(err.Error(), "no such key: missing"):
						t.Errorf("%s: want the request to be forbidden because of the condition, got %v", tc.reason, err)
					}
					if got := len(recorder.Reviews()) == 1; got != tc.called {
						t.Errorf("%s: called: want %t, got %v", tc.reason, tc.called, called(recorder))
					}
				})
			}
		}
	}
}
