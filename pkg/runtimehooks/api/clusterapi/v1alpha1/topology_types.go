package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
)

// topology returns the hooks by which extensions take part in the topology of Clusters.
func topology() []catalog.Definition {
	tags := []string{"Topology Mutation Hook"}
	return []catalog.Definition{
		catalog.Define(GeneratePatches, catalog.Metadata{
			Summary: "is called while the topology of a Cluster is computed, and answers with patches for templates",
			Description: "The request has all templates of the ClusterClass, and the variables by which the patches may differ. " +
				"The caller applies the patches in the order of the response. The answer must be deterministic.",
			Tags: tags,
		}),
		catalog.Define(ValidateTopology, catalog.Metadata{
			Summary:     "is called when all patches are applied to the templates of a Cluster, and judges the result",
			Description: "The request has all templates, and the variables. A Failure refuses the topology.",
			Tags:        tags,
		}),
		catalog.Define(DiscoverVariables, catalog.Metadata{
			Summary:     "is called for a ClusterClass, and answers with the variables that the patches of the extension take",
			Description: "The response has the schemas of all variables.",
			Tags:        tags,
		}),
	}
}

// PatchType is the format of a patch.
// +enum
type PatchType string

const (
	// JSONPatchType is a JSON patch (RFC 6902).
	JSONPatchType PatchType = "JSONPatch"
	// JSONMergePatchType is a JSON merge patch (RFC 7386).
	JSONMergePatchType PatchType = "JSONMergePatch"
)

// Variable is a variable of a ClusterClass, with its value.
type Variable struct {
	// name is the name of the variable.
	// +required
	Name string `json:"name"`

	// value is any JSON.
	// +required
	Value JSON `json:"value"`
}

// HolderReference names the object that uses a template, such as a MachineDeployment.
type HolderReference struct {
	// apiVersion is the group and the version of the object, such as cluster.x-k8s.io/v1beta2.
	// +required
	APIVersion string `json:"apiVersion"`

	// kind is the kind of the object, such as MachineDeployment.
	// +required
	Kind string `json:"kind"`

	// namespace is the namespace of the object that uses the template.
	// +required
	Namespace string `json:"namespace"`

	// name is the name of the object that uses the template.
	// +required
	Name string `json:"name"`

	// fieldPath is the path of the object's field that refers to the template.
	// +required
	FieldPath string `json:"fieldPath"`
}

// GeneratePatchesRequest is the request of the hook GeneratePatches.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type GeneratePatchesRequest struct {
	metav1.TypeMeta       `json:",inline"`
	hooksv1.CommonRequest `json:",inline"`

	// variables apply to all templates.
	// +optional
	Variables []Variable `json:"variables,omitempty"`

	// items are the templates to patch.
	// +required
	Items []GeneratePatchesRequestItem `json:"items"`
}

// GeneratePatchesRequestItem is a template to patch.
type GeneratePatchesRequestItem struct {
	// uid identifies the template. A patch in the response has the uid of its template.
	// +required
	UID types.UID `json:"uid"`

	// holderReference names the object that uses the template.
	// +required
	HolderReference HolderReference `json:"holderReference"`

	// object is the template to patch.
	// +required
	Object runtime.RawExtension `json:"object"`

	// variables apply only to this template.
	// +optional
	Variables []Variable `json:"variables,omitempty"`
}

// GeneratePatchesResponse is the response of the hook GeneratePatches.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type GeneratePatchesResponse struct {
	metav1.TypeMeta        `json:",inline"`
	hooksv1.CommonResponse `json:",inline"`

	// items are the patches, in the order in which the caller applies them.
	// +optional
	Items []GeneratePatchesResponseItem `json:"items,omitempty"`
}

// GeneratePatchesResponseItem is a patch for a template.
type GeneratePatchesResponseItem struct {
	// uid is the uid of the template in the request.
	// +required
	UID types.UID `json:"uid"`

	// patchType is the format of the patch.
	// +required
	PatchType PatchType `json:"patchType"`

	// patch is the content of the patch. In JSON, it is encoded in base64.
	// +required
	Patch []byte `json:"patch"`
}

// GeneratePatches is called to get an extension's patches for the templates of a Cluster.
func GeneratePatches(*GeneratePatchesRequest, *GeneratePatchesResponse) {}

// ValidateTopologyRequest is the request of the hook ValidateTopology.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ValidateTopologyRequest struct {
	metav1.TypeMeta       `json:",inline"`
	hooksv1.CommonRequest `json:",inline"`

	// variables apply to all templates.
	// +optional
	Variables []Variable `json:"variables,omitempty"`

	// items are the templates to validate.
	// +required
	Items []ValidateTopologyRequestItem `json:"items"`
}

// ValidateTopologyRequestItem is a template to validate.
type ValidateTopologyRequestItem struct {
	// holderReference names the object that uses the template.
	// +required
	HolderReference HolderReference `json:"holderReference"`

	// object is the template with all patches.
	// +required
	Object runtime.RawExtension `json:"object"`

	// variables apply only to this template.
	// +optional
	Variables []Variable `json:"variables,omitempty"`
}

// ValidateTopologyResponse is the response of the hook ValidateTopology.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ValidateTopologyResponse struct {
	metav1.TypeMeta        `json:",inline"`
	hooksv1.CommonResponse `json:",inline"`
}

// ValidateTopology is called after all patches have been applied to the templates of a Cluster.
func ValidateTopology(*ValidateTopologyRequest, *ValidateTopologyResponse) {}

// DiscoverVariablesRequest is the request of the hook DiscoverVariables.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type DiscoverVariablesRequest struct {
	metav1.TypeMeta       `json:",inline"`
	hooksv1.CommonRequest `json:",inline"`
}

// DiscoverVariablesResponse is the response of the hook DiscoverVariables.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type DiscoverVariablesResponse struct {
	metav1.TypeMeta        `json:",inline"`
	hooksv1.CommonResponse `json:",inline"`

	// variables are the variables that the extension's patches use.
	// +optional
	Variables []ClusterClassVariable `json:"variables,omitempty"`
}

// ClusterClassVariable declares a variable of a ClusterClass. Clusters set the variable, and patches use its value.
type ClusterClassVariable struct {
	// name is the name of the variable.
	// +required
	Name string `json:"name,omitempty"`

	// required says whether each Cluster must set the variable.
	// +required
	Required *bool `json:"required,omitempty"`

	// deprecatedV1Beta1Metadata is metadata for tools. The field x-metadata of the schema replaces it.
	// +optional
	DeprecatedV1Beta1Metadata ClusterClassVariableMetadata `json:"deprecatedV1Beta1Metadata,omitempty,omitzero"`

	// schema is the schema of the variable's value.
	// +required
	Schema VariableSchema `json:"schema,omitempty,omitzero"`
}

// ClusterClassVariableMetadata is metadata of a variable.
type ClusterClassVariableMetadata struct {
	// labels are labels of the variable.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// annotations are annotations of the variable.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// VariableSchema is the schema of a variable's value.
type VariableSchema struct {
	// openAPIV3Schema is a schema in the form of custom resource definitions.
	// +required
	OpenAPIV3Schema JSON `json:"openAPIV3Schema,omitempty,omitzero"`
}

// DiscoverVariables is called to get the variables that an extension adds to a ClusterClass.
func DiscoverVariables(*DiscoverVariablesRequest, *DiscoverVariablesResponse) {}
