// Package events records what controllers tell users, as events of the API.
//
// [NewRecorder] makes a recorder that costs nothing until its first event. Use client-go's tools/record where there is
// always something to record.
package events

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// Recorder records the events of a controller. Events of the same text are counted in one object, as client-go does it.
type Recorder struct {
	start func() record.EventRecorder
}

// NewRecorder returns the recorder of a component, until ctx ends.
func NewRecorder(ctx context.Context, client corev1client.EventsGetter, component string) *Recorder {
	return &Recorder{sync.OnceValue(func() record.EventRecorder {
		broadcaster := record.NewBroadcaster(record.WithContext(ctx))
		broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: client.Events("")})
		context.AfterFunc(ctx, broadcaster.Shutdown)
		return broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component})
	})}
}

// Warn records a warning about an object, or about what an ObjectReference names.
func (r *Recorder) Warn(about runtime.Object, reason, format string, args ...any) {
	r.start().Eventf(about, corev1.EventTypeWarning, reason, format, args...)
}

// Tell records an event that is no warning.
func (r *Recorder) Tell(about runtime.Object, reason, format string, args ...any) {
	r.start().Eventf(about, corev1.EventTypeNormal, reason, format, args...)
}
