package scheduler

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
)

// longestNote is the greatest length of an Event's note.
const longestNote = 1024

// recorder records Events about pods. It costs nothing before the first Event.
type recorder struct {
	start func() events.EventRecorder
}

func newRecorder(ctx context.Context, client eventsv1client.EventsV1Interface) *recorder {
	return &recorder{sync.OnceValue(func() events.EventRecorder {
		broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client})
		if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
			klog.FromContext(ctx).Error(err, "The scheduler records no events")
		}
		context.AfterFunc(ctx, broadcaster.Shutdown)
		return broadcaster.NewRecorder(scheme.Scheme, Name)
	})}
}

// warn records that a pod couldn't be scheduled.
func (r *recorder) warn(pod *corev1.Pod, message string) {
	if len(message) > longestNote {
		const end = " ..."
		message = message[:longestNote-len(end)] + end
	}
	r.start().Eventf(pod, nil, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", "%s", message)
}

// tell records what has been done to a pod.
func (r *recorder) tell(pod *corev1.Pod, reason, action, message string) {
	r.start().Eventf(pod, nil, corev1.EventTypeNormal, reason, action, "%s", message)
}
