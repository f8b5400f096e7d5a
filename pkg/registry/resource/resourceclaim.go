package resource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// resourceClaimKind is the row of resourceclaims in the server's table of kinds.
var resourceClaimKind = registry.Kind{
	Resource:   "resourceclaims",
	Namespaced: true,
	Object:     &resourcev1.ResourceClaim{}, List: &resourcev1.ResourceClaimList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultResourceClaim),
		registry.DefaultLike[resourcev1beta2.ResourceClaim](defaultResourceClaim),
		registry.DefaultOf(defaultResourceClaimV1beta1),
	},
	Status:              true,
	StatusKeepsMetadata: true,
	ReturnDeleted:       true,
	Printer:             &resourceClaimColumns,
	Hooks: registry.HooksOf[*resourcev1.ResourceClaim]{
		PrepareForStatusUpdate: dropDeallocatedDevices,
		Validate:               validateResourceClaim,
		ValidateUpdate:         validateResourceClaimUpdate,
		ValidateStatusUpdate:   validateResourceClaimStatusUpdate,
		Authorize:              authorizeClaim,
		AuthorizeStatus:        authorizeClaimStatus,
		AuthorizeFirst:         true,
	},
	Gated: append(claimGates[resourcev1.ResourceClaim]("Spec"),
		registry.GateOf[resourcev1.ResourceClaim]("DRAResourceClaimDeviceStatus", "Status.Devices"),
		registry.GateOf[resourcev1.ResourceClaim]("DRAAdminAccess", "Status.Allocation.Devices.Results.AdminAccess").
			InUse(adminAccess[resourcev1.ResourceClaim]("Spec")),
		registry.GateOf[resourcev1.ResourceClaim]("DRAConsumableCapacity",
			"Status.Allocation.Devices.Results.ShareID", "Status.Allocation.Devices.Results.ConsumedCapacity", "Status.Devices.ShareID").
			InUse(consumableCapacity[resourcev1.ResourceClaim]("Spec")),
		registry.GateOf[resourcev1.ResourceClaim]("DRADeviceBindingConditions",
			"Status.Allocation.Devices.Results.BindingConditions", "Status.Allocation.Devices.Results.BindingFailureConditions"),
		registry.GateOf[resourcev1.ResourceClaim]("DRAOptionalNodeOperations", "Status.Allocation.Devices.Results.SkipNodeOperations")),
}

func defaultResourceClaim(c *resourcev1.ResourceClaim) {
	deviceClaim(&c.Spec.Devices)
	if a := c.Status.Allocation; a != nil {
		for i := range a.Devices.Results {
			tolerations(a.Devices.Results[i].Tolerations)
		}
	}
}

func defaultResourceClaimV1beta1(c *resourcev1beta1.ResourceClaim) {
	deviceClaimV1beta1(&c.Spec.Devices)
	if a := c.Status.Allocation; a != nil {
		for i := range a.Devices.Results {
			tolerationsV1beta1(a.Devices.Results[i].Tolerations)
		}
	}
}

func validateResourceClaim(o *resourcev1.ResourceClaim) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(claimSpec(validation.SpecPath, &o.Spec))
	return f.Errs
}

// validateResourceClaimUpdate checks the metadata alone, because the Go type declares that the spec can't change. As in
// kube-apiserver, the name is checked as that of a new claim.
func validateResourceClaimUpdate(o, old *resourcev1.ResourceClaim) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs)
	return f.Errs
}

// validateResourceClaimStatusUpdate checks the allocation, the reservations and the reported devices.
func validateResourceClaimStatusUpdate(o, old *resourcev1.ResourceClaim) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	path := validation.StatusPath
	reserved := path.Child("reservedFor")
	for i, user := range validation.Within(o.Status.ReservedFor, resourcev1.ResourceClaimReservedForMaxSize) {
		path := reserved.Index(i)
		f.AddIf(user.Resource == "", field.Required(path.Child("resource"), ""))
		f.AddIf(user.Name == "", field.Required(path.Child("name"), ""))
		f.AddIf(user.UID == "", field.Required(path.Child("uid"), ""))
	}
	f.Merge(reportedDevices(path.Child("devices"), &o.Status))
	isNew := func(user resourcev1.ResourceClaimConsumerReference) bool {
		return !slices.Contains(old.Status.ReservedFor, user)
	}
	switch {
	case len(o.Status.ReservedFor) > 0 && o.Status.Allocation == nil:
		f.Add(field.Forbidden(reserved, "may not be specified when `allocated` is not set"))
	case o.DeletionTimestamp != nil && slices.ContainsFunc(o.Status.ReservedFor, isNew):
		f.Add(field.Forbidden(reserved, "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"))
	}
	if o.Status.Allocation != nil && old.Status.Allocation == nil {
		f.Merge(newAllocation(path.Child("allocation"), o.Status.Allocation, requestNames(o.Spec.Devices.Requests)))
	}
	return f.Errs
}

// newAllocation checks an allocation by the rules that are missing in the generated validation.
func newAllocation(path *field.Path, a *resourcev1.AllocationResult, requests claimRequests) field.ErrorList {
	var f validation.Findings
	for i, r := range validation.Within(a.Devices.Results, resourcev1.AllocationResultsMaxSize) {
		path := path.Child("devices", "results").Index(i)
		f.Merge(requestName(path.Child("request"), r.Request, requests), deviceName(path.Child("device"), r.Device),
			bindingConditions(path, r.BindingConditions, r.BindingFailureConditions), toleratedValues(path.Child("tolerations"), r.Tolerations),
			skippedOperations(path.Child("skipNodeOperations"), r.SkipNodeOperations))
	}
	for i, c := range validation.Within(a.Devices.Config, maxAllocationConfig) {
		path := path.Child("devices", "config").Index(i)
		f.Merge(usedRequests(path.Child("requests"), c.Requests, requests), deviceConfiguration(path, &c.DeviceConfiguration))
	}
	if a.NodeSelector != nil {
		f.Merge(podvalidation.NodeSelector(path.Child("nodeSelector"), a.NodeSelector))
	}
	return f.Errs
}

// maxAllocationConfig is the limit of configurations in an allocation: the sum of the limits of a claim and a
// device class.
const maxAllocationConfig = 2 * resourcev1.DeviceConfigMaxSize

// reportedDevices checks the devices that drivers report in the status. They must be allocated to the claim
// (KEP-4817).
func reportedDevices(path *field.Path, status *resourcev1.ResourceClaimStatus) field.ErrorList {
	allocated := allocatedShares(status)
	var f validation.Findings
	for i := range status.Devices {
		path, d := path.Index(i), &status.Devices[i]
		id := shareOf(d)
		f.Merge(podvalidation.CSIDriverName(path.Child("driver"), d.Driver), poolName(path.Child("pool"), d.Pool), deviceName(path.Child("device"), d.Device))
		f.AddIf(!allocated.Has(id), field.Invalid(path, id, "must be an allocated device in the claim"))
		f.Merge(validation.Few(path.Child("conditions"), len(d.Conditions), resourcev1.AllocatedDeviceStatusMaxConditions),
			metav1validation.ValidateConditions(d.Conditions, path.Child("conditions")))
		if d.Data != nil {
			f.Merge(rawObject(path.Child("data"), d.Data.Raw, resourcev1.AllocatedDeviceStatusDataMaxLength))
		}
		if d.NetworkData != nil {
			for j, ip := range validation.Within(d.NetworkData.IPs, resourcev1.NetworkDeviceDataMaxIPs) {
				f.Merge(utilvalidation.IsValidInterfaceAddress(path.Child("networkData", "ips").Index(j), ip))
			}
		}
	}
	return f.Errs
}

// deviceShare identifies a device in a claim, or a share of a device. Errors show it as JSON.
type deviceShare struct{ Driver, Pool, Device, ShareID string }

func shareOf(d *resourcev1.AllocatedDeviceStatus) deviceShare {
	return deviceShare{d.Driver, d.Pool, d.Device, ptr.Deref(d.ShareID, "")}
}

func allocatedShares(status *resourcev1.ResourceClaimStatus) sets.Set[deviceShare] {
	shares := sets.New[deviceShare]()
	if status.Allocation != nil {
		for _, r := range status.Allocation.Devices.Results {
			shares.Insert(deviceShare{r.Driver, r.Pool, r.Device, string(ptr.Deref(r.ShareID, ""))})
		}
	}
	return shares
}

// mayChangeClaim refuses a change of the allocation, of the reservations, or of the devices' status, if the user
// has no permission for this part of the status. The permission to update resourceclaims/status isn't enough. See
// https://kubernetes.io/docs/concepts/security/hardening-guide/dynamic-resource-allocation/. A driver needs its
// permission in the claim's namespace. A scheduler needs its permission in all namespaces.
func mayChangeClaim(ctx context.Context, deps registry.Dependencies, c, old *resourcev1.ResourceClaim) field.ErrorList {
	binds := !apiequality.Semantic.DeepEqual(c.Status.Allocation, old.Status.Allocation) ||
		!apiequality.Semantic.DeepEqual(c.Status.ReservedFor, old.Status.ReservedFor)
	var drivers []string
	if c.Status.Allocation != nil { // a deallocation also removes the status of the devices
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

// driversWithChanges returns the sorted names of the drivers whose devices have another status after the update.
func driversWithChanges(c, old *resourcev1.ResourceClaim) []string {
	statuses := func(c *resourcev1.ResourceClaim) map[deviceShare]resourcev1.AllocatedDeviceStatus {
		byShare := map[deviceShare]resourcev1.AllocatedDeviceStatus{}
		for _, s := range c.Status.Devices {
			byShare[shareOf(&s)] = s
		}
		return byShare
	}
	now, was := statuses(c), statuses(old)
	drivers := sets.New[string]()
	for _, statuses := range []map[deviceShare]resourcev1.AllocatedDeviceStatus{now, was} {
		for s := range statuses {
			if !apiequality.Semantic.DeepEqual(now[s], was[s]) {
				drivers.Insert(s.Driver)
			}
		}
	}
	return sets.List(drivers)
}

// onAllocatedNode reports whether the user is a service account with a token that is bound to the node of the
// claim's devices.
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

// permitted returns nil if the user may make the request with one of the verbs. Otherwise it returns the Forbidden
// error for the first verb.
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

// authorizeClaim checks the adminAccess that a new claim requests. Updates needn't be checked, because the spec
// can't change.
func authorizeClaim(ctx context.Context, deps registry.Dependencies, c, old *resourcev1.ResourceClaim) field.ErrorList {
	if old != nil {
		return nil
	}
	return allowAdminAccess(ctx, deps, c.Namespace, requestedAdminAccess(c.Spec.Devices.Requests))
}

// authorizeClaimStatus checks the adminAccess of a new allocation. It also checks that the author may change the
// parts of the status that the update changes.
func authorizeClaimStatus(ctx context.Context, deps registry.Dependencies, c, old *resourcev1.ResourceClaim) field.ErrorList {
	var errs field.ErrorList
	if allocatedAdminAccess(old) == nil {
		errs = allowAdminAccess(ctx, deps, c.Namespace, allocatedAdminAccess(c))
	}
	return append(errs, mayChangeClaim(ctx, deps, c, old)...)
}

// allocatedAdminAccess returns the path of the field adminAccess in the first result of the allocation that sets
// it, or nil.
func allocatedAdminAccess(c *resourcev1.ResourceClaim) *field.Path {
	if c.Status.Allocation == nil {
		return nil
	}
	for i, r := range c.Status.Allocation.Devices.Results {
		if ptr.Deref(r.AdminAccess, false) {
			return field.NewPath("status", "allocation", "devices", "results").Index(i).Child("adminAccess")
		}
	}
	return nil
}

// dropDeallocatedDevices drops the status of devices that the update deallocates (KEP-4817).
func dropDeallocatedDevices(_ context.Context, c, old *resourcev1.ResourceClaim) {
	gone := allocatedShares(&old.Status).Difference(allocatedShares(&c.Status))
	c.Status.Devices = slices.DeleteFunc(c.Status.Devices, func(s resourcev1.AllocatedDeviceStatus) bool { return gone.Has(shareOf(&s)) })
	if len(c.Status.Devices) == 0 {
		c.Status.Devices = nil
	}
}

var resourceClaimColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("State", "A summary of the current state (allocated, pending, reserved, etc.)."),
		printers.AgeColumn,
	},
	func(c *resourcev1.ResourceClaim) []any {
		return []any{c.Name, claimState(c), printers.Since(c.CreationTimestamp)}
	})

func claimState(c *resourcev1.ResourceClaim) string {
	var states []string
	if c.DeletionTimestamp != nil {
		states = append(states, "deleted")
	}
	switch {
	case c.Status.Allocation != nil:
		states = append(states, "allocated")
		if len(c.Status.ReservedFor) > 0 {
			states = append(states, "reserved")
		}
	case c.DeletionTimestamp == nil:
		states = append(states, "pending")
	}
	return strings.Join(states, ",")
}
