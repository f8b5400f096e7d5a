package printers

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
)

// TableConvertor returns a convertor that makes tables. The Printer p shows objects and lists of its kind.
// Default shows all other objects and lists.
func TableConvertor(p Printer) rest.TableConvertor {
	// The name of the resource isn't needed: errors of the default convertor show the resource of the request.
	fallback := rest.NewDefaultTableConvertor(schema.GroupResource{})
	if p.Cells == nil {
		return fallback
	}
	return convertor{printer: p, fallback: fallback}
}

type convertor struct {
	printer  Printer
	fallback rest.TableConvertor
}

// ConvertToTable implements rest.TableConvertor.
func (c convertor) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	p := c.printer
	objects := []runtime.Object{obj}
	if meta.IsListType(obj) {
		var err error
		if objects, err = items(obj); err != nil {
			return nil, err
		}
		if p.Compare != nil {
			slices.SortStableFunc(objects, p.Compare)
		}
	}
	table := &metav1.Table{Rows: make([]metav1.TableRow, 0, len(objects))}
	for _, o := range objects {
		row := metav1.TableRow{Cells: p.Cells(o), Object: runtime.RawExtension{Object: o}}
		if row.Cells == nil {
			return c.fallback.ConvertToTable(ctx, obj, options)
		}
		if p.Conditions != nil {
			row.Conditions = p.Conditions(o)
		}
		table.Rows = append(table.Rows, row)
	}
	describe(table, obj)
	if o, ok := options.(*metav1.TableOptions); !ok || !o.NoHeaders {
		table.ColumnDefinitions = p.Columns
	}
	return table, nil
}

func items(list runtime.Object) ([]runtime.Object, error) {
	var objects []runtime.Object
	err := meta.EachListItem(list, func(obj runtime.Object) error {
		objects = append(objects, obj)
		return nil
	})
	return objects, err
}

// describe copies the metadata of a list or an object to the table that shows it.
func describe(table *metav1.Table, obj runtime.Object) {
	if list, err := meta.ListAccessor(obj); err == nil {
		table.ResourceVersion = list.GetResourceVersion()
		table.Continue = list.GetContinue()
		table.RemainingItemCount = list.GetRemainingItemCount()
	} else if common, err := meta.CommonAccessor(obj); err == nil {
		table.ResourceVersion = common.GetResourceVersion()
	}
}
