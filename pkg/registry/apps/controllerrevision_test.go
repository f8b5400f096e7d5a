package apps

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestControllerRevision(t *testing.T) {
	t.Parallel()
	revision := func(raw string) *appsv1.ControllerRevision {
		return &appsv1.ControllerRevision{ObjectMeta: registrytest.Stored("r"), Revision: 1, Data: runtime.RawExtension{Raw: []byte(raw)}}
	}
	registrytest.WantErrors(t, "the number of a revision can change", validateControllerRevisionUpdate(
		&appsv1.ControllerRevision{ObjectMeta: registrytest.Stored("r"), Revision: 2, Data: runtime.RawExtension{Raw: []byte(`{"a":1}`)}}, revision(`{"a":1}`)))
	registrytest.WantErrors(t, "new data is an object", validateControllerRevision(revision(`[1]`)),
		"data: Required value: data must be a valid JSON object")
	registrytest.WantErrors(t, "a new revision has data", validateControllerRevision(&appsv1.ControllerRevision{ObjectMeta: registrytest.Stored("r"), Revision: -1}),
		"revision: Invalid value: -1: must be greater than or equal to 0", "data: Required value: data is mandatory")
	registrytest.WantErrors(t, "stored data stays valid", validateControllerRevisionUpdate(revision(`[1]`), revision(`[1]`)))
	if errs := validateControllerRevisionUpdate(revision(`{"a":2}`), revision(`{"a":1}`)); len(errs) != 1 || errs[0].Field != "data" {
		t.Errorf("the data of a revision changed without an error: want an error for data, got %v", errs)
	}
}

func TestControllerRevisionColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "of a daemon set", Reason: "the controller is shown with its group",
			Object: &appsv1.ControllerRevision{
				ObjectMeta: metav1.ObjectMeta{Name: "x", CreationTimestamp: registrytest.MonthAgo(), OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", Controller: ptr.To(true)},
				}},
				Revision: 7,
			},
			Want: []any{"x", "daemonset.apps/d", int64(7), "30d"},
		},
	})
}
