package aggregation

import (
	"context"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
)

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
