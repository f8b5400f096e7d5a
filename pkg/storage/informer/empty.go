package informer

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Empty returns an informer that never has objects. It is synced soon after its start.
func Empty(obj runtime.Object) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(nothing{}, obj, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

// nothing is a ListerWatcher without objects and events.
type nothing struct{}

func (nothing) List(metav1.ListOptions) (runtime.Object, error) { return &metav1.List{}, nil }

func (nothing) Watch(metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil }

// IsWatchListSemanticsUnSupported makes a reflector list before it watches: nothing.Watch can't stream a list.
func (nothing) IsWatchListSemanticsUnSupported() bool { return true }
