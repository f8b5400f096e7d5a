package integration_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// The server ends no watch of Events when many of them come while the watch still gets those that exist.
func TestWatchesOfEventsOutliveBursts(t *testing.T) {
	t.Parallel()
	const writers, each, watches = 4, 200, 10
	client := miniapitest.Start(t).Client().CoreV1().Events("default")
	burst := func(name string) {
		var all sync.WaitGroup
		for writer := range writers {
			all.Go(func() {
				for i := range each {
					_, err := client.Create(t.Context(), &corev1.Event{
						ObjectMeta:     metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d-%d", name, writer, i)},
						InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "p"},
						Message:        strings.Repeat("m", 1000), Reason: "Made", Type: corev1.EventTypeNormal,
					}, metav1.CreateOptions{})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
	}
	burst("first")
	var all sync.WaitGroup
	all.Go(func() { burst("second") })
	for range watches {
		all.Go(func() {
			watch, err := client.Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			defer watch.Stop()
			for got := range 2 * writers * each {
				if event, open := <-watch.ResultChan(); !open {
					t.Errorf("the watch has ended after %d Events", got)
					return
				} else if _, ok := event.Object.(*corev1.Event); !ok {
					t.Errorf("want an Event, got %+v", event)
					return
				}
			}
		})
	}
	all.Wait()
}
