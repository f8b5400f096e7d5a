package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Flunder refers to a flunder or to a fischer.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type Flunder struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              FlunderSpec `json:"spec,omitzero"`
}

// FlunderSpec has at most one of the references.
type FlunderSpec struct {
	// FlunderReference is the name of another flunder.
	FlunderReference string `json:"flunderReference,omitempty"`
	// FischerReference is the name of a fischer.
	FischerReference string `json:"fischerReference,omitempty"`
	// ReferenceType is the kind of the reference: Flunder or Fischer.
	ReferenceType string `json:"referenceType,omitempty"`
}

// FlunderList is a list of flunders.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type FlunderList struct {
	metav1.TypeMeta `json:""`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Flunder `json:"items"`
}
