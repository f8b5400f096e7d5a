package integration_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// collection is the label selector of the deletions in these tests.
const collection = "app=collection"

// fill creates ConfigMaps with the label app=collection.
func fill(ctx context.Context, t testing.TB, client kubernetes.Interface, names ...string) {
	t.Helper()
	for _, name := range names {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "collection"}}}
		if _, err := client.CoreV1().ConfigMaps("default").Create(ctx, object, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Error(err)
			return
		}
	}
}

func deleteCollection(ctx context.Context, client kubernetes.Interface, options metav1.DeleteOptions) error {
	return client.CoreV1().ConfigMaps("default").DeleteCollection(ctx, options, metav1.ListOptions{LabelSelector: collection})
}

// left returns the names of the ConfigMaps that still exist.
func left(t testing.TB, client kubernetes.Interface) []string {
	t.Helper()
	list := must(client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{LabelSelector: collection}))(t)
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// oldNames returns the sorted names of the reviews' old objects.
func oldNames(t testing.TB, recorder *miniapitest.Recorder) []string {
	t.Helper()
	var names []string
	for _, review := range recorder.Reviews() {
		names = append(names, decode[metav1.PartialObjectMetadata](t, review.Request.OldObject.Raw).Name)
	}
	slices.Sort(names)
	return names
}

func workers(n int) miniapitest.Option {
	return inprocess.WithServerOptions(func(o *server.Options) { o.Etcd.DeleteCollectionWorkers = n })
}

// If a webhook refuses an object, the response is the refusal, and the worker that handled the object ends. Other
// workers continue. With a single worker, the objects after the refused object stay, and aren't reviewed. The case
// deletecollection.denied of the conformance suite doesn't test this, because the number of workers is an option of
// the server.
func TestDeleteCollectionWithARefusal(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		workers      int
		asked, left  []string
	}{
		{"one worker", "the only worker has ended", 1, []string{"a", "b"}, []string{"b", "c", "d"}},
		{"two workers", "the other worker deletes the remaining objects", 2, []string{"a", "b", "c", "d"}, []string{"b"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			srv := miniapitest.Start(t, workers(tc.workers))
			fill(t.Context(), t, srv.Client(), "a", "b", "c", "d")
			recorder := install(t, srv, validating("validate", answering(func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				if decode[metav1.PartialObjectMetadata](t, r.OldObject.Raw).Name == "b" {
					return miniapitest.Denied("not b")
				}
				return miniapitest.Allowed()
			})))
			err := deleteCollection(t.Context(), srv.Client(), metav1.DeleteOptions{})
			if want := `admission webhook "validate.example.com" denied the request: not b`; !apierrors.IsForbidden(err) || err.Error() != want {
				t.Errorf("want %q, got %v", want, err)
			}
			if diff := cmp.Diff(tc.asked, oldNames(t, recorder)); diff != "" {
				t.Errorf("%s: objects that the webhook was asked about (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.left, left(t, srv.Client())); diff != "" {
				t.Errorf("%s: what is left (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// The flag --delete-collection-workers sets how many objects of a collection are reviewed at the same time.
func TestDeleteCollectionFansOut(t *testing.T) {
	t.Parallel()
	const n = 3
	srv := miniapitest.Start(t, workers(n))
	fill(t.Context(), t, srv.Client(), "a", "b", "c")
	var working sync.WaitGroup
	working.Add(n)
	// The webhook answers a call only when all three calls have arrived. So the test hangs if the server makes the
	// calls one after the other.
	install(t, srv, validating("validate", answering(func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		working.Done()
		working.Wait()
		return miniapitest.Allowed()
	})))
	ok(t, deleteCollection(t.Context(), srv.Client(), metav1.DeleteOptions{}))
	if names := left(t, srv.Client()); names != nil {
		t.Errorf("left: %v", names)
	}
}

// A collection of 5,000 objects, which the server lists in several pages, is deleted by many workers. Each object is
// reviewed once.
func TestDeleteCollectionOfFiveThousand(t *testing.T) {
	t.Parallel()
	const objects, clients = 5000, 8
	srv := miniapitest.Start(t, workers(clients), inprocess.WithServerOptions(func(o *server.Options) {
		o.ServerRun.RequestTimeout = 10 * time.Minute // one request must delete all objects, while other tests run
	}))
	client := srv.Client()
	var want []string
	for i := range objects {
		want = append(want, fmt.Sprintf("object-%04d", i))
	}
	var filling sync.WaitGroup
	for names := range slices.Chunk(want, objects/clients) {
		filling.Go(func() { fill(t.Context(), t, client, names...) })
	}
	filling.Wait()
	recorder := install(t, srv, validating("validate", allow()))
	ok(t, deleteCollection(t.Context(), client, metav1.DeleteOptions{}))
	if got := oldNames(t, recorder); !slices.Equal(want, got) {
		t.Errorf("want one review of each of %d objects, got %d reviews of %d objects", objects, len(got), len(slices.Compact(got)))
	}
	if names := left(t, client); names != nil {
		t.Errorf("%d objects are left", len(names))
	}
}
