package admission

import (
	"io"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"

	"github.com/miniapi-dev/miniapi/pkg/admission/admissionpolicy"
	"github.com/miniapi-dev/miniapi/pkg/admission/admissionwebhook"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/always"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/alwayspullimages"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/certificateapproval"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/certificatesigning"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/certificatesubjectrestriction"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/clustertrustbundleattest"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/defaultingressclass"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/defaultstorageclass"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/defaulttolerationseconds"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/denyserviceexternalips"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/eventratelimit"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/extendedresourcetoleration"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/imagepolicy"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/limitpodhardantiaffinitytopology"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/limitranger"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/namespaceautoprovision"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/namespaceexists"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/nodedeclaredfeaturevalidator"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/noderestriction"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/ownerreferencespermissionenforcement"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/persistentvolumeclaimresize"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/podgroupworkloadexists"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/podnodeselector"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/podresizevalidator"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/podsecurity"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/podtolerationrestriction"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/podtopologylabels"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/priority"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/resourcequota"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/runtimeclass"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/serviceaccount"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/storageobjectinuseprotection"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/taintnodesbycondition"
)

// plugin is one plugin of the chain.
type plugin struct {
	name string
	// on is true for a plugin that runs by default.
	on bool
	// new makes the plugin from its configuration, which is nil if there is none. If new is nil, miniapi doesn't
	// have the plugin: flags may name the plugin, and the server warns if a flag enables it.
	new func(*chain, io.Reader) (admission.Interface, error)
	changes
}

// changes lists the resources whose objects a mutating plugin may change. Only for these resources, the recording of
// requests compares the object before and after the plugin, because a comparison costs more than a plugin. The list is
// nil for a plugin that only validates. The list is empty for a mutating plugin that changes no object, or that records
// changes itself.
type changes []string

// everyResource stands for all resources in changes.
const everyResource = "*"

// include reports whether the plugin may change objects of a resource.
func (c changes) include(resource string) bool {
	return slices.Contains(c, resource) || slices.Contains(c, everyResource)
}

const (
	on  = true
	off = false
)

// order lists the plugins in the order of the chain. The mutating plugins run from top to bottom, and then the
// validating ones. The order and the defaults are kube-apiserver's, except that ServiceAccount is off. pkg/server
// turns it on if the controller that makes service accounts runs.
var order = []plugin{
	{"AlwaysAdmit", off, unconfigured(always.Admit), changes{}},
	{namespaceautoprovision.Name, off, unconfigured(namespaceautoprovision.New), changes{}},
	{lifecycle.PluginName, on, newNamespaceLifecycle, changes{}},
	{namespaceexists.Name, off, unconfigured(namespaceexists.New), nil},
	{limitpodhardantiaffinitytopology.Name, off, unconfigured(limitpodhardantiaffinitytopology.New), nil},
	{limitranger.Name, on, unconfigured(limitranger.New), changes{"pods"}},
	{serviceaccount.Name, off, unconfigured(serviceaccount.New), changes{"pods"}},
	{noderestriction.Name, off, unconfigured(noderestriction.New), changes{}},
	{taintnodesbycondition.Name, on, unconfigured(taintnodesbycondition.New), changes{"nodes"}},
	{alwayspullimages.Name, off, unconfigured(alwayspullimages.New), changes{"pods"}},
	{imagepolicy.Name, off, configured(imagepolicy.New), nil},
	{podsecurity.Name, on, configured(podsecurity.New), nil},
	{podnodeselector.Name, off, configured(podnodeselector.New), changes{"pods"}},
	{priority.Name, on, unconfigured(priority.New), changes{"pods", "podgroups"}},
	{defaulttolerationseconds.Name, on, newDefaultTolerationSeconds, changes{"pods"}},
	{podtolerationrestriction.Name, off, configured(podtolerationrestriction.New), changes{"pods"}},
	{eventratelimit.Name, off, configured(eventratelimit.New), nil},
	{extendedresourcetoleration.Name, off, unconfigured(extendedresourcetoleration.New), changes{"pods"}},
	{defaultstorageclass.Name, on, unconfigured(defaultstorageclass.New), changes{"persistentvolumeclaims"}},
	{storageobjectinuseprotection.Name, on, unconfigured(storageobjectinuseprotection.New),
		changes{"persistentvolumeclaims", "persistentvolumes", "volumeattributesclasses"}},
	{"PodGroupProtection", on, nil, nil},
	{ownerreferencespermissionenforcement.Name, off, unconfigured(ownerreferencespermissionenforcement.New), nil},
	{persistentvolumeclaimresize.Name, on, unconfigured(persistentvolumeclaimresize.New), nil},
	{runtimeclass.Name, on, unconfigured(runtimeclass.New), changes{"pods"}},
	{certificateapproval.Name, on, unconfigured(certificateapproval.New), nil},
	{certificatesigning.Name, on, unconfigured(certificatesigning.New), nil},
	{clustertrustbundleattest.Name, on, unconfigured(clustertrustbundleattest.New), nil},
	{certificatesubjectrestriction.Name, on, unconfigured(certificatesubjectrestriction.New), nil},
	{defaultingressclass.Name, on, unconfigured(defaultingressclass.New), changes{"ingresses"}},
	{denyserviceexternalips.Name, off, unconfigured(denyserviceexternalips.New), nil},
	{podtopologylabels.Name, on, unconfigured(podtopologylabels.New), changes{"pods"}},
	{podgroupworkloadexists.Name, on, unconfigured(podgroupworkloadexists.New), nil},
	{nodedeclaredfeaturevalidator.Name, on, unconfigured(nodedeclaredfeaturevalidator.New), nil},
	{"JobValidation", on, nil, nil},
	{podresizevalidator.Name, on, unconfigured(podresizevalidator.New), nil},

	// A mutating plugin that kube-apiserver lacks has its line here. Policies and webhooks run after the in-tree
	// plugins that change objects, so that they get the complete object.
	{mutatingpolicy.PluginName, on, newMutatingPolicy, changes{}},
	{mutatingwebhook.PluginName, on, newMutatingWebhook, changes{}},
	{validatingpolicy.PluginName, on, newValidatingPolicy, nil},
	{validatingwebhook.PluginName, on, newValidatingWebhook, nil},
	// A validating plugin that kube-apiserver lacks has its line here. ResourceQuota runs after all plugins that may
	// refuse a request, except AlwaysDeny. Otherwise a quota would count refused requests.
	{resourcequota.Name, on, configured(resourcequota.New), nil},
	{"AlwaysDeny", off, unconfigured(always.Deny), changes{}},
}

// unconfigured returns the constructor of a plugin that has no configuration.
func unconfigured[Plugin admission.Interface](construct func() Plugin) func(*chain, io.Reader) (admission.Interface, error) {
	return func(*chain, io.Reader) (admission.Interface, error) { return construct(), nil }
}

// configured returns the constructor of a plugin that takes a configuration. The reader is nil if there is no
// configuration.
func configured[Plugin admission.Interface](construct func(io.Reader) (Plugin, error)) func(*chain, io.Reader) (admission.Interface, error) {
	return func(_ *chain, config io.Reader) (admission.Interface, error) { return construct(config) }
}

func newNamespaceLifecycle(*chain, io.Reader) (admission.Interface, error) {
	return lifecycle.NewLifecycle(sets.New(metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic))
}

func newMutatingWebhook(c *chain, config io.Reader) (admission.Interface, error) {
	return admissionwebhook.NewMutating(config, c.WebhookTokens)
}

func newValidatingWebhook(c *chain, config io.Reader) (admission.Interface, error) {
	return admissionwebhook.NewValidating(config, c.WebhookTokens)
}

func newMutatingPolicy(c *chain, config io.Reader) (admission.Interface, error) {
	return admissionpolicy.NewMutating(config, c.policyEnvironment())
}

func newValidatingPolicy(c *chain, config io.Reader) (admission.Interface, error) {
	return admissionpolicy.NewValidating(config, c.policyEnvironment())
}

func newDefaultTolerationSeconds(c *chain, _ io.Reader) (admission.Interface, error) {
	return defaulttolerationseconds.New(c.options.NotReadyTolerationSeconds, c.options.UnreachableTolerationSeconds), nil
}
