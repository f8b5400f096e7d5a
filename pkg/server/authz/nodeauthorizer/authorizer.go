package nodeauthorizer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"

	"github.com/miniapi-dev/miniapi/pkg/server/authz/rbacauthorizer"
)

// userPrefix begins the user names of kubelets. Their group is system:nodes.
const userPrefix = "system:node:"

// Authorizer allows the requests that kubelets need, and has no opinion on all other requests.
type Authorizer struct {
	authorizer.AuthorizerFunc
	objects *objects
	rules   []rbacv1.PolicyRule
}

var (
	_ authorizer.Authorizer   = (*Authorizer)(nil)
	_ authorizer.RuleResolver = (*Authorizer)(nil)
)

// identity returns the name of a kubelet's node, and whether the user is a kubelet. The name may be empty.
func identity(who user.Info) (node string, ok bool) {
	name, ok := strings.CutPrefix(who.GetName(), userPrefix)
	return name, ok && slices.Contains(who.GetGroups(), user.NodesGroup)
}

// decide decides on a node's request for one resource. It returns the reason for a refusal, or "" if the node may make
// the request.
type decide func(a *Authorizer, node string, request authorizer.Attributes) (refused string)

// byResource has a decision for each resource for which the permissions of a node differ from the role system:node. For
// example, a node may read a Secret only if the node needs the Secret. For all other resources, every node has the
// permissions of the role.
var byResource = map[schema.GroupResource]decide{
	{Resource: "secrets"}:                                              readOf(secret),
	{Resource: "configmaps"}:                                           readOf(configMap),
	{Resource: "persistentvolumeclaims"}:                               decideClaim,
	{Resource: "persistentvolumes"}:                                    getOf(volume),
	{Resource: "serviceaccounts"}:                                      decideServiceAccount,
	{Resource: "nodes"}:                                                decideNode,
	{Resource: "pods"}:                                                 decidePod,
	{Group: "resource.k8s.io", Resource: "resourceclaims"}:             getOf(resourceClaim),
	{Group: "resource.k8s.io", Resource: "resourceslices"}:             decideResourceSlice,
	{Group: "storage.k8s.io", Resource: "volumeattachments"}:           getOf(attachment),
	{Group: "storage.k8s.io", Resource: "csinodes"}:                    decideCSINode,
	{Group: "coordination.k8s.io", Resource: "leases"}:                 decideLease,
	{Group: "certificates.k8s.io", Resource: "podcertificaterequests"}: decidePodCertificateRequest,
}

func (a *Authorizer) authorize(_ context.Context, request authorizer.Attributes) (authorizer.Decision, string, error) {
	node, ok := identity(request.GetUser())
	if !ok {
		return authorizer.DecisionNoOpinion, "", nil
	}
	if node == "" {
		return authorizer.DecisionNoOpinion, fmt.Sprintf("unknown node for user %q", request.GetUser().GetName()), nil
	}
	if request.IsResourceRequest() {
		resource := schema.GroupResource{Group: request.GetAPIGroup(), Resource: request.GetResource()}
		if decide, ok := byResource[resource]; ok {
			if refused := decide(a, node, request); refused != "" {
				return authorizer.DecisionNoOpinion, refused, nil
			}
			return authorizer.DecisionAllow, "", nil
		}
	}
	if rbacauthorizer.RulesAllow(request, a.rules...) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// RulesFor returns an error for nodes: their permissions depend on the pods that are bound to them.
func (a *Authorizer) RulesFor(_ context.Context, who user.Info, _ string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	if _, ok := identity(who); !ok {
		return nil, nil, false, nil
	}
	return nil, nil, true, fmt.Errorf("node authorizer does not support user rule resolution")
}

// getOf returns a decision that allows the verb get for objects that the node needs.
func getOf(kind objectKind) decide {
	return func(a *Authorizer, node string, request authorizer.Attributes) string {
		switch {
		case request.GetVerb() != "get":
			return "can only get individual resources of this type"
		case request.GetSubresource() != "":
			return "cannot get subresource"
		}
		return a.needed(node, kind, request)
	}
}

// readOf returns a decision that allows the verb get for objects that the node needs. The decision also allows list
// and watch if a field selector names a single object that the node needs.
func readOf(kind objectKind) decide {
	return func(a *Authorizer, node string, request authorizer.Attributes) string {
		switch {
		case !slices.Contains([]string{"get", "list", "watch"}, request.GetVerb()):
			return "can only read resources of this type"
		case request.GetSubresource() != "":
			return "cannot read subresource"
		case request.GetNamespace() == "":
			return "can only read namespaced object of this type"
		}
		return a.needed(node, kind, request)
	}
}

func decideClaim(a *Authorizer, node string, request authorizer.Attributes) string {
	if request.GetSubresource() != "status" {
		return getOf(claim)(a, node, request)
	}
	if !slices.Contains([]string{"get", "update", "patch"}, request.GetVerb()) {
		return "can only get/update/patch this type"
	}
	return a.needed(node, claim, request)
}

func decideServiceAccount(a *Authorizer, node string, request authorizer.Attributes) string {
	switch request.GetVerb() + " " + request.GetSubresource() {
	case "create token", "get ":
		return a.needed(node, serviceAccount, request)
	}
	return "can only create tokens for individual service accounts, or get them"
}

// decideNode lets a node read its own Node object, and create and update any Node object. The admission plugin
// NodeRestriction limits the writes to the node's own object.
func decideNode(_ *Authorizer, node string, request authorizer.Attributes) string {
	verb := request.GetVerb()
	switch request.GetSubresource() {
	case "":
		switch verb {
		case "create", "update", "patch":
			return ""
		case "get", "list", "watch":
			switch request.GetName() {
			case node:
				return ""
			case "":
				return fmt.Sprintf("node '%s' cannot read all nodes, only its own Node object", node)
			}
			return fmt.Sprintf("node '%s' cannot read '%s', only its own Node object", node, request.GetName())
		}
	case "status":
		if verb == "update" || verb == "patch" {
			return ""
		}
	}
	return fmt.Sprintf("node '%s' cannot %s this of a Node", node, verb)
}

// decidePod lets a node read the pods that are bound to it. It also lets the node create, delete and evict any pod, and
// write the status of any pod. The admission plugin NodeRestriction limits these writes to the node's own pods.
func decidePod(a *Authorizer, node string, request authorizer.Attributes) string {
	switch verb := request.GetVerb(); request.GetSubresource() {
	case "":
		switch verb {
		case "create", "delete":
			return ""
		case "get":
			return a.needed(node, pod, request)
		case "list", "watch":
			if selects(request, "spec.nodeName", node) {
				return ""
			}
			if request.GetName() != "" { // the field selector names a single pod
				return a.needed(node, pod, request)
			}
			return "can only list/watch pods with spec.nodeName field selector"
		}
	case "status":
		if verb == "update" || verb == "patch" {
			return ""
		}
	case "eviction":
		if verb == "create" {
			return ""
		}
	}
	return "can only read, create, delete or evict pods, or write their status"
}

func decideLease(_ *Authorizer, node string, request authorizer.Attributes) string {
	switch verb := request.GetVerb(); {
	case !slices.Contains([]string{"get", "create", "update", "patch", "delete"}, verb):
		return "can only get, create, update, patch, or delete a node lease"
	case request.GetNamespace() != corev1.NamespaceNodeLease:
		return fmt.Sprintf("can only access leases in the %q system namespace", corev1.NamespaceNodeLease)
	// A create request has no name; the plugin NodeRestriction checks the name.
	case verb != "create" && request.GetName() != node:
		return "can only access node lease with the same name as the requesting node"
	}
	return ""
}

func decideCSINode(_ *Authorizer, node string, request authorizer.Attributes) string {
	switch verb := request.GetVerb(); {
	case request.GetSubresource() != "":
		return "cannot authorize CSINode subresources"
	case !slices.Contains([]string{"get", "create", "update", "patch", "delete"}, verb):
		return "can only get, create, update, patch, or delete a CSINode"
	case verb != "create" && request.GetName() != node:
		return "can only access CSINode with the same name as the requesting node"
	}
	return ""
}

func decideResourceSlice(a *Authorizer, node string, request authorizer.Attributes) string {
	if request.GetSubresource() != "" {
		return "cannot authorize ResourceSlice subresources"
	}
	switch request.GetVerb() {
	case "create":
		return "" // the plugin NodeRestriction checks spec.nodeName
	case "get", "update", "patch", "delete":
		return a.needed(node, resourceSlice, request)
	case "list", "watch", "deletecollection":
		if selects(request, "spec.nodeName", node) {
			return ""
		}
		return "can only list/watch/deletecollection resourceslices with spec.nodeName field selector"
	}
	return "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection"
}

func decidePodCertificateRequest(a *Authorizer, node string, request authorizer.Attributes) string {
	if request.GetSubresource() != "" {
		return "nodes may not access the status subresource of PodCertificateRequests"
	}
	switch request.GetVerb() {
	case "create":
		return "" // the plugin NodeRestriction checks the pod
	case "get":
		return a.needed(node, certificateRequest, request)
	case "list", "watch":
		if selects(request, "spec.nodeName", node) {
			return ""
		}
		return "can only list/watch podcertificaterequests with spec.nodeName field selector"
	}
	return "only the following verbs are allowed for a PodCertificateRequest: create, get, list, watch"
}

// selects tells whether a field selector limits the request to objects whose field has the value.
func selects(request authorizer.Attributes, field, value string) bool {
	// After an error there are no requirements, so the request selects all objects.
	requirements, _ := request.GetFieldSelector()
	for _, r := range requirements {
		if r.Field == field && r.Value == value && (r.Operator == selection.Equals || r.Operator == selection.DoubleEquals) {
			return true
		}
	}
	return false
}

// needed returns the reason why the node may not request the object, or "" if the node needs the object.
func (a *Authorizer) needed(node string, kind objectKind, request authorizer.Attributes) string {
	if request.GetName() == "" {
		return "No Object name found"
	}
	if !a.objects.needs(node, kind, request.GetNamespace(), request.GetName()) {
		return fmt.Sprintf("no relationship found between node '%s' and this object", node)
	}
	return ""
}

// New makes an Authorizer. The Authorizer reads pods, volumes, attachments, resource slices and certificate requests of
// pods from shared informers, which the caller starts. The argument "rules" has the rules of the cluster role
// system:node, which every node has.
func New(informers informers.SharedInformerFactory, rules []rbacv1.PolicyRule) *Authorizer {
	a := &Authorizer{rules: rules, objects: &objects{
		pods:        informers.Core().V1().Pods().Lister(),
		volumes:     informers.Core().V1().PersistentVolumes().Lister(),
		attachments: informers.Storage().V1().VolumeAttachments().Lister(),
		slices:      informers.Resource().V1().ResourceSlices().Lister(),
		requests:    informers.Certificates().V1().PodCertificateRequests().Lister(),
	}}
	a.AuthorizerFunc = a.authorize
	return a
}
