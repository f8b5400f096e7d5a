package namespace

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/controllers/served"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// lateLooks are the delays before the controller searches for orphans of a namespace that has ended. The first delay
// begins at the end of the namespace, and each further delay begins after the previous search. By default, all requests
// that began before the end of the namespace have timed out before the last search.
var lateLooks = []time.Duration{time.Second, 10 * time.Second, time.Minute}

// orphans deletes orphans: objects whose namespace doesn't exist. A create that admission allowed just before the
// deletion of the namespace may be stored only after the end of the namespace, for example because a webhook answers
// slowly.
type orphans struct {
	*Config
	queue *work.Queue[string]

	mu sync.Mutex
	// looks maps the name of a namespace that has ended to the number of searches for its orphans that are left.
	looks map[string]int
}

func newOrphans(config *Config) *orphans {
	o := &orphans{Config: config, looks: map[string]int{}}
	o.queue = work.NewQueue(config.Runner, work.Options[string]{Name: Name + "-orphans", Do: o.look})
	return o
}

// expect makes the controller look for orphans of a namespace that ends now.
func (o *orphans) expect(namespace string) {
	o.mu.Lock()
	o.looks[namespace] = len(lateLooks)
	o.mu.Unlock()
	o.queue.AddAfter(namespace, lateLooks[0])
}

// look deletes the orphans of a namespace. It returns the time until the next call of look. It returns 0 after the last
// delay in lateLooks, and if the namespace exists again. A call that fails to delete an orphan uses up no delay in
// lateLooks.
func (o *orphans) look(ctx context.Context, namespace string) (time.Duration, error) {
	gone, err := o.gone(ctx, namespace)
	if err != nil {
		return 0, err
	}
	if gone {
		err := o.remove(ctx, namespace)
		switch {
		case isAboutNamespace(err):
			return lateLooks[len(lateLooks)-1], nil
		case err != nil:
			return 0, err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.looks[namespace]--
	if left := o.looks[namespace]; gone && left > 0 {
		return lateLooks[len(lateLooks)-left], nil
	}
	delete(o.looks, namespace)
	return 0, nil
}

func (o *orphans) gone(ctx context.Context, namespace string) (bool, error) {
	_, err := o.Client.Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}

// remove deletes the objects of a namespace that doesn't exist.
func (o *orphans) remove(ctx context.Context, namespace string) error {
	resources, err := o.Resources.List()
	errs := []error{err}
	for _, r := range resources {
		if r.Namespaced && r.Can("delete") && r.Can("list") {
			errs = append(errs, o.removeAll(ctx, r, namespace))
		}
	}
	return errors.Join(errs...)
}

// removeAll deletes the orphans of a resource, if Count knows their number. A namespace of the same name may be created
// at any time. So removeAll lists the objects before it finds that the namespace doesn't exist, and deletes only objects
// of the list.
func (o *orphans) removeAll(ctx context.Context, r served.Resource, namespace string) error {
	if o.Count == nil {
		return nil // without Count, each call of look would cost a request for each resource
	}
	if n, known := o.Count(ctx, r, namespace); !known || n == 0 {
		return nil
	}
	client := o.Metadata.Resource(r.GroupVersionResource).Namespace(namespace)
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return ignoreUnsupported(err)
	}
	if gone, err := o.gone(ctx, namespace); err != nil || !gone {
		return err
	}
	background := metav1.DeletePropagationBackground
	var errs []error
	for i := range list.Items {
		options := metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: metav1.NewUIDPreconditions(string(list.Items[i].UID))}
		err := client.Delete(ctx, list.Items[i].Name, options)
		switch {
		case isAboutNamespace(err):
			errs = append(errs, err)
		case !apierrors.IsConflict(err):
			errs = append(errs, ignoreUnsupported(err))
		}
	}
	return errors.Join(errs...)
}

// isAboutNamespace reports whether a request failed because its namespace doesn't exist. The server needs the labels of
// the namespace to compare them with the selector of a webhook or a policy. It can't read them, so it answers the
// deletion of an orphan with this error.
func isAboutNamespace(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsNotFound(err) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces"
}
