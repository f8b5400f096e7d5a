package registry_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// A table has the kettles of the tests of this package, with a default, a check and columns.
func ExampleNewTable() {
	kettles := registry.Group{
		Name:     "kitchen.example.com",
		Versions: []registry.Version{{Name: "v1", Types: []runtime.Object{&Kettle{}, &KettleList{}}}},
		Kinds: []registry.Kind{{
			Resource: "kettles", Namespaced: true, Status: true,
			Object: &Kettle{}, List: &KettleList{},
			Defaults: []registry.Default{registry.DefaultOf(func(k *Kettle) {
				if k.Spec.Litres == 0 {
					k.Spec.Litres = 1
				}
			})},
			Hooks: registry.HooksOf[*Kettle]{Validate: func(k *Kettle) (errs field.ErrorList) {
				if k.Spec.Litres > 3 {
					errs = append(errs, field.Invalid(field.NewPath("spec", "litres"), k.Spec.Litres, "must be at most 3"))
				}
				return errs
			}},
			Printer: new(printers.Of([]printers.Column{printers.NameColumn, printers.Number("Litres", "What it holds.")},
				func(k *Kettle) []any { return []any{k.Name, int64(k.Spec.Litres)} })),
		}},
	}
	alone, err := registry.NewTable(kettles)
	if err != nil {
		fmt.Println(err)
		return
	}
	beside, err := registry.NewTable(append(builtin.Groups(), kettles)...)
	if err != nil {
		fmt.Println(err)
		return
	}
	kettle := &Kettle{ObjectMeta: metav1.ObjectMeta{Name: "small"}}
	alone.Scheme().Default(kettle)
	fmt.Println(kettle.Spec.Litres, len(alone.Groups()), len(beside.Groups()) == len(builtin.Groups())+1)
	// Output: 1 1 true
}

// The objects of a kind can be computed for each request.
func ExampleComputeFunc() {
	row := registry.Kind{
		Resource: "kettles", Object: &Kettle{}, List: &KettleList{},
		Compute: func(registry.Dependencies) registry.ComputeFunc {
			return func(context.Context) (runtime.Object, error) {
				return &KettleList{Items: []Kettle{{ObjectMeta: metav1.ObjectMeta{Name: "red"}}}}, nil
			}
		},
	}
	list, err := row.Compute(registry.Dependencies{})(context.Background())
	fmt.Println(list.(*KettleList).Items[0].Name, err)
	// Output: red <nil>
}
