package aggregation

import (
	"context"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
)

// checkPeriod is the interval of checks of a server that answers.
const checkPeriod = 30 * time.Second

// checkTimeout limits the time of a check.
const checkTimeout = 5 * time.Second

// check returns the condition Available of the APIService. It requests the API's discovery document, whose content
// doesn't matter. If the request succeeds, check also adds the OpenAPI document of the API to /openapi/v3. The reasons
// of the condition are kube-aggregator's.
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

// report writes the condition to the status of the APIService, unless the status has the condition already.
func (r *remoteAPI) report(ctx context.Context, found apiregistrationv1.APIServiceCondition) error {
	obj, exists, err := r.config.APIServices.GetStore().GetByKey(r.service.Name)
	if err != nil || !exists {
		return err
	}
	stored := obj.(*apiregistrationv1.APIService)
	if !r.serves(stored) {
		return nil // the APIService has changed, so this remoteAPI no longer reports for it
	}
	updated := stored.DeepCopy()
	helper.SetAPIServiceCondition(updated, found)
	if apiequality.Semantic.DeepEqual(stored.Status, updated.Status) {
		return nil
	}
	_, err = r.config.Client.APIServices().UpdateStatus(ctx, updated, metav1.UpdateOptions{})
	return err
}

// retries returns the pauses between checks of a server that doesn't answer.
func retries() wait.Backoff {
	return wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Steps: 1 << 16, Cap: checkTimeout}
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
		// The discovery manager may have got an answer before the first check, which failed.
		if changed := r.available.Swap(available) != available; changed || !r.checked {
			r.checked = true
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
