package admissionwebhook

import (
	"bytes"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	webhookrequest "k8s.io/apiserver/pkg/admission/plugin/webhook/request"
	webhooktesting "k8s.io/apiserver/pkg/admission/plugin/webhook/testing"
)

// The encoded reviews of one request equal the reviews that k8s.io/apiserver would encode. Each review
// has its own uid.
func TestReviewsAreEncodedAsByTheLibrary(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{admissionv1.AddToScheme, admissionv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	library := serializer.NewCodecFactory(scheme).LegacyCodec(admissionv1beta1.SchemeGroupVersion, admissionv1.SchemeGroupVersion)
	attributes := podAttributes(t)
	reviews := &reviews{}
	uids := map[types.UID]bool{}
	for _, version := range []string{"v1", "v1", "v1beta1", "v1", "v1beta1"} {
		invocation := invocationOf(version, attributes)
		got, err := reviews.encode(attributes, invocation)
		if err != nil {
			t.Fatal(err)
		}
		if uids[got.uid] {
			t.Errorf("two reviews have the uid %s", got.uid)
		}
		uids[got.uid] = true
		uid, request, _, err := webhookrequest.CreateAdmissionObjects(attributes, invocation)
		if err != nil {
			t.Fatal(err)
		}
		want, err := runtime.Encode(library, request)
		if err != nil {
			t.Fatal(err)
		}
		want = bytes.TrimSpace(bytes.Replace(want, []byte(uid), []byte(got.uid), 1))
		if !bytes.Equal(want, got.body) {
			t.Errorf("%s: want\n%s\ngot\n%s", version, want, got.body)
		}
	}
	if len(reviews.envelopes) != 2 {
		t.Errorf("want a review encoded once a version, got %d", len(reviews.envelopes))
	}
}

// After a call of reviews.forget, the object is encoded again, because a patch may have changed it in place.
func TestPatchedObjectsAreEncodedAgain(t *testing.T) {
	t.Parallel()
	attributes := podAttributes(t)
	invocation := invocationOf("v1", attributes)
	reviews := &reviews{}
	if _, err := reviews.encode(attributes, invocation); err != nil {
		t.Fatal(err)
	}
	attributes.VersionedObject.Object().(*corev1.Pod).Labels = map[string]string{"patched": "yes"}
	reviews.forget()
	got, err := reviews.encode(attributes, invocation)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(got.body, []byte(`"patched":"yes"`)) {
		t.Errorf("want the review to have the label, got\n%s", got.body)
	}
}

func podAttributes(t *testing.T) *admission.VersionedAttributes {
	t.Helper()
	attributes := webhooktesting.NewAttribute(namespace, map[string]string{"html": "<&>"}, false)
	versioned, err := admission.NewVersionedAttributes(attributes, corev1.SchemeGroupVersion.WithKind("Pod"), webhooktesting.NewObjectInterfacesForTest())
	if err != nil {
		t.Fatal(err)
	}
	return versioned
}

// invocationOf returns the invocation of a webhook that accepts one version of AdmissionReview.
func invocationOf(version string, attributes admission.Attributes) *generic.WebhookInvocation {
	hook := &admissionregistrationv1.ValidatingWebhook{Name: "hook.example.com", AdmissionReviewVersions: []string{version}}
	return &generic.WebhookInvocation{
		Webhook:  webhook.NewValidatingWebhookAccessor("uid", "configuration", hook),
		Resource: attributes.GetResource(),
		Kind:     attributes.GetKind(),
	}
}
