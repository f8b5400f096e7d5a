// Package operator is an example of an operator: a custom resource for websites, a controller and webhooks, built on
// controller-runtime. Its tests show how to use package miniapitest. For a webhook without a controller, see package
// webhook.
package operator

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// GroupVersion is the group and version of websites.
var GroupVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

// Scheme returns a scheme with websites and the types of Kubernetes.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	scheme.AddKnownTypes(GroupVersion, &Website{}, &WebsiteList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	scheme.AddKnownTypeWithName(earlierVersion.WithKind("Website"), &EarlierWebsite{})
	metav1.AddToGroupVersion(scheme, earlierVersion)
	return scheme, nil
}

// Website is a custom resource. For each Website, the controller makes a Deployment with the same name.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec WebsiteSpec `json:"spec"`
}

// WebsiteSpec has the image and the number of replicas.
type WebsiteSpec struct {
	Image    string `json:"image"`
	Replicas int32  `json:"replicas,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (w *Website) DeepCopyObject() runtime.Object {
	out := *w
	out.ObjectMeta = *w.ObjectMeta.DeepCopy()
	return &out
}

// WebsiteList is a list of websites.
type WebsiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Website `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *WebsiteList) DeepCopyObject() runtime.Object {
	out := &WebsiteList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Website))
	}
	return out
}
