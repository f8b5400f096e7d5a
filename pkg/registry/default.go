package registry

import "k8s.io/apimachinery/pkg/runtime"

// Default fills what a client left out of an object of one Go type. DefaultOf makes one.
// Each version of a kind has its own.
type Default struct {
	Object runtime.Object
	set    func(any)
}

// DefaultOf are the defaults of type T, where *T is an Object. Setting them twice changes
// nothing. Lists have their items defaulted where they are decoded.
func DefaultOf[T any](set func(*T)) Default {
	return Default{
		Object: any(new(T)).(runtime.Object),
		set:    func(obj any) { set(obj.(*T)) },
	}
}
