// Package noderestriction has the plugin NodeRestriction: a kubelet can write only objects that belong to its own
// node. A kubelet is a user with the name system:node:NAME and the group system:nodes.
//
// The plugin is off by default, and has no effect without kubelets. The authorizer in pkg/server/authz/nodeauthorizer
// decides what a kubelet may read, and which resources it may write at all.
package noderestriction

import (
	"context"
	"errors"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-base/featuregate"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/reader"
	"github.com/miniapi-dev/miniapi/pkg/registry/signing"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "NodeRestriction"

// userPrefix is the prefix of a kubelet's user name.
const userPrefix = "system:node:"

// AudienceGate is a feature gate. While it is on, a kubelet gets tokens of a pod only for audiences that a volume of the
// pod needs, or that an authorizer allows (KEP-4412). While it is off, a kubelet gets tokens for all audiences.
const AudienceGate featuregate.Feature = "ServiceAccountNodeAudienceRestriction"

// New returns the plugin.
func New() *Plugin {
	return &Plugin{Handler: reader.NewHandler(admission.Create, admission.Update, admission.Delete)}
}

// Plugin checks the requests of kubelets. It reads pods, nodes and the other objects that it needs from the server,
// because informers for all of them would be expensive and kubelets are few.
type Plugin struct {
	*reader.Handler
	authorizer  authorizer.UnconditionalAuthorizer
	anyAudience bool
}

// A plugin that only refuses requests is usually a validating one. This plugin is a mutating one, as in
// kube-apiserver, because it must check the kubelet's request before other plugins change it.
var _ admission.MutationInterface = &Plugin{}

// InspectFeatureGates implements initializer.WantsFeatures.
func (p *Plugin) InspectFeatureGates(gates featuregate.FeatureGate) {
	p.anyAudience = !gates.Enabled(AudienceGate)
}

// SetUnconditionalAuthorizer implements initializer.WantsUnconditionalAuthorizer.
func (p *Plugin) SetUnconditionalAuthorizer(a authorizer.UnconditionalAuthorizer) { p.authorizer = a }

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	if p.authorizer == nil {
		return errors.New("missing authorizer")
	}
	return p.Handler.ValidateInitialization()
}

// rules are the checks of kubelets' requests, by resource. Resources without a rule aren't restricted. Each error
// becomes a status "forbidden", except for a missingError and an outdatedError.
var rules = map[schema.GroupResource]rule{
	corev1.Resource("pods"):                               (*Plugin).pod,
	corev1.Resource("nodes"):                              byRequest(node),
	corev1.Resource("persistentvolumeclaims"):             byRequest(claim),
	corev1.Resource("serviceaccounts"):                    (*Plugin).serviceAccount,
	coordinationv1.Resource("leases"):                     byRequest(lease),
	storagev1.Resource("csinodes"):                        byRequest(csiNode),
	resourcev1.Resource("resourceslices"):                 byRequest(resourceSlice),
	certificatesv1.Resource("certificatesigningrequests"): byRequest(signingRequest),
	certificatesv1.Resource("podcertificaterequests"):     (*Plugin).podCertificateRequest,
}

// rule checks a request of a kubelet for the objects of one resource.
type rule func(p *Plugin, ctx context.Context, node string, a admission.Attributes) error

// byRequest makes a rule from a function that needs only the request.
func byRequest(check func(node string, a admission.Attributes) error) rule {
	return func(_ *Plugin, _ context.Context, node string, a admission.Attributes) error { return check(node, a) }
}

// Admit implements admission.MutationInterface. It changes nothing.
func (p *Plugin) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	node, isNode := identity(a.GetUserInfo())
	if !isNode {
		return nil
	}
	if node == "" {
		return admission.NewForbidden(a, fmt.Errorf("could not determine node from user %q", a.GetUserInfo().GetName()))
	}
	check, ok := rules[a.GetResource().GroupResource()]
	if !ok {
		return nil
	}
	err := check(p, ctx, node, a)
	if missing := (missingError{}); errors.As(err, &missing) {
		return missing.error
	}
	if outdated := (outdatedError{}); err == nil || errors.As(err, &outdated) {
		return err
	}
	return admission.NewForbidden(a, err)
}

// missingError is the error for an object that doesn't exist, with the API's status and words.
type missingError struct{ error }

// outdatedError is the error for a request that doesn't fit the present objects, but may fit soon. Like kube-apiserver,
// the plugin returns it as an internal error, because kubelets repeat such requests.
type outdatedError struct{ error }

// Unwrap returns the reason.
func (e outdatedError) Unwrap() error { return e.error }

// authorized asks the authorizer for a permission of the request's kubelet, in the namespace of the request. The
// authorizer may return an error together with its decision to allow, for rules that it couldn't evaluate: then the
// decision counts.
func (p *Plugin) authorized(ctx context.Context, a admission.Attributes, verb, resource, name string) (bool, error) {
	decision, _, err := p.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User:            a.GetUserInfo(),
		Verb:            verb,
		APIGroup:        a.GetResource().Group,
		APIVersion:      a.GetResource().Version,
		Resource:        resource,
		Namespace:       a.GetNamespace(),
		Name:            name,
		ResourceRequest: true,
	})
	if decision == authorizer.DecisionAllow {
		return true, nil
	}
	return false, err
}

// identity returns the name of the kubelet's node. The name is empty if the user is in the kubelets' group but has no
// kubelet's name. isNode is false for other users.
func identity(info user.Info) (node string, isNode bool) {
	for _, group := range info.GetGroups() {
		if group == user.NodesGroup {
			node, _ = strings.CutPrefix(info.GetName(), userPrefix)
			if node == info.GetName() {
				node = ""
			}
			return node, true
		}
	}
	return "", false
}

// name returns the name of the object in a request. A create request may name the object only in its content.
func name(a admission.Attributes) string {
	if a.GetOperation() != admission.Create {
		return a.GetName()
	}
	accessor, err := meta.Accessor(a.GetObject())
	if err != nil {
		return ""
	}
	return accessor.GetName()
}

func lease(node string, a admission.Attributes) error {
	if a.GetNamespace() != corev1.NamespaceNodeLease {
		return fmt.Errorf("can only access leases in the %q system namespace", corev1.NamespaceNodeLease)
	}
	if name(a) != node {
		return errors.New("can only access node lease with the same name as the requesting node")
	}
	return nil
}

func csiNode(node string, a admission.Attributes) error {
	if name(a) != node {
		return errors.New("can only access CSINode with the same name as the requesting node")
	}
	return nil
}

// resourceSlice refuses to create or delete a ResourceSlice of another node. It accepts updates without a check: the
// authorizer has read the stored object and checked it.
func resourceSlice(node string, a admission.Attributes) error {
	object, verb := a.GetObject(), "create"
	switch a.GetOperation() {
	case admission.Update:
		return nil
	case admission.Delete:
		object, verb = a.GetOldObject(), "delete"
	}
	slice, ok := object.(*resourcev1.ResourceSlice)
	if !ok {
		return fmt.Errorf("unexpected type %T", object)
	}
	if slice.Spec.NodeName == nil || *slice.Spec.NodeName != node {
		return fmt.Errorf("can only %s ResourceSlice with the same NodeName as the requesting node", verb)
	}
	return nil
}

// signingRequest refuses a kubelet's request for the kubelet certificate of another node. It doesn't check requests to
// signers of other certificates.
func signingRequest(node string, a admission.Attributes) error {
	if a.GetOperation() != admission.Create {
		return nil
	}
	request, ok := a.GetObject().(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return fmt.Errorf("unexpected type %T", a.GetObject())
	}
	if s := request.Spec.SignerName; s != certificatesv1.KubeletServingSignerName && s != certificatesv1.KubeAPIServerClientKubeletSignerName {
		return nil
	}
	parsed, err := signing.ParseRequest(request.Spec.Request)
	if err != nil {
		return fmt.Errorf("unable to parse csr: %w", err)
	}
	if parsed.Subject.CommonName != userPrefix+node {
		return fmt.Errorf("can only create a node CSR with CN=%s%s", userPrefix, node)
	}
	return nil
}
