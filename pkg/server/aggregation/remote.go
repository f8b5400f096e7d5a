package aggregation

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	"k8s.io/kube-aggregator/pkg/controllers/status/remote"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/admission"
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

	checks  *checks
	listing *listing

	// made is the transport, once there is one.
	made atomic.Pointer[http.RoundTripper]
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
	return r
}

// transport is made at the first use, as a certificate may have to be, and at the next if that fails.
func (r *remoteAPI) transport() (http.RoundTripper, error) {
	if made := r.made.Load(); made != nil {
		return *made, nil
	}
	return r.renewedTransport(r.ctx)
}

// renewedTransport is of the certificate as it is now, which the server is told to trust: what it was told may have
// been put back, or the files be others. While they don't fit each other, it is the one before.
func (r *remoteAPI) renewedTransport(ctx context.Context) (http.RoundTripper, error) {
	t, err := r.newTransport(ctx)
	if err == nil {
		r.made.Store(&t)
		return t, nil
	}
	if made := r.made.Load(); made != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "requests go on with the certificate from before", "APIService", r.service.Name)
		return *made, nil
	}
	return nil, err
}

func (r *remoteAPI) newTransport(ctx context.Context) (http.RoundTripper, error) {
	cert, key, err := r.config.Identity(ctx)
	if err != nil {
		return nil, err
	}
	return transport.New(remote.BuildTransportConfig(r.config.Dial, cert, key, r.service))
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
	defer r.release()
	backoff := retries()
	for r.ctx.Err() == nil {
		r.pause(r.ask(&backoff))
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

// pause returns when the time is over, or somebody wants to know.
func (r *remoteAPI) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.again:
	case <-r.ctx.Done():
	}
}

func (r *remoteAPI) release() {
	if made := r.made.Load(); made != nil {
		utilnet.CloseIdleConnectionsFor(*made)
	}
}

// host is where the server is.
func (r *remoteAPI) host() (string, error) {
	s := r.service.Spec.Service
	location, err := r.config.Services.ResolveEndpoint(s.Namespace, s.Name, ptr.Deref(s.Port, defaultPort))
	if err != nil {
		return "", err
	}
	return location.Host, nil
}

// check asks the server for the document of the API, which need not be one, and has the API described. The reasons are
// kube-aggregator's.
func (r *remoteAPI) check(ctx context.Context) apiregistrationv1.APIServiceCondition {
	host, err := r.host()
	if err != nil {
		return r.unreachable(err)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	t, err := r.renewedTransport(ctx)
	if err == nil {
		_, err = read(ctx, t, r.url(host, r.apiPath()))
	}
	if err != nil {
		return unavailable("FailedDiscoveryCheck", err.Error())
	}
	r.describe(ctx, t, host)
	return newCondition(apiregistrationv1.ConditionTrue, "Passed", "all checks passed")
}

// unreachable says why there is no host to ask.
func (r *remoteAPI) unreachable(err error) apiregistrationv1.APIServiceCondition {
	s := r.service.Spec.Service
	if apierrors.IsNotFound(err) {
		return unavailable("ServiceNotFound", fmt.Sprintf("service/%s in %q is not present", s.Name, s.Namespace))
	}
	if _, ok := apierrors.StatusCause(err, admission.CauseNoServicePort); ok {
		return unavailable("ServicePortError", fmt.Sprintf("service/%s in %q is not listening on port %d", s.Name, s.Namespace, ptr.Deref(s.Port, defaultPort)))
	}
	if _, ok := apierrors.StatusCause(err, admission.CauseNoEndpointSlices); ok {
		return unavailable("EndpointsNotFound", fmt.Sprintf("cannot find endpointslices for service/%s in %q", s.Name, s.Namespace))
	}
	if cause, ok := apierrors.StatusCause(err, admission.CauseNoEndpoints); ok {
		return unavailable("MissingEndpoints", fmt.Sprintf("endpointslices for service/%s in %q have no addresses with port name %q", s.Name, s.Namespace, cause.Field))
	}
	return newCondition(apiregistrationv1.ConditionUnknown, "ServiceAccessError", fmt.Sprintf("service/%s in %q cannot be checked due to: %v", s.Name, s.Namespace, err))
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

// url is a path on the server.
func (r *remoteAPI) url(host, path string) string {
	location := url.URL{Scheme: "https", Host: host, Path: path}
	return location.String()
}
