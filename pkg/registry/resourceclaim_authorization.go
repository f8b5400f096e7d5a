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

// mayChangeClaim refuses an allocation, and what is said about allocated devices, by
// somebody who may write the claim's status but not that part of it, see
// https://kubernetes.io/docs/concepts/security/hardening-guide/dynamic-resource-allocation/.
func mayChangeClaim(ctx context.Context, deps Dependencies, c, old *resourcev1.ResourceClaim) field.ErrorList {
	drivers := driversWithChanges(c, old)
	binds := !apiequality.Semantic.DeepEqual(c.Status.Allocation, old.Status.Allocation) ||
		!apiequality.Semantic.DeepEqual(c.Status.ReservedFor, old.Status.ReservedFor)
	if !binds && len(drivers) == 0 {
		return nil
	}
	path := field.NewPath("status")
	u, haveUser := genericapirequest.UserFrom(ctx)
	info, haveInfo := genericapirequest.RequestInfoFrom(ctx)
	if !haveUser || !haveInfo {
		return field.ErrorList{field.InternalError(path, errors.New("the request has no user or no verb"))}
	}
	ask := func(subresource, name string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{
			User: u, Verb: info.Verb, Namespace: c.Namespace, APIGroup: resourcev1.GroupName, APIVersion: info.APIVersion,
			Resource: "resourceclaims", Subresource: subresource, Name: name, ResourceRequest: true,
		}
	}
	var errs field.ErrorList
	if binds {
		if err := permitted(ctx, deps.Authorizer, ask(resourcev1.SubresourceBinding, c.Name), info.Verb); err != nil {
			errs = append(errs, field.Forbidden(path, fmt.Sprintf(
				`changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="%s" permission: %s`, info.Verb, err)))
		}
	}
	verbs := []string{resourcev1.VerbPrefixArbitraryNode + info.Verb}
	if onAllocatedNode(u, c) {
		verbs = slices.Insert(verbs, 0, resourcev1.VerbPrefixAssociatedNode+info.Verb)
	}
	for _, driver := range drivers {
		if err := permitted(ctx, deps.Authorizer, ask(resourcev1.SubresourceDriver, driver), verbs...); err != nil {
			errs = append(errs, field.Forbidden(path.Child("devices"), fmt.Sprintf(
				`changing status.devices requires resource="resourceclaims/driver", verb="%s" permission: %s`, verbs, err)))
		}
	}
	return errs
}

// driversWithChanges are the drivers of which the update changes what is said about their
// devices, sorted. What goes with its allocation doesn't count: nobody took it away.
func driversWithChanges(c, old *resourcev1.ResourceClaim) []string {
	allocated := allocatedDevices(c)
	type share struct {
		device
		id string
	}
	said := func(c *resourcev1.ResourceClaim) map[share]resourcev1.AllocatedDeviceStatus {
		statuses := map[share]resourcev1.AllocatedDeviceStatus{}
		for _, s := range c.Status.Devices {
			if d := (device{s.Driver, s.Pool, s.Device}); allocated[d] {
				statuses[share{d, ptr.Deref(s.ShareID, "")}] = s
			}
		}
		return statuses
	}
	now, was := said(c), said(old)
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

// permitted is nil if the request is allowed with one of the verbs, and else says what the
// user can't do.
func permitted(ctx context.Context, a authorizer.Authorizer, asked authorizer.AttributesRecord, verbs ...string) error {
	var refused error
	for _, asked.Verb = range verbs {
		decision, reason, err := a.Authorize(ctx, asked)
		switch {
		case decision == authorizer.DecisionAllow:
			return nil
		case err != nil:
			refused = err
		default:
			refused = responsewriters.ForbiddenStatusError(asked, reason)
		}
	}
	return refused
}
