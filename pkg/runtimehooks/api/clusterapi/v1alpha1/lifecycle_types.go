package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
)

// lifecycle returns the hooks in the life of a Cluster with a managed topology.
func lifecycle() []catalog.Definition {
	tags := []string{"Lifecycle Hooks"}
	return []catalog.Definition{
		catalog.Define(BeforeClusterCreate, catalog.Metadata{
			Summary:     "is called before the objects of a Cluster's topology are created",
			Description: "It is called before the objects of a Cluster's topology are created. The hook is blocking.",
			Tags:        tags,
		}),
		catalog.Define(AfterControlPlaneInitialized, catalog.Metadata{
			Summary:     "is called when the control plane of a Cluster is reachable for the first time",
			Description: "It is called when the control plane of a Cluster is reachable for the first time. The hook doesn't block.",
			Tags:        tags,
		}),
		catalog.Define(BeforeClusterUpgrade, catalog.Metadata{
			Summary:     "is called when the version of a Cluster's topology has changed, before anything is upgraded",
			Description: "It is called when the version of a Cluster's topology has changed, before anything is upgraded. The hook is blocking.",
			Tags:        tags,
		}),
		catalog.Define(BeforeControlPlaneUpgrade, catalog.Metadata{
			Summary:     "is called before a control plane is upgraded by one step",
			Description: "It is called before a control plane is upgraded by one step. It is called for each version on the way, where BeforeClusterUpgrade is called once. The hook is blocking.",
			Tags:        tags,
		}),
		catalog.Define(AfterControlPlaneUpgrade, catalog.Metadata{
			Summary:     "is called when all machines of a control plane have been upgraded by one step",
			Description: "It is called when all machines of a control plane have been upgraded by one step. While it blocks, the workers keep their version. The hook is blocking.",
			Tags:        tags,
		}),
		catalog.Define(BeforeWorkersUpgrade, catalog.Metadata{
			Summary:     "is called before the workers are upgraded by one step",
			Description: "It is called before the workers are upgraded by one step. The hook is blocking.",
			Tags:        tags,
		}),
		catalog.Define(AfterWorkersUpgrade, catalog.Metadata{
			Summary:     "is called when all workers have been upgraded by one step",
			Description: "It is called when all workers have been upgraded by one step. While it blocks, the next step doesn't begin. The hook is blocking.",
			Tags:        tags,
		}),
		catalog.Define(AfterClusterUpgrade, catalog.Metadata{
			Summary:     "is called when a whole Cluster has got to the version of its topology",
			Description: "It is called when a whole Cluster has got to the version of its topology. While it blocks, no further upgrade begins. The hook is blocking.",
			Tags:        tags,
		}),
		catalog.Define(BeforeClusterDelete, catalog.Metadata{
			Summary:     "is called when a Cluster is being deleted, before its objects are",
			Description: "It is called when a Cluster is being deleted, before its objects are. The hook is blocking.",
			Tags:        tags,
		}),
	}
}

// UpgradeStepInfo is a remaining step of an upgrade.
type UpgradeStepInfo struct {
	// version is the Kubernetes version to which the step leads.
	// +required
	Version string `json:"version,omitempty"`
}

// BeforeClusterCreateRequest is the request of the hook BeforeClusterCreate.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type BeforeClusterCreateRequest struct {
	metav1.TypeMeta       `json:",inline"`
	hooksv1.CommonRequest `json:",inline"`

	// cluster is the Cluster for which the hook is called.
	// +required
	Cluster runtime.RawExtension `json:"cluster"`
}

// BeforeClusterCreateResponse is the response of the hook BeforeClusterCreate.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type BeforeClusterCreateResponse struct {
	metav1.TypeMeta             `json:",inline"`
	hooksv1.CommonRetryResponse `json:",inline"`
}

// BeforeClusterCreate is called before the objects of a Cluster's topology are created.
func BeforeClusterCreate(*BeforeClusterCreateRequest, *BeforeClusterCreateResponse) {}

// AfterControlPlaneInitializedRequest is the request of the hook AfterControlPlaneInitialized.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type AfterControlPlaneInitializedRequest struct {
	metav1.TypeMeta       `json:",inline"`
	hooksv1.CommonRequest `json:",inline"`

	// cluster is the Cluster for which the hook is called.
	// +required
	Cluster runtime.RawExtension `json:"cluster"`
}

// AfterControlPlaneInitializedResponse is the response of the hook AfterControlPlaneInitialized.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type AfterControlPlaneInitializedResponse struct {
	metav1.TypeMeta        `json:",inline"`
	hooksv1.CommonResponse `json:",inline"`
}

// AfterControlPlaneInitialized is called when the control plane of a Cluster is reachable for the first time.
func AfterControlPlaneInitialized(*AfterControlPlaneInitializedRequest, *AfterControlPlaneInitializedResponse) {
}

// BeforeClusterUpgradeRequest is the request of the hook BeforeClusterUpgrade.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type BeforeClusterUpgradeRequest struct {
	metav1.TypeMeta       `json:",inline"`
	hooksv1.CommonRequest `json:",inline"`

	// cluster is the Cluster for which the hook is called.
	// +required
	Cluster runtime.RawExtension `json:"cluster"`

	// fromKubernetesVersion is the version from which the machines of the Cluster upgrade.
	// +required
	FromKubernetesVersion string `json:"fromKubernetesVersion"`

	// toKubernetesVersion is the version to which the machines of the Cluster upgrade.
	// +required
	ToKubernetesVersion string `json:"toKubernetesVersion"`

	// controlPlaneUpgrades are the remaining upgrade steps of the control plane.
	// +optional
	ControlPlaneUpgrades []UpgradeStepInfo `json:"controlPlaneUpgrades,omitempty"`

	// workersUpgrades are the remaining upgrade steps of the workers.
	// +optional
	WorkersUpgrades []UpgradeStepInfo `json:"workersUpgrades,omitempty"`
}

// BeforeClusterUpgradeResponse is the response of the hook BeforeClusterUpgrade.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type BeforeClusterUpgradeResponse struct {
	metav1.TypeMeta             `json:",inline"`
	hooksv1.CommonRetryResponse `json:",inline"`
}

// BeforeClusterUpgrade is called when the version of a Cluster's topology has changed, before anything is upgraded.
func BeforeClusterUpgrade(*BeforeClusterUpgradeRequest, *BeforeClusterUpgradeResponse) {}

// BeforeControlPlaneUpgradeRequest is the request of the hook BeforeControlPlaneUpgrade.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type BeforeControlPlaneUpgradeRequest struct {
	metav1.TypeMeta       `json:",inline"`
	hooksv1.CommonRequest `json:",inline"`

	// cluster is the Cluster for which the hook is called.
	// +required
	Cluster runtime.RawExtension `json:"cluster"`

	// fromKubernetesVersion is the version from which the machines of the control plane upgrade.
	// +required
	FromKubernetesVersion string `json:"fromKubernetesVersion"`

	// toKubernetesVersion is the version to which the machines of the control plane upgrade.
	// +required
	ToKubernetesVersion string `json:"toKubernetesVersion"`

	// controlPlaneUpgrades are the remaining upgrade steps of the control plane.
	// +optional
	ControlPlaneUpgrades []UpgradeStepInfo `json:"controlPlaneUpgrades,omitempty"`

	// workersUpgrades are the remaining upgrade steps of the workers.
	// +optional
	WorkersUpgrades []UpgradeStepInfo `json:"workersUpgrades,omitempty"`
}

// BeforeControlPlaneUpgradeResponse is the response of the hook BeforeControlPlaneUpgrade.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type BeforeControlPlaneUpgradeResponse struct {
	metav1.TypeMeta             `json:",inline"`
	hooksv1.CommonRetryResponse `json:",inline"`
}

// BeforeControlPlaneUpgrade is called before a control plane is upgraded by one step.
func BeforeControlPlaneUpgrade(*BeforeControlPlaneUpgradeRequest, *BeforeControlPlaneUpgradeResponse) {
}

// AfterControlPlaneUpgradeRequest is the request of the hook AfterControlPlaneUpgrade.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type AfterControlPlaneUpgradeRequest struct {
	metav1.TypeMeta       `json:",inline"`
	hooksv1.CommonRequest `json:",inline"`

	// cluster is the Cluster for which the hook is called.
	// +required
	Cluster runtime.RawExtension `json:"cluster"`

	// kubernetesVersion is the version to which the machines of the control plane have been upgraded.
	// +required
	KubernetesVersion string `json:"kubernetesVersion"`

	// controlPlaneUpgrades are the remaining upgrade steps of the control plane.
	// +optional
	ControlPlaneUpgrades []UpgradeStepInfo `json:"controlPlaneUpgrades,omitempty"`

	// workersUpgrades are the remaining upgrade steps of the workers.
	// +optional
	WorkersUpgrades []UpgradeStepInfo `json:"workersUpgrades,omitempty"`
}

// AfterControlPlaneUpgradeResponse is the response of the hook AfterControlPlaneUpgrade.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type AfterControlPlaneUpgradeResponse struct {
	metav1.TypeMeta             `json:",inline"`
	hooksv1.CommonRetryResponse `json:",inline"`
}

// AfterControlPlaneUpgrade is called when all machines of a control plane have been upgraded by one step.
func AfterControlPlaneUpgrade(*AfterControlPlaneUpgradeRequest, *AfterControlPlaneUpgradeResponse) {}

// BeforeWorkersUpgradeRequest is the request of the hook BeforeWorkersUpgrade.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type BeforeWorkersUpgradeRequest struct {
	metav1.TypeMeta       `json:",inline"`
	hooksv1.CommonRequest `json:",inline"`

	// cluster is the Cluster for which the hook is called.
	// +required
	Cluster runtime.RawExtension `json:"cluster"`

	// fromKubernetesVersion is the version from which the workers upgrade.
	// +required
	FromKubernetesVersion string `json:"fromKubernetesVersion"`

	// toKubernetesVersion is the version to which the workers upgrade.
	// +required
	ToKubernetesVersion string `json:"toKubernetesVersion"`

	// controlPlaneUpgrades are the remaining upgrade steps of the control plane.
	// +optional
	ControlPlaneUpgrades []UpgradeStepInfo `json:"controlPlaneUpgrades,omitempty"`

	// workersUpgrades are the remaining upgrade steps of the workers.
	// +optional
	WorkersUpgrades []UpgradeStepInfo `json:"workersUpgrades,omitempty"`
}

// BeforeWorkersUpgradeResponse is the response of the hook BeforeWorkersUpgrade.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type BeforeWorkersUpgradeResponse struct {
	metav1.TypeMeta             `json:",inline"`
	hooksv1.CommonRetryResponse `json:",inline"`
}

// BeforeWorkersUpgrade is called before the workers are upgraded by one step.
func BeforeWorkersUpgrade(*BeforeWorkersUpgradeRequest, *BeforeWorkersUpgradeResponse) {}

// AfterWorkersUpgradeRequest is the request of the hook AfterWorkersUpgrade.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type AfterWorkersUpgradeRequest struct {
	metav1.TypeMeta       `json:",inline"`
	hooksv1.CommonRequest `json:",inline"`

	// cluster is the Cluster for which the hook is called.
	// +required
	Cluster runtime.RawExtension `json:"cluster"`

	// kubernetesVersion is the version to which the workers have been upgraded.
	// +required
	KubernetesVersion string `json:"kubernetesVersion"`

	// controlPlaneUpgrades are the remaining upgrade steps of the control plane.
	// +optional
	ControlPlaneUpgrades []UpgradeStepInfo `json:"controlPlaneUpgrades,omitempty"`

	// workersUpgrades are the remaining upgrade steps of the workers.
	// +optional
	WorkersUpgrades []UpgradeStepInfo `json:"workersUpgrades,omitempty"`
}

// AfterWorkersUpgradeResponse is the response of the hook AfterWorkersUpgrade.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type AfterWorkersUpgradeResponse struct {
	metav1.TypeMeta             `json:",inline"`
	hooksv1.CommonRetryResponse `json:",inline"`
}

// AfterWorkersUpgrade is called when all workers have been upgraded by one step.
func AfterWorkersUpgrade(*AfterWorkersUpgradeRequest, *AfterWorkersUpgradeResponse) {}

// AfterClusterUpgradeRequest is the request of the hook AfterClusterUpgrade.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type AfterClusterUpgradeRequest struct {
	metav1.TypeMeta       `json:",inline"`
	hooksv1.CommonRequest `json:",inline"`

	// cluster is the Cluster for which the hook is called.
	// +required
	Cluster runtime.RawExtension `json:"cluster"`

	// kubernetesVersion is the version to which the machines of the Cluster have been upgraded.
	// +required
	KubernetesVersion string `json:"kubernetesVersion"`
}

// AfterClusterUpgradeResponse is the response of the hook AfterClusterUpgrade.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type AfterClusterUpgradeResponse struct {
	metav1.TypeMeta             `json:",inline"`
	hooksv1.CommonRetryResponse `json:",inline"`
}

// AfterClusterUpgrade is called when all machines of a Cluster have the version of the Cluster's topology.
func AfterClusterUpgrade(*AfterClusterUpgradeRequest, *AfterClusterUpgradeResponse) {}

// BeforeClusterDeleteRequest is the request of the hook BeforeClusterDelete.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type BeforeClusterDeleteRequest struct {
	metav1.TypeMeta       `json:",inline"`
	hooksv1.CommonRequest `json:",inline"`

	// cluster is the Cluster for which the hook is called.
	// +required
	Cluster runtime.RawExtension `json:"cluster"`
}

// BeforeClusterDeleteResponse is the response of the hook BeforeClusterDelete.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type BeforeClusterDeleteResponse struct {
	metav1.TypeMeta             `json:",inline"`
	hooksv1.CommonRetryResponse `json:",inline"`
}

// BeforeClusterDelete is called when a Cluster is being deleted, before the objects that belong to the Cluster are
// deleted.
func BeforeClusterDelete(*BeforeClusterDeleteRequest, *BeforeClusterDeleteResponse) {}
