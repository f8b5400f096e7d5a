package integration_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// encodings are the content types of watches in the tests.
var encodings = []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf}

// watchThings starts a watch of the ConfigMaps in the namespace "default".
func watchThings(t testing.TB, srv *miniapitest.Server, encoding string) watch.Interface {
	t.Helper()
	config := srv.Config()
	config.ContentType, config.AcceptContentTypes = encoding, encoding
	configMaps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
	list := must(configMaps.List(t.Context(), metav1.ListOptions{}))(t)
	w := must(configMaps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion}))(t)
	t.Cleanup(w.Stop)
	return w
}

// events returns the events of a watch until its end, as text: the type and the object's name, or, for an error, the
// type, the code and the reason.
func events(t testing.TB, w watch.Interface) (all []string) {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case event, open := <-w.ResultChan():
			switch o := event.Object.(type) {
			case *corev1.ConfigMap:
				all = append(all, fmt.Sprint(event.Type, " ", o.Name))
			case *metav1.Status:
				all = append(all, fmt.Sprint(event.Type, " ", o.Code, " ", o.Reason))
			}
			if !open {
				return all
			}
		case <-timeout:
			t.Fatalf("the watch hasn't ended; it had %q", all)
		}
	}
}

func createThings(t testing.TB, srv *miniapitest.Server, names ...string) {
	t.Helper()
	for _, name := range names {
		must(srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))(t)
	}
}

// An injected fault can end a watch at its beginning, after some events, or while it is open. The watch ends without
// an error, or with the ERROR event of an expired resource version in the watch's encoding.
func TestFaultEndsAWatch(t *testing.T) {
	t.Parallel()
	for _, encoding := range encodings {
		for _, test := range []struct {
			name, reason, fault string
			// open is true if the fault is added while the watch is open.
			open bool
			want []string
		}{
			{"close at once", "an end without an error is the usual end of a watch", "close: true", false, nil},
			{"close after events", "the events before are complete", "{close: true, after: 2}", false, []string{"ADDED a", "ADDED b"}},
			{"close while open", "the fault finds the watch", "close: true", true, nil},
			{"expire at once", "the resource version is too old", "expire: true", false, []string{"ERROR 410 Expired"}},
			{"expire after events", "the error follows the events", "{expire: true, after: 2}", false,
				[]string{"ADDED a", "ADDED b", "ERROR 410 Expired"}},
			{"expire while open", "the fault finds the watch", "expire: true", true, []string{"ERROR 410 Expired"}},
			{"truncate", "the stream is reset within an event", "truncate: 10", false, nil},
		} {
			t.Run(encoding+" "+test.name, func(t *testing.T) {
				t.Parallel()
				srv := miniapitest.Start(t)
				fault := test.fault
				if fault[0] != '{' {
					fault = "{" + fault + "}"
				}
				fault = "faults: [{resources: [configmaps], verbs: [watch], requests: 1, " + fault[1:] + "]"
				if !test.open {
					inject(t, srv, fault)
				}
				w := watchThings(t, srv, encoding)
				if test.open {
					inject(t, srv, fault)
				} else {
					createThings(t, srv, "a", "b", "c")
				}
				got := events(t, w)
				if test.name == "truncate" {
					// Clients report a broken stream in different ways: as an ERROR event, or as the end of the watch.
					if len(got) > 1 || len(got) == 1 && got[0][:5] != "ERROR" {
						t.Errorf("%s: want at most an error, got %q", test.reason, got)
					}
					return
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("%s: events (-want +got):\n%s", test.reason, diff)
				}
			})
		}
	}
}

// An injected fault can refuse a watch like any other request.
func TestFaultRefusesAWatch(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	inject(t, srv, "faults: [{verbs: [watch], status: 403}]")
	if _, err := srv.Client().CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("want the watch to be forbidden, got %v", err)
	}
}

// An informer recovers from watches that end or expire, and from lists that fail.
func TestInformerGetsOverFaults(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(
		"--fault=name=expire,verbs=watch,resources=configmaps,requests=1,expire,after=3",
		"--fault=name=close,verbs=watch,resources=configmaps,requests=2,close,after=2",
		"--fault=name=fail,verbs=list,resources=configmaps,requests=1,status=500"))
	factory := informers.NewSharedInformerFactoryWithOptions(srv.Client(), 0, informers.WithNamespace("default"))
	informer := factory.Core().V1().ConfigMaps()
	synced := informer.Informer().HasSynced
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown)
	if !cache.WaitForCacheSync(t.Context().Done(), synced) {
		t.Fatal("the informer hasn't synced")
	}
	for n := range 10 {
		name := fmt.Sprintf("thing-%d", n)
		createThings(t, srv, name)
		within(t, time.Minute, func(context.Context) error {
			_, err := informer.Lister().ConfigMaps("default").Get(name)
			return err
		})
	}
	if injected := stateOf(t, srv, "expire").Injected; injected == 0 {
		t.Error("no watch has expired: the test proves nothing")
	}
}
