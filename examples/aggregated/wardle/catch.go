package wardle

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/examples/aggregated/wardle/v1alpha1"
	"github.com/miniapi-dev/miniapi/examples/aggregated/wardle/v1beta1"
	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// catches are computed for each request: each namespace with flunders has one, which has the namespace's name.
var catches = registry.Kind{
	Resource: "catches", Namespaced: true,
	Object: &v1alpha1.Catch{}, List: &v1alpha1.CatchList{},
	Compute: func(deps registry.Dependencies) registry.ComputeFunc {
		return func(ctx context.Context) (runtime.Object, error) { return computeCatches(ctx, deps) }
	},
	Printer: new(printers.Of([]printers.Column{printers.NameColumn, printers.Number("Flunders", "The number of flunders.")},
		func(c *v1alpha1.Catch) []any { return []any{c.Name, int64(c.Flunders)} })),
}

func computeCatches(ctx context.Context, deps registry.Dependencies) (runtime.Object, error) {
	flunders, err := deps.StoreOf(v1alpha1.Resource("flunders"))
	if err != nil {
		return nil, err
	}
	stored, err := flunders.List(genericapirequest.WithNamespace(ctx, ""), &internalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	list, at := &v1alpha1.CatchList{}, map[string]int{}
	for _, f := range stored.(*v1beta1.FlunderList).Items {
		if _, known := at[f.Namespace]; !known {
			at[f.Namespace] = len(list.Items)
			list.Items = append(list.Items, v1alpha1.Catch{ObjectMeta: metav1.ObjectMeta{Name: f.Namespace, Namespace: f.Namespace}})
		}
		list.Items[at[f.Namespace]].Flunders++
	}
	return list, nil
}
