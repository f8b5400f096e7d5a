package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource returns the name of a resource of the group.
func Resource(name string) schema.GroupResource {
	return schema.GroupResource{Group: "wardle.example.com", Resource: name}
}

// Flunder refers to a flunder or to a fischer.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type Flunder struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              FlunderSpec `json:"spec,omitzero"`
}

// FlunderSpec has one reference, whose kind is a field of its own.
type FlunderSpec struct {
	// Reference is the name of another flunder or of a fischer.
	Reference string `json:"reference,omitempty"`
	// ReferenceType is the kind of the reference: Flunder, which is the default, or Fischer.
	ReferenceType string `json:"referenceType,omitempty"`
}

// FlunderList is a list of flunders.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type FlunderList struct {
	metav1.TypeMeta `json:""`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Flunder `json:"items"`
}

// Fischer bans names of flunders.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type Fischer struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// DisallowedFlunders are names that no flunder may have.
	// +listType=atomic
	DisallowedFlunders []string `json:"disallowedFlunders,omitempty"`
}

// FischerList is a list of fischers.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type FischerList struct {
	metav1.TypeMeta `json:""`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Fischer `json:"items"`
}

// Catch counts the flunders of a namespace. The server computes it for each request, and stores nothing.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type Catch struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Flunders          int32 `json:"flunders"`
}

// CatchList is a list of catches.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type CatchList struct {
	metav1.TypeMeta `json:""`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Catch `json:"items"`
}
