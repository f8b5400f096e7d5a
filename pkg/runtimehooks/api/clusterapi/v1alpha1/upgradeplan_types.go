package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
)

// upgradePlan returns the hook by which an extension plans upgrades over several versions.
func upgradePlan() []catalog.Definition {
	return []catalog.Definition{catalog.Define(GenerateUpgradePlan, catalog.Metadata{
		Summary: "is called for an upgrade over several versions, and answers with the versions on the way",
		Description: "The steps of the control plane have one version of each minor version at least, rise, and end with the version " +
			"that is asked for. The steps of the workers are among those of the control plane. Without them, the caller takes as few as it can.",
		Tags: []string{"Chained Upgrade Hook"},
	})}
}

// GenerateUpgradePlanRequest is the request of the hook GenerateUpgradePlan.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type GenerateUpgradePlanRequest struct {
	metav1.TypeMeta       `json:",inline"`
	hooksv1.CommonRequest `json:",inline"`

	// cluster is the Cluster for which the hook is called.
	// +required
	Cluster runtime.RawExtension `json:"cluster,omitempty,omitzero"`

	// fromControlPlaneKubernetesVersion is the version of the control plane.
	// +required
	FromControlPlaneKubernetesVersion string `json:"fromControlPlaneKubernetesVersion,omitempty"`

	// fromWorkersKubernetesVersion is the lowest version of the workers.
	// +optional
	FromWorkersKubernetesVersion string `json:"fromWorkersKubernetesVersion,omitempty"`

	// toKubernetesVersion is the version to which the Cluster should be upgraded.
	// +required
	ToKubernetesVersion string `json:"toKubernetesVersion,omitempty"`
}

// GenerateUpgradePlanResponse is the response of the hook GenerateUpgradePlan.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type GenerateUpgradePlanResponse struct {
	metav1.TypeMeta        `json:",inline"`
	hooksv1.CommonResponse `json:",inline"`

	// controlPlaneUpgrades are the upgrade steps of the control plane.
	// +optional
	ControlPlaneUpgrades []UpgradeStep `json:"controlPlaneUpgrades,omitempty"`

	// workersUpgrades are the upgrade steps of the workers.
	// +optional
	WorkersUpgrades []UpgradeStep `json:"workersUpgrades,omitempty"`
}

// UpgradeStep is an upgrade to one Kubernetes version.
type UpgradeStep struct {
	// version is the Kubernetes version to which the step leads.
	// +required
	Version string `json:"version,omitempty"`
}

// GenerateUpgradePlan is called to get the intermediate versions of an upgrade.
func GenerateUpgradePlan(*GenerateUpgradePlanRequest, *GenerateUpgradePlanResponse) {}
