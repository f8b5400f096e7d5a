package aggregation

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// refusing is a Writer. Its methods return the field err.
type refusing struct{ err error }

func (r *refusing) CreateAPIService(context.Context, *apiregistrationv1.APIService) error {
	return r.err
}

func (r *refusing) UpdateAPIService(context.Context, *apiregistrationv1.APIService, *apiregistrationv1.APIService) error {
	return r.err
}

func (r *refusing) DeleteAPIService(context.Context, string) error { return r.err }

// TestUnwritten checks that the check "autoregister-completion" fails after a failed first write of the server's own
// APIServices, until a write succeeds.
func TestUnwritten(t *testing.T) {
	t.Parallel()
	writer := &refusing{}
	a, _ := with(t, writer)
	a.SetOwn([]*apiregistrationv1.APIService{BuiltIn(schema.GroupVersion{Group: "apps", Version: "v1"}, 1, 1)}, a.local.custom)
	full := errors.New("the database is full")
	for _, step := range []struct {
		reason      string
		before      func()
		write, want error
	}{
		{"no client has read APIServices, so none is written", nil, nil, nil},
		{"the first write failed", func() { a.local.use(t.Context()) }, full, full},
		{"the next write succeeded", func() { a.local.use(t.Context()) }, nil, nil},
		{"a later write failed, but a complete write has succeeded before",
			func() { a.local.deleted(); a.local.use(t.Context()) }, full, nil},
	} {
		writer.err = step.write
		if step.before != nil {
			step.before()
		}
		if err := a.local.unwritten(); (err == nil) != (step.want == nil) || step.want != nil && err.Error() != "some APIServices of this server's own APIs aren't stored yet: "+step.want.Error() {
			t.Errorf("the check returns %v, want an error about %v: %s", err, step.want, step.reason)
		}
	}
}

// step is a DoneChecker that is done when its channel is closed.
type step chan struct{}

func (step) Name() string            { return "step" }
func (s step) Done() <-chan struct{} { return s }

// TestWaitFor checks that the hook of waitFor ends when its step is done, and not before. The health check of a hook
// succeeds when the hook has ended.
func TestWaitFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, ended := make(step), make(chan struct{})
		go func() {
			defer close(ended)
			if err := waitFor(s)(genericapiserver.PostStartHookContext{Context: t.Context()}); err != nil {
				t.Errorf("the hook fails, which would end the process: %v", err)
			}
		}()
		synctest.Wait()
		select {
		case <-ended:
			t.Error("the hook has ended before its step is done")
		default:
		}
		close(s)
		<-ended
	})
}
