package aggregation

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// checkPeriod is the interval of checks of a server that answers.
	checkPeriod = 30 * time.Second
	// checkTimeout limits the time of a check.
	checkTimeout = 5 * time.Second
	// settleTimeout limits the time for which a request for the list of groups, or for /openapi/v2, waits for the
	// answers of new servers.
	settleTimeout = 2 * time.Second
	// stopTimeout limits the time for which a stop of this server waits for the other server's answers to requests in
	// progress.
	stopTimeout = time.Second
	// defaultPort is the port for an APIService that names a Service without a port.
	defaultPort = 443
)

// retries returns the pauses between checks of a server that doesn't answer.
func retries() wait.Backoff {
	return wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Steps: 1 << 16, Cap: checkTimeout}
}

// remoteAPI is a group version that another server serves. A goroutine checks the server until the remoteAPI ends.
type remoteAPI struct {
	config  *Config
	service *apiregistrationv1.APIService
	gv      schema.GroupVersion

	// life ends when this server stops. ctx ends when the remoteAPI ends.
	life, ctx context.Context
	cancel    context.CancelFunc

	server  *endpoint
	runner  *work.Runner
	listing *listing

	// available is true if the last check succeeded. The channel "again" starts a check at once when it gets a
	// value.
	available atomic.Bool
	again     chan struct{}

	// swagger is the part of the other server's /openapi/v2 that describes the API.
	swagger swagger

	mu sync.Mutex
	// described is true if /openapi/v3 has the document of the API.
	described bool
}

func newRemote(a *Aggregator, s *apiregistrationv1.APIService) *remoteAPI {
	r := &remoteAPI{
		config: &a.config, service: s, gv: groupVersionOf(s), life: a.life, runner: a.runner, listing: a.listing,
		again: make(chan struct{}, 1),
	}
	r.swagger.wanted = &a.swaggersWanted
	r.ctx, r.cancel = context.WithCancel(a.life)
	r.server = &endpoint{config: &a.config, service: s, life: r.ctx}
	return r
}

// serves tells whether the remoteAPI was made for an APIService with the same UID and the same spec.
func (r *remoteAPI) serves(s *apiregistrationv1.APIService) bool {
	return r.service.UID == s.UID && apiequality.Semantic.DeepEqual(r.service.Spec, s.Spec)
}

// end stops the checks of the server, and removes the API's document from /openapi/v3.
func (r *remoteAPI) end() {
	r.cancel()
	r.swagger.settled.Set(true)
	r.undescribe()
}

// run checks the other server again and again, until the remoteAPI ends.
func (r *remoteAPI) run() {
	defer r.server.release()
	backoff := retries()
	for r.ctx.Err() == nil {
		pause(r.ctx, r.ask(&backoff), r.again)
	}
}

// ask makes one check, writes the result to the status of the APIService, and returns the pause until the next check. It
// also requests the server's OpenAPI document in version 2, if a client wants such documents. Hold and end interrupt the
// check. After a hold, the release starts the next check.
func (r *remoteAPI) ask(backoff *wait.Backoff) time.Duration {
	pause := checkPeriod
	_ = r.runner.Do(r.ctx, func(ctx context.Context) error {
		condition := r.check(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		available := condition.Status == apiregistrationv1.ConditionTrue
		if available {
			*backoff = retries()
		} else {
			pause = backoff.Step()
		}
		if r.available.Swap(available) != available {
			r.listing.refresh(r)
		}
		if err := r.report(ctx, condition); err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			// After a conflict, no error is logged: another client has changed the APIService, and the next check writes
			// the status again.
			if !apierrors.IsConflict(err) {
				klog.FromContext(ctx).Error(err, "the status of an APIService isn't up to date", "APIService", r.service.Name)
			}
			pause = backoff.Step()
		}
		r.swagger.refresh(ctx, r)
		return nil
	})
	return pause
}

// observe handles a change of the APIService. If the last check succeeded, but the status lacks the condition
// Available, observe starts a check, which writes the condition again. For example, a client has written another status
// or restored an old one.
func (r *remoteAPI) observe(s *apiregistrationv1.APIService) {
	if r.available.Load() && !helper.IsAPIServiceConditionTrue(s, apiregistrationv1.Available) {
		r.checkSoon()
	}
}

// checkSoon makes the goroutine of the remoteAPI skip the pause before the next check.
func (r *remoteAPI) checkSoon() {
	select {
	case r.again <- struct{}{}:
	default: // a requested check hasn't begun yet
	}
}

// pause waits for the time d. It returns earlier if the channel "again" has a value, or if ctx ends.
func pause(ctx context.Context, d time.Duration, again <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-again:
	case <-ctx.Done():
	}
}
