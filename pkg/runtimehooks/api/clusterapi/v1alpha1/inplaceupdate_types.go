package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
)

// inPlaceUpdate returns the hooks by which an extension updates a Machine in place. Without them, Cluster API
// replaces the Machine by a new Machine.
func inPlaceUpdate() []catalog.Definition {
	tags := []string{"In-Place Update Hooks"}
	return []catalog.Definition{
		catalog.Define(CanUpdateMachine, catalog.Metadata{
			Summary: "is called when a Machine differs from what it should be, and answers with the changes that the extension makes in place",
			Description: "The patches, applied to the current objects, give what the extension can bring about. They cover specs alone. " +
				"If all extensions together don't cover the difference, the Machine is replaced.",
			Tags: tags,
		}),
		catalog.Define(CanUpdateMachineSet, catalog.Metadata{
			Summary: "is called when a MachineSet differs from what it should be, and answers with the changes that the extension makes in place",
			Description: "The patches, applied to the current objects, give what the extension can bring about. They cover spec.template.spec alone. " +
				"If all extensions together don't cover the difference, the Machines are replaced.",
			Tags: tags,
		}),
		catalog.Define(UpdateMachine, catalog.Metadata{
			Summary: "is called for a Machine, and makes it what it should be",
			Description: "It is called again while the answer has retryAfterSeconds. A Success without retryAfterSeconds ends the update. " +
				"The handler must be idempotent.",
			Tags: tags,
		}),
	}
}

// Patch is a JSON patch or a JSON merge patch for an object.
type Patch struct {
	// patchType is the format of the patch.
	// +required
	PatchType PatchType `json:"patchType,omitempty"`

	// patch is the content of the patch. In JSON, it is encoded in base64.
	// +required
	Patch []byte `json:"patch,omitempty"`
}

// CanUpdateMachineRequest is the request of the hook CanUpdateMachine.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type CanUpdateMachineRequest struct {
	metav1.TypeMeta       `json:",inline"`
	hooksv1.CommonRequest `json:",inline"`

	// current is the Machine as it is.
	// +required
	Current CanUpdateMachineRequestObjects `json:"current,omitempty,omitzero"`

	// desired is the Machine as it should be.
	// +required
	Desired CanUpdateMachineRequestObjects `json:"desired,omitempty,omitzero"`
}

// CanUpdateMachineRequestObjects are a Machine and the objects that it refers to.
type CanUpdateMachineRequestObjects struct {
	// machine is the Machine in its current or its desired state.
	// +required
	Machine runtime.RawExtension `json:"machine,omitempty,omitzero"`

	// infrastructureMachine is the Machine of the infrastructure provider.
	// +required
	InfrastructureMachine runtime.RawExtension `json:"infrastructureMachine,omitempty,omitzero"`

	// bootstrapConfig is the configuration of the bootstrap provider.
	// +optional
	BootstrapConfig runtime.RawExtension `json:"bootstrapConfig,omitempty,omitzero"`
}

// CanUpdateMachineResponse is the response of the hook CanUpdateMachine.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type CanUpdateMachineResponse struct {
	metav1.TypeMeta        `json:",inline"`
	hooksv1.CommonResponse `json:",inline"`

	// machinePatch contains the changes of the Machine that the extension can make in place.
	// +optional
	MachinePatch Patch `json:"machinePatch,omitempty,omitzero"`

	// infrastructureMachinePatch contains the changes of the infrastructure provider's object that the extension
	// can make in place.
	// +optional
	InfrastructureMachinePatch Patch `json:"infrastructureMachinePatch,omitempty,omitzero"`

	// bootstrapConfigPatch contains the changes of the bootstrap provider's object that the extension can make in
	// place.
	// +optional
	BootstrapConfigPatch Patch `json:"bootstrapConfigPatch,omitempty,omitzero"`
}

// CanUpdateMachine is called before a Machine is updated. The response says which differences between the current
// and the desired Machine the extension can remove in place.
func CanUpdateMachine(*CanUpdateMachineRequest, *CanUpdateMachineResponse) {}

// CanUpdateMachineSetRequest is the request of the hook CanUpdateMachineSet.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type CanUpdateMachineSetRequest struct {
	metav1.TypeMeta       `json:",inline"`
	hooksv1.CommonRequest `json:",inline"`

	// current is the MachineSet as it is.
	// +required
	Current CanUpdateMachineSetRequestObjects `json:"current,omitempty,omitzero"`

	// desired is the MachineSet as it should be.
	// +required
	Desired CanUpdateMachineSetRequestObjects `json:"desired,omitempty,omitzero"`
}

// CanUpdateMachineSetRequestObjects are a MachineSet and the templates that it refers to.
type CanUpdateMachineSetRequestObjects struct {
	// machineSet is the MachineSet in its current or its desired state.
	// +required
	MachineSet runtime.RawExtension `json:"machineSet,omitempty,omitzero"`

	// infrastructureMachineTemplate is the template of the infrastructure provider.
	// +required
	InfrastructureMachineTemplate runtime.RawExtension `json:"infrastructureMachineTemplate,omitempty,omitzero"`

	// bootstrapConfigTemplate is the template of the bootstrap provider.
	// +optional
	BootstrapConfigTemplate runtime.RawExtension `json:"bootstrapConfigTemplate,omitempty,omitzero"`
}

// CanUpdateMachineSetResponse is the response of the hook CanUpdateMachineSet.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type CanUpdateMachineSetResponse struct {
	metav1.TypeMeta        `json:",inline"`
	hooksv1.CommonResponse `json:",inline"`

	// machineSetPatch contains the changes of the MachineSet that the extension can make in place.
	// +optional
	MachineSetPatch Patch `json:"machineSetPatch,omitempty,omitzero"`

	// infrastructureMachineTemplatePatch contains the changes of the infrastructure provider's template that the
	// extension can make in place.
	// +optional
	InfrastructureMachineTemplatePatch Patch `json:"infrastructureMachineTemplatePatch,omitempty,omitzero"`

	// bootstrapConfigTemplatePatch contains the changes of the bootstrap provider's template that the extension can
	// make in place.
	// +optional
	BootstrapConfigTemplatePatch Patch `json:"bootstrapConfigTemplatePatch,omitempty,omitzero"`
}

// CanUpdateMachineSet is called before the Machines of a MachineSet are updated. The response says which
// differences between the current and the desired MachineSet the extension can remove in place.
func CanUpdateMachineSet(*CanUpdateMachineSetRequest, *CanUpdateMachineSetResponse) {}

// UpdateMachineRequest is the request of the hook UpdateMachine.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type UpdateMachineRequest struct {
	metav1.TypeMeta       `json:",inline"`
	hooksv1.CommonRequest `json:",inline"`

	// desired is the Machine as it should be.
	// +required
	Desired UpdateMachineRequestObjects `json:"desired,omitempty,omitzero"`
}

// UpdateMachineRequestObjects are a Machine and the objects that it refers to.
type UpdateMachineRequestObjects struct {
	// machine is the Machine in its desired state.
	// +required
	Machine runtime.RawExtension `json:"machine,omitempty,omitzero"`

	// infrastructureMachine is the Machine of the infrastructure provider.
	// +required
	InfrastructureMachine runtime.RawExtension `json:"infrastructureMachine,omitempty,omitzero"`

	// bootstrapConfig is the configuration of the bootstrap provider.
	// +optional
	BootstrapConfig runtime.RawExtension `json:"bootstrapConfig,omitempty,omitzero"`
}

// UpdateMachineResponse is the response of the hook UpdateMachine.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type UpdateMachineResponse struct {
	metav1.TypeMeta             `json:",inline"`
	hooksv1.CommonRetryResponse `json:",inline"`
}

// UpdateMachine changes a Machine in place, until it is as desired.
func UpdateMachine(*UpdateMachineRequest, *UpdateMachineResponse) {}
