package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/utils/ptr"
)

// mayChangeClaim refuses a change of an allocation, and of the status of allocated devices, by
// a user who may write the claim's status but not that part of it, see
// https://kubernetes.io/docs/concepts/security/hardening-guide/dynamic-resource-allocation/.
// A driver is permitted in the claim's namespace; a scheduler must be permitted in all of them.
func mayChangeClaim(ctx context.Context, deps Dependencies, c, old *resourcev1.ResourceClaim) field.ErrorList {
	binds := !apiequality.Semantic.DeepEqual(c.Status.Allocation, old.Status.Allocation) ||
		!apiequality.Semantic.DeepEqual(c.Status.ReservedFor, old.Status.ReservedFor)
	var drivers []string
	if c.Status.Allocation != nil { // a deallocation takes the status of the devices along
		drivers = driversWithChanges(c, old)
	}
	if !binds && len(drivers) == 0 {
		return nil
	}
	path := field.NewPath("status")
	u, haveUser := genericapirequest.UserFrom(ctx)
	info, haveInfo := genericapirequest.RequestInfoFrom(ctx)
	if !haveUser || !haveInfo {
		return field.ErrorList{field.InternalError(path, errors.New("the request has no user or no verb"))}
	}
	asked := authorizer.AttributesRecord{
		User: u, APIGroup: resourcev1.GroupName, APIVersion: info.APIVersion, Resource: "resourceclaims", ResourceRequest: true,
	}
	var errs field.ErrorList
	if binds {
		asked.Subresource = resourcev1.SubresourceBinding
		if err := permitted(ctx, deps.Authorizer, asked, info.Verb); err != nil {
			errs = append(errs, field.Forbidden(path.Child("allocation"), fmt.Sprintf(
				`changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="%s" permission: %s`, info.Verb, err)))
		}
	}
	verbs := []string{resourcev1.VerbPrefixArbitraryNode + info.Verb}
	if onAllocatedNode(u, c) {
		verbs = slices.Insert(verbs, 0, resourcev1.VerbPrefixAssociatedNode+info.Verb)
	}
	asked.Subresource, asked.Namespace = resourcev1.SubresourceDriver, c.Namespace
	for _, asked.Name = range drivers {
		if err := permitted(ctx, deps.Authorizer, asked, verbs...); err != nil {
			errs = append(errs, field.Forbidden(path.Child("devices"), fmt.Sprintf(
				`changing status.devices requires resource="resourceclaims/driver", verb="%s" permission: %s`, verbs, err)))
		}
	}
	return errs
}

// driversWithChanges are the drivers of which the update changes the status of a device, sorted.
func driversWithChanges(c, old *resourcev1.ResourceClaim) []string {
	type share struct {
		device
		id string
	}
	statuses := func(c *resourcev1.ResourceClaim) map[share]resourcev1.AllocatedDeviceStatus {
		byShare := map[share]resourcev1.AllocatedDeviceStatus{}
		for _, s := range c.Status.Devices {
			byShare[share{device{s.Driver, s.Pool, s.Device}, ptr.Deref(s.ShareID, "")}] = s
		}
		return byShare
	}
	now, was := statuses(c), statuses(old)
	drivers := sets.New[string]()
	for _, statuses := range []map[share]resourcev1.AllocatedDeviceStatus{now, was} {
		for s := range statuses {
			if !apiequality.Semantic.DeepEqual(now[s], was[s]) {
				drivers.Insert(s.driver)
			}
		}
	}
	return sets.List(drivers)
}

// onAllocatedNode says whether the user is a service account whose token is bound to the one
// node that the claim's devices are on.
func onAllocatedNode(u user.Info, c *resourcev1.ResourceClaim) bool {
	if _, _, err := serviceaccount.SplitUsername(u.GetName()); err != nil {
		return false
	}
	node, allocation := u.GetExtra()[serviceaccount.NodeNameKey], c.Status.Allocation
	if len(node) != 1 || allocation == nil || allocation.NodeSelector == nil || len(allocation.NodeSelector.NodeSelectorTerms) != 1 {
		return false
	}
	term := allocation.NodeSelector.NodeSelectorTerms[0]
	if len(term.MatchFields) != 1 || len(term.MatchExpressions) != 0 {
		return false
	}
	r := term.MatchFields[0]
	return r.Key == metav1.ObjectNameField && r.Operator == corev1.NodeSelectorOpIn && slices.Equal(r.Values, node)
}

// permitted is nil if the request is allowed with one of the verbs, and else the refusal of
// the first one.
func permitted(ctx context.Context, a authorizer.Authorizer, asked authorizer.AttributesRecord, verbs ...string) error {
	var refusal error
	for _, asked.Verb = range verbs {
		decision, reason, err := a.Authorize(ctx, asked)
		if decision == authorizer.DecisionAllow {
			return nil
		}
		if refusal != nil {
			continue
		}
		switch {
		case err != nil && reason != "":
			reason = fmt.Sprintf("%v: %s", err, reason)
		case err != nil:
			reason = err.Error()
		}
		refusal = responsewriters.ForbiddenStatusError(asked, reason)
	}
	return refusal
}
