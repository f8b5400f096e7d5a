package core

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

func TestComponentStatuses(t *testing.T) {
	t.Parallel()
	answering := func(code int, body string) string {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(server.Close)
		return server.URL + "/healthz"
	}
	gone := httptest.NewTLSServer(nil)
	gone.Close()
	statuses := componentStatusesOf(EtcdProbes{
		func(context.Context) error { return nil },
		func(context.Context) error { return errors.New("no leader") },
	}, map[string]string{
		"controller-manager": answering(http.StatusOK, "fine"),
		"scheduler":          answering(http.StatusInternalServerError, "not at all"),
		"unreachable":        gone.URL,
	})
	refused := "Get \"" + gone.URL + "\": dial tcp " + gone.Listener.Addr().String() + ": connect: connection refused"
	for _, test := range []struct {
		name, reason string
		options      *metainternalversion.ListOptions
		want         [][]any
	}{
		{"all", "each component is asked", nil, [][]any{
			{"controller-manager", "Healthy", "fine", ""},
			{"etcd-0", "Healthy", "ok", ""},
			{"etcd-1", "Unhealthy", "", "no leader"},
			{"scheduler", "Unhealthy", "HTTP probe failed with statuscode: 500", ""},
			{"unreachable", "Unhealthy", refused, ""},
		}},
		{"one", "a component has a name", &metainternalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "etcd-0")},
			[][]any{{"etcd-0", "Healthy", "ok", ""}}},
		{"labelled", "a component has no labels",
			&metainternalversion.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{"a": "b"})}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			list, err := statuses.List(t.Context(), test.options)
			if err != nil {
				t.Fatal(err)
			}
			table, err := statuses.ConvertToTable(t.Context(), list, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got [][]any
			for _, row := range table.Rows {
				got = append(got, row.Cells)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", test.reason, diff)
			}
		})
	}
	t.Run("get", func(t *testing.T) {
		t.Parallel()
		got, err := statuses.Get(t.Context(), "etcd-0", &metav1.GetOptions{})
		want := &corev1.ComponentStatus{ObjectMeta: metav1.ObjectMeta{Name: "etcd-0"}, Conditions: []corev1.ComponentCondition{
			{Type: corev1.ComponentHealthy, Status: corev1.ConditionTrue, Message: "ok"},
		}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("got the error %v, -want, +got:\n%s", err, diff)
		}
		if _, err := statuses.Get(t.Context(), "etcd-2", &metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("got the error %v of a component that isn't there", err)
		}
	})
}
