package aggregation

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
)

const (
	// checkPeriod is how often a server that answers is asked whether it still does.
	checkPeriod = 30 * time.Second
	// checkTimeout bounds how long one such question takes.
	checkTimeout = 5 * time.Second
	// settleTimeout bounds how long a list of groups waits for the answers of new servers.
	settleTimeout = 2 * time.Second
	// stopTimeout is how long a stop of this server leaves the other one to answer requests.
	stopTimeout = time.Second
	// defaultPort is a service's that names none.
	defaultPort = 443
)

// retries are the pauses in which a server is asked that doesn't answer.
func retries() wait.Backoff {
	return wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Steps: 1 << 16, Cap: checkTimeout}
}

// remoteAPI is a group version that another server serves.
type remoteAPI struct {
	config  *Config
	service *apiregistrationv1.APIService
	gv      schema.GroupVersion

	// life is that of this server, and ctx that of the remote.
	life, ctx context.Context
	cancel    context.CancelFunc

	server  *endpoint
	checks  *checks
	listing *listing

	// available is what the last check found, and again asks for one before its time.
	available atomic.Bool
	again     chan struct{}

	mu sync.Mutex
	// described says that /openapi/v3 has the API.
	described bool
}

func newRemote(life context.Context, config *Config, checks *checks, listing *listing, s *apiregistrationv1.APIService) *remoteAPI {
	r := &remoteAPI{
		config: config, service: s, gv: groupVersionOf(s), life: life, checks: checks, listing: listing,
		again: make(chan struct{}, 1),
	}
	r.ctx, r.cancel = context.WithCancel(life)
	r.server = &endpoint{config: config, service: s, life: r.ctx}
	return r
}

// serves says whether it serves an APIService as it is now.
func (r *remoteAPI) serves(s *apiregistrationv1.APIService) bool {
	return r.service.UID == s.UID && apiequality.Semantic.DeepEqual(r.service.Spec, s.Spec)
}

// end makes run end, and takes the API from /openapi/v3.
func (r *remoteAPI) end() {
	r.cancel()
	r.undescribe()
}

// run asks the server whether it is there, until end.
func (r *remoteAPI) run() {
	defer r.server.release()
	backoff := retries()
	for r.ctx.Err() == nil {
		pause(r.ctx, r.ask(&backoff), r.again)
	}
}

// ask asks once, makes known what it has found, and returns when to ask again.
func (r *remoteAPI) ask(backoff *wait.Backoff) time.Duration {
	ctx, done := r.checks.begin(r.ctx)
	defer done()
	condition := r.check(ctx)
	if ctx.Err() != nil { // nothing was found, and who has ended it has it asked again
		return checkPeriod
	}
	pause := checkPeriod
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
		if !apierrors.IsConflict(err) { // with whoever has written it meanwhile
			klog.FromContext(ctx).Error(err, "the status of an APIService isn't up to date", "APIService", r.service.Name)
		}
		pause = backoff.Step()
	}
	return pause
}

// observe is told of the APIService. Who has put back its status, or written another, has what is so there again.
func (r *remoteAPI) observe(s *apiregistrationv1.APIService) {
	if r.available.Load() && !helper.IsAPIServiceConditionTrue(s, apiregistrationv1.Available) {
		r.checkSoon()
	}
}

// checkSoon makes run ask the server before it would.
func (r *remoteAPI) checkSoon() {
	select {
	case r.again <- struct{}{}:
	default: // it is asked already
	}
}

// pause returns when the time is over, or something is sent to again, or ctx ends.
func pause(ctx context.Context, d time.Duration, again <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-again:
	case <-ctx.Done():
	}
}

// check asks the server for the document of the API, which need not be one, and has the API described. The reasons are
// kube-aggregator's.
func (r *remoteAPI) check(ctx context.Context) apiregistrationv1.APIServiceCondition {
	host, err := r.server.host()
	if err != nil {
		return r.server.unreachable(err)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	t, err := r.server.renewedTransport(ctx)
	if err == nil {
		_, err = read(ctx, t, urlOf(host, apiPath(r.gv)))
	}
	if err != nil {
		return unavailable("FailedDiscoveryCheck", err.Error())
	}
	r.describe(ctx, t, host)
	return newCondition(apiregistrationv1.ConditionTrue, "Passed", "all checks passed")
}

func unavailable(reason, message string) apiregistrationv1.APIServiceCondition {
	return newCondition(apiregistrationv1.ConditionFalse, reason, message)
}

func newCondition(status apiregistrationv1.ConditionStatus, reason, message string) apiregistrationv1.APIServiceCondition {
	return apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now(),
	}
}

// report writes what was found to the status, if it isn't there yet.
func (r *remoteAPI) report(ctx context.Context, found apiregistrationv1.APIServiceCondition) error {
	obj, exists, err := r.config.APIServices.GetStore().GetByKey(r.service.Name)
	if err != nil || !exists {
		return err
	}
	stored := obj.(*apiregistrationv1.APIService)
	if !r.serves(stored) {
		return nil // who serves it now reports
	}
	updated := stored.DeepCopy()
	helper.SetAPIServiceCondition(updated, found)
	if apiequality.Semantic.DeepEqual(stored.Status, updated.Status) {
		return nil
	}
	_, err = r.config.Client.APIServices().UpdateStatus(ctx, updated, metav1.UpdateOptions{})
	return err
}
