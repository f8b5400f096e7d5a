// Package noderestriction has the NodeRestriction plugin: a kubelet, known by its user name
// system:node:NAME and its group system:nodes, writes only what belongs to its own node.
//
// It is off by default, and restricts nobody where there are no kubelets. What a kubelet may read, and
// which resources it may write at all, is package authorization/node's business.
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
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/signers"
)

// Name is the plugin's name.
const Name = "NodeRestriction"

// userPrefix is what the user name of every kubelet begins with.
const userPrefix = "system:node:"

// New returns the plugin. Unless it allows any audience, nodes get tokens of their pods only for audiences that
// the pods need, or that the nodes are authorized to ask for.
func New(anyAudience bool) *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete), anyAudience: anyAudience}
}

// Plugin judges the requests of kubelets. It reads the objects that it needs to know from the server:
// kubelets are few here, and informers for all pods and nodes are not.
type Plugin struct {
	*admission.Handler
	client     kubernetes.Interface
	authorizer authorizer.UnconditionalAuthorizer

	anyAudience bool
}

// The library's plugins that restrict are validating; this one judges what the kubelet has sent,
// before anything else changes it, as the reference does.
var _ admission.MutationInterface = &Plugin{}

// SetExternalKubeClientSet implements initializer.WantsExternalKubeClientSet.
func (p *Plugin) SetExternalKubeClientSet(client kubernetes.Interface) { p.client = client }

// SetUnconditionalAuthorizer implements initializer.WantsUnconditionalAuthorizer.
func (p *Plugin) SetUnconditionalAuthorizer(a authorizer.UnconditionalAuthorizer) { p.authorizer = a }

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	if p.client == nil || p.authorizer == nil {
		return errors.New("missing client or authorizer")
	}
	return nil
}

// rules judge the requests of a node, by resource; those on other resources are not restricted. A
// refusal that isn't a status becomes "forbidden".
var rules = map[schema.GroupResource]func(*Plugin, context.Context, string, admission.Attributes) error{
	corev1.Resource("pods"):                               (*Plugin).pod,
	corev1.Resource("nodes"):                              (*Plugin).node,
	corev1.Resource("persistentvolumeclaims"):             (*Plugin).claim,
	corev1.Resource("serviceaccounts"):                    (*Plugin).serviceAccount,
	coordinationv1.Resource("leases"):                     (*Plugin).lease,
	storagev1.Resource("csinodes"):                        (*Plugin).csiNode,
	resourcev1.Resource("resourceslices"):                 (*Plugin).resourceSlice,
	certificatesv1.Resource("certificatesigningrequests"): (*Plugin).signingRequest,
	certificatesv1.Resource("podcertificaterequests"):     (*Plugin).podCertificateRequest,
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
	rule, ok := rules[a.GetResource().GroupResource()]
	if !ok {
		return nil
	}
	err := rule(p, ctx, node, a)
	if missing := (missingError{}); errors.As(err, &missing) {
		return missing.error
	}
	if err != nil {
		return admission.NewForbidden(a, err)
	}
	return nil
}

// missingError says that an object that the request is about doesn't exist, in the words of the API.
type missingError struct{ error }

// identity returns the name of a kubelet's node. It is empty for a member of the kubelets' group with
// another kind of name.
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

// name is that of the object in the request: a create doesn't always have one of its own.
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

func (p *Plugin) lease(_ context.Context, node string, a admission.Attributes) error {
	if a.GetNamespace() != corev1.NamespaceNodeLease {
		return fmt.Errorf("can only access leases in the %q system namespace", corev1.NamespaceNodeLease)
	}
	if name(a) != node {
		return errors.New("can only access node lease with the same name as the requesting node")
	}
	return nil
}

func (p *Plugin) csiNode(_ context.Context, node string, a admission.Attributes) error {
	if name(a) != node {
		return errors.New("can only access CSINode with the same name as the requesting node")
	}
	return nil
}

// resourceSlice leaves updates to the authorizer, which knows the stored object.
func (p *Plugin) resourceSlice(_ context.Context, node string, a admission.Attributes) error {
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

// signingRequest keeps a node from getting the certificate of another one.
func (p *Plugin) signingRequest(_ context.Context, node string, a admission.Attributes) error {
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
	parsed, err := signers.ParseRequest(request.Spec.Request)
	if err != nil {
		return fmt.Errorf("unable to parse csr: %w", err)
	}
	if parsed.Subject.CommonName != userPrefix+node {
		return fmt.Errorf("can only create a node CSR with CN=%s%s", userPrefix, node)
	}
	return nil
}
