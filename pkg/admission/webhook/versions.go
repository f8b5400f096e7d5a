package webhook

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// versions converts the objects of a request to the versions of its webhooks, once for each version.
type versions struct {
	attributes admission.Attributes
	objects    admission.ObjectInterfaces
	converted  map[schema.GroupVersionKind]*admission.VersionedAttributes
}

// VersionedAttribute implements generic.VersionedAttributeAccessor.
func (v versions) VersionedAttribute(kind schema.GroupVersionKind) (*admission.VersionedAttributes, error) {
	if converted, ok := v.converted[kind]; ok {
		return converted, nil
	}
	converted, err := admission.NewVersionedAttributes(v.attributes, kind, v.objects)
	if err == nil {
		v.converted[kind] = converted
	}
	return converted, err
}

// versionedObject is the object of a request in the version of the last webhook.
type versionedObject struct {
	original admission.Attributes
	objects  admission.ObjectInterfaces
	// versioned is nil until a webhook needs a version.
	versioned *admission.VersionedAttributes
	reviews   reviews
	// json is nil until the first patch.
	json runtime.Decoder
}

// attributes returns the attributes that the next webhook must match.
func (o *versionedObject) attributes() admission.Attributes {
	if o.versioned == nil {
		return o.original
	}
	return o.versioned
}

// VersionedAttribute implements generic.VersionedAttributeAccessor.
func (o *versionedObject) VersionedAttribute(kind schema.GroupVersionKind) (*admission.VersionedAttributes, error) {
	var err error
	if o.versioned == nil {
		o.versioned, err = admission.NewVersionedAttributes(o.original, kind, o.objects)
	} else {
		err = admission.ConvertVersionedAttributes(o.versioned, kind, o.objects)
	}
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return o.versioned, nil
}

// writeBack copies the changed object into the request.
func (o *versionedObject) writeBack() error {
	if o.versioned == nil || o.versioned.VersionedObject.Object() == nil || !o.versioned.Dirty {
		return nil
	}
	return o.objects.GetObjectConvertor().Convert(o.versioned.VersionedObject.Object(), o.versioned.Attributes.GetObject(), nil)
}
