package scheduler

import (
	"errors"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/controllers"
)

// userAgent makes "kube-scheduler" the manager of the fields that the scheduler writes.
const userAgent = "kube-scheduler/miniapi"

// Component runs a scheduler with the controllers of a server.
var Component = controllers.Component{Name: "scheduler", Add: add}

func add(h *controllers.Host) error {
	config := rest.CopyConfig(h.ConfigOf(User))
	config.UserAgent = userAgent
	core, err := corev1client.NewForConfig(config)
	events, eventsErr := eventsv1client.NewForConfig(config)
	if err := errors.Join(err, eventsErr); err != nil {
		return err
	}
	forget, err := New(Config{Runner: h.Runner, Client: core, Events: events, Informers: h.Informers})
	if err == nil {
		h.OnRestore(forget)
	}
	return err
}
