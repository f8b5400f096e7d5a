package operator

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

// earlierVersion is the older of the two API versions of websites.
var earlierVersion = schema.GroupVersion{Group: GroupVersion.Group, Version: "v1alpha1"}

// EarlierWebsite is a website in version v1alpha1. Its field spec.copies has the name spec.replicas in v1.
type EarlierWebsite struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec EarlierWebsiteSpec `json:"spec"`
}

// EarlierWebsiteSpec has the image and the number of copies.
type EarlierWebsiteSpec struct {
	Image  string `json:"image"`
	Copies int32  `json:"copies,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (w *EarlierWebsite) DeepCopyObject() runtime.Object {
	out := *w
	out.ObjectMeta = *w.ObjectMeta.DeepCopy()
	return &out
}

// Hub marks v1 as the hub version: controller-runtime converts between other versions through v1.
func (*Website) Hub() {}

// ConvertTo implements conversion.Convertible.
func (w *EarlierWebsite) ConvertTo(hub conversion.Hub) error {
	website := hub.(*Website)
	website.ObjectMeta = w.ObjectMeta
	website.Spec = WebsiteSpec{Image: w.Spec.Image, Replicas: w.Spec.Copies}
	return nil
}

// ConvertFrom implements conversion.Convertible.
func (w *EarlierWebsite) ConvertFrom(hub conversion.Hub) error {
	website := hub.(*Website)
	w.ObjectMeta = website.ObjectMeta
	w.Spec = EarlierWebsiteSpec{Image: website.Spec.Image, Copies: website.Spec.Replicas}
	return nil
}
