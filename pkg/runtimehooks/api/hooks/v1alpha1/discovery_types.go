package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
)

// The default and the limits of the timeout of a handler, in seconds.
const (
	DefaultTimeoutSeconds int32 = 10
	MinTimeoutSeconds     int32 = 1
	MaxTimeoutSeconds     int32 = 30
)

// DiscoveryRequest is the request of the hook Discovery.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type DiscoveryRequest struct {
	metav1.TypeMeta `json:",inline"`
}

// DiscoveryResponse is the response of the hook Discovery.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type DiscoveryResponse struct {
	metav1.TypeMeta `json:",inline"`
	CommonResponse  `json:",inline"`

	// handlers are all handlers of the extension.
	// +listType=map
	// +listMapKey=name
	// +optional
	Handlers []ExtensionHandler `json:"handlers,omitempty"`
}

// ExtensionHandler is a handler of an extension, for one version of one hook.
type ExtensionHandler struct {
	// name is a DNS label. No other handler of the extension has the same name.
	// +required
	Name string `json:"name"`

	// requestHook is the hook version that the handler implements.
	// +required
	RequestHook GroupVersionHook `json:"requestHook"`

	// timeoutSeconds is the time for which a caller waits for an answer, from 1 to 30. The default is 10.
	// +optional
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// failurePolicy says whether a failed call is an error for the caller. The default is Fail.
	// +optional
	FailurePolicy *FailurePolicy `json:"failurePolicy,omitempty"`
}

// GroupVersionHook names a hook version.
type GroupVersionHook struct {
	// apiVersion is the group and the version of the hook.
	// +required
	APIVersion string `json:"apiVersion"`

	// hook is the name of the hook, such as BeforeClusterCreate.
	// +required
	Hook string `json:"hook"`
}

// ReferenceTo returns the reference to a hook version. The argument "hook" has the form that a catalog uses.
func ReferenceTo(hook catalog.GroupVersionHook) GroupVersionHook {
	return GroupVersionHook{APIVersion: hook.GroupVersion().String(), Hook: hook.Hook}
}

// Parse returns the hook version in the form that a catalog uses.
func (h GroupVersionHook) Parse() (catalog.GroupVersionHook, error) {
	gv, err := schema.ParseGroupVersion(h.APIVersion)
	if err != nil {
		return catalog.GroupVersionHook{}, err
	}
	return catalog.GroupVersionHook{Group: gv.Group, Version: gv.Version, Hook: h.Hook}, nil
}

// FailurePolicy says whether a failed call is an error for the caller. A call fails if the connection fails, if the
// time is over, or if the answer can't be read. An answer with the status Failure is always an error.
// +enum
type FailurePolicy string

const (
	// FailurePolicyFail makes a failed call an error.
	FailurePolicyFail FailurePolicy = "Fail"
	// FailurePolicyIgnore makes a failed call count as a success.
	FailurePolicyIgnore FailurePolicy = "Ignore"
)

// Discovery is the hook by which an extension lists its handlers.
func Discovery(*DiscoveryRequest, *DiscoveryResponse) {}
