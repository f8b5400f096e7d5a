package admissionwebhook

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// versions converts the object of a request to the versions that webhooks accept, once for each version.
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

// versionedObject is the object of a request while mutating webhooks change it. It has the version of the last
// conversion.
type versionedObject struct {
	original admission.Attributes
	objects  admission.ObjectInterfaces
	// versioned is nil until the first conversion.
	versioned *admission.VersionedAttributes
	reviews   reviews
	// json is the decoder of patched objects. It is nil until the first patch.
	json runtime.Decoder
}

// attributes returns the attributes that the next webhook is compared with.
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

// writeBack converts the object back into the request's object, if a webhook has changed it.
func (o *versionedObject) writeBack() error {
	if o.versioned == nil || o.versioned.VersionedObject.Object() == nil || !o.versioned.Dirty {
		return nil
	}
	return o.objects.GetObjectConvertor().Convert(o.versioned.VersionedObject.Object(), o.versioned.Attributes.GetObject(), nil)
}
