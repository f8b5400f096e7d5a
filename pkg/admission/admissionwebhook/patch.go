package admissionwebhook

import (
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	webhookrequest "k8s.io/apiserver/pkg/admission/plugin/webhook/request"
)

// decodePatch decodes the patch in a webhook's response. It returns nil if there is none.
func decodePatch(hook webhook.WebhookAccessor, response *webhookrequest.AdmissionResponse) (jsonpatch.Patch, error) {
	if len(response.Patch) == 0 {
		return nil, nil
	}
	patch, err := jsonpatch.DecodePatch(response.Patch)
	if err != nil {
		return nil, failed(hook.GetName(), apierrors.NewServiceUnavailable("error decoding patch in webhook response"),
			"received undecodable patch in webhook response: %w (configuration %q)", err, hook.GetConfigurationName())
	}
	return patch, nil
}

// patch applies the patch in a webhook's response, and then sets the defaults of the version. It reports whether
// the patch has changed the object.
func (o *versionedObject) patch(hook webhook.WebhookAccessor, response *webhookrequest.AdmissionResponse, patch jsonpatch.Patch) (mutated bool, err error) {
	before := o.versioned.VersionedObject.Object()
	if before == nil {
		return false, apierrors.NewInternalError(fmt.Errorf("admission webhook %q attempted to modify the object, which is not supported for this operation (configuration %q)",
			hook.GetName(), hook.GetConfigurationName()))
	}
	if response.PatchType != admissionv1.PatchTypeJSONPatch {
		return false, failed(hook.GetName(), webhookerrors.ToStatusErr(hook.GetName(), response.Result),
			"unsupported patch type %q (configuration %q)", response.PatchType, hook.GetConfigurationName())
	}
	after, err := o.patched(before, patch)
	if err != nil {
		return false, apierrors.NewInternalError(fmt.Errorf("admission webhook %q of configuration %q returned a patch that can't be applied: %w",
			hook.GetName(), hook.GetConfigurationName(), err))
	}
	mutated = !apiequality.Semantic.DeepEqual(before, after)
	o.versioned.UpdateObject(after)
	o.reviews.forget()
	o.objects.GetObjectDefaulter().Default(after)
	return mutated, nil
}

// patched returns a patched copy of the object.
func (o *versionedObject) patched(before runtime.Object, patch jsonpatch.Patch) (runtime.Object, error) {
	encoded, err := o.reviews.encodeObject(before)
	if err != nil {
		return nil, err
	}
	if encoded, err = apply(patch, encoded); err != nil {
		return nil, err
	}
	var after runtime.Object = &unstructured.Unstructured{} // objects of custom resources have this Go type
	if _, custom := before.(*unstructured.Unstructured); !custom {
		if after, err = o.objects.GetObjectCreater().New(o.versioned.VersionedKind); err != nil {
			return nil, err
		}
	}
	after, _, err = o.decoder().Decode(encoded, nil, after)
	return after, err
}

// apply applies a webhook's JSON patch to the JSON of an object.
func apply(patch jsonpatch.Patch, object []byte) (patched []byte, err error) {
	// The JSON patch library panics for some operations: a test whose value is missing or has a null, and a replacement
	// of the whole object without a value.
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the value of an operation of the patch is missing, or has a null: %v", cause)
		}
	}()
	return patch.Apply(object)
}

// decoder returns the decoder for the patched object.
func (o *versionedObject) decoder() runtime.Decoder {
	if o.json == nil {
		o.json = json.NewSerializerWithOptions(json.DefaultMetaFactory, o.objects.GetObjectCreater(), o.objects.GetObjectTyper(), json.SerializerOptions{})
	}
	return o.json
}
