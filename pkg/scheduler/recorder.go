package scheduler

import (
	"context"
	"os"
	"sync"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/klog/v2"
)

// longestNote is the greatest length of an Event's note.
const longestNote = 1024

// recorder records Events about pods. It costs nothing before the first Event.
type recorder struct {
	client eventsv1client.EventsV1Interface
	// start starts the recorder of client-go.
	start func() events.EventRecorder
}

func newRecorder(ctx context.Context, client eventsv1client.EventsV1Interface) *recorder {
	return &recorder{client, sync.OnceValue(func() events.EventRecorder {
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

// tell records what has been done to a pod. This happens once, so the Event isn't the first of a series, which the recorder
// of client-go would look for, and keep each Event for 6 minutes and more.
func (r *recorder) tell(ctx context.Context, pod *corev1.Pod, reason, action, message string) {
	now := metav1.NowMicro()
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: util.GenerateEventName(pod.Name, now.UnixNano())},
		EventTime:  now, ReportingController: Name, ReportingInstance: reportingInstance(),
		Type: corev1.EventTypeNormal, Reason: reason, Action: action, Note: message,
		Regarding: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		},
	}
	if _, err := r.client.Events(pod.Namespace).Create(ctx, event, metav1.CreateOptions{}); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "The scheduler can't record an event", "pod", klog.KObj(pod), "reason", reason)
	}
}

// reportingInstance returns the name that the recorder of client-go gives to this scheduler.
var reportingInstance = sync.OnceValue(func() string {
	host, _ := os.Hostname()
	return Name + "-" + host
})
