// Package eventrecorder records Events of controllers, for users.
//
// [NewRecorder] makes a recorder that costs nothing before its first Event. For a controller that records Events
// all the time, use client-go's tools/record.
package eventrecorder

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// Recorder records the Events of a controller. Like client-go, it counts equal Events in one object.
type Recorder struct {
	start func() record.EventRecorder
}

var _ record.EventRecorder = &Recorder{}

// NewRecorder returns a recorder for a component. It works until ctx ends.
func NewRecorder(ctx context.Context, client corev1client.EventsGetter, component string) *Recorder {
	return &Recorder{sync.OnceValue(func() record.EventRecorder {
		broadcaster := record.NewBroadcaster(record.WithContext(ctx))
		broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: client.Events("")})
		context.AfterFunc(ctx, broadcaster.Shutdown)
		return broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component})
	})}
}

// Warn records a warning about an object. The object may also be an ObjectReference.
func (r *Recorder) Warn(about runtime.Object, reason, format string, args ...any) {
	r.start().Eventf(about, corev1.EventTypeWarning, reason, format, args...)
}

// Tell records an Event of the type Normal.
func (r *Recorder) Tell(about runtime.Object, reason, format string, args ...any) {
	r.start().Eventf(about, corev1.EventTypeNormal, reason, format, args...)
}

// Event implements record.EventRecorder.
func (r *Recorder) Event(about runtime.Object, kind, reason, message string) {
	r.start().Event(about, kind, reason, message)
}

// Eventf implements record.EventRecorder.
func (r *Recorder) Eventf(about runtime.Object, kind, reason, format string, args ...any) {
	r.start().Eventf(about, kind, reason, format, args...)
}

// AnnotatedEventf implements record.EventRecorder.
func (r *Recorder) AnnotatedEventf(about runtime.Object, annotations map[string]string, kind, reason, format string, args ...any) {
	r.start().AnnotatedEventf(about, annotations, kind, reason, format, args...)
}
