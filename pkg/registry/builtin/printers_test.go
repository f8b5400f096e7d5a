package builtin_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func names(columns []metav1.TableColumnDefinition) []string {
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}

// columnsOf returns the Printer of the object's kind.
func columnsOf(t *testing.T, obj runtime.Object) printers.Printer {
	t.Helper()
	return *registrytest.Row(t, builtin.Table(), obj).Printer
}

func TestTableConvertor(t *testing.T) {
	t.Parallel()
	namespace := []string{"Name", "Status", "Age"}
	for _, test := range []struct {
		name, reason string
		printer      printers.Printer
		object       runtime.Object
		options      runtime.Object
		columns      []string
		// cells has the first cell of each row.
		cells []any
		meta  metav1.ListMeta
	}{
		{
			name: "object", reason: "a table of one row has the object's resource version",
			printer: columnsOf(t, &corev1.Namespace{}),
			object:  &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "7"}},
			columns: namespace,
			cells:   []any{"a"},
			meta:    metav1.ListMeta{ResourceVersion: "7"},
		},
		{
			name: "page of a list", reason: "the client needs the metadata of the list to request the next page",
			printer: columnsOf(t, &corev1.Namespace{}),
			object: &corev1.NamespaceList{
				ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "token", RemainingItemCount: ptr.To[int64](3)},
				Items:    []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, {ObjectMeta: metav1.ObjectMeta{Name: "a"}}},
			},
			options: &metav1.TableOptions{},
			columns: namespace,
			cells:   []any{"b", "a"},
			meta:    metav1.ListMeta{ResourceVersion: "9", Continue: "token", RemainingItemCount: ptr.To[int64](3)},
		},
		{
			name: "later event of a watch", reason: "the first event has sent the columns",
			printer: columnsOf(t, &corev1.Namespace{}),
			object:  &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
			options: &metav1.TableOptions{NoHeaders: true},
			cells:   []any{"a"},
		},
		{
			name: "empty list", reason: "a table without rows has columns",
			printer: columnsOf(t, &corev1.Namespace{}),
			object:  &corev1.NamespaceList{},
			columns: namespace,
		},
		{
			name: "order of flow schemas", reason: "flow schemas are listed in the order of their matching precedence",
			printer: columnsOf(t, &flowcontrolv1.FlowSchema{}),
			object: &flowcontrolv1.FlowSchemaList{Items: []flowcontrolv1.FlowSchema{
				{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: flowcontrolv1.FlowSchemaSpec{MatchingPrecedence: 9}},
				{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: flowcontrolv1.FlowSchemaSpec{MatchingPrecedence: 1}},
				{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: flowcontrolv1.FlowSchemaSpec{MatchingPrecedence: 1}},
			}},
			columns: names(columnsOf(t, &flowcontrolv1.FlowSchema{}).Columns),
			cells:   []any{"b", "c", "a"},
		},
		{
			name: "scale", reason: "the scale subresources of all kinds have the same columns",
			printer: printers.Scale,
			object:  &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "d"}},
			columns: []string{"Name", "Desired", "Available", "Age"},
			cells:   []any{"d"},
		},
		{
			name: "another kind", reason: "an object of another kind is shown with its name",
			printer: columnsOf(t, &corev1.Namespace{}),
			object:  &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: "3"}},
			columns: []string{"Name", "Created At"},
			cells:   []any{"p"},
			meta:    metav1.ListMeta{ResourceVersion: "3"},
		},
		{
			name: "no printer", reason: "roles have no columns besides the default ones",
			printer: printers.Default,
			object:  &rbacv1.RoleList{Items: []rbacv1.Role{{ObjectMeta: metav1.ObjectMeta{Name: "r"}}}},
			columns: []string{"Name", "Created At"},
			cells:   []any{"r"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			table, err := printers.TableConvertor(test.printer).ConvertToTable(context.Background(), test.object, test.options)
			if err != nil {
				t.Fatal(err)
			}
			var cells []any
			for _, row := range table.Rows {
				if row.Object.Object == nil {
					t.Errorf("row %v has no object", row.Cells)
				}
				cells = append(cells, row.Cells[0])
			}
			if diff := cmp.Diff(test.cells, cells); diff != "" {
				t.Errorf("%s: first cells (-want +got):\n%s", test.reason, diff)
			}
			if diff := cmp.Diff(test.columns, names(table.ColumnDefinitions)); diff != "" {
				t.Errorf("%s: columns (-want +got):\n%s", test.reason, diff)
			}
			if diff := cmp.Diff(test.meta, table.ListMeta); diff != "" {
				t.Errorf("%s: metadata (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
