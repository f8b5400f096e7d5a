package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// createWebhooks creates webhooks for flunders in the cluster. One labels them, and the other refuses the name marlin and
// passes on the other reviews.
func createWebhooks(t *testing.T, front *miniapitest.Server, reviews chan<- *admissionv1.AdmissionRequest) {
	t.Helper()
	label := front.Webhook("/label", miniapitest.AdmissionHandler(func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return miniapitest.Patched(miniapitest.Add("/metadata/labels/webhook", "labeled"))
	}))
	validate := front.Webhook("/validate", miniapitest.AdmissionHandler(func(_ context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if r.Name == "marlin" {
			return miniapitest.Denied("the name marlin is taken")
		}
		reviews <- r
		return miniapitest.Allowed()
	}))
	configurations, none := front.Client().AdmissionregistrationV1(), admissionregistrationv1.SideEffectClassNone
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{v1beta1.Group}, APIVersions: []string{v1beta1.Version}, Resources: []string{"flunders"}},
	}}
	_, err := configurations.MutatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "flunders"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "label.example.com", ClientConfig: label.ClientConfig(), Rules: rules, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = configurations.ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "flunders"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validate.example.com", ClientConfig: validate.ClientConfig(), Rules: rules, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// The cluster's policies and webhooks apply to the kinds of the server, in all versions.
func TestAdmissionOfCluster(t *testing.T) {
	t.Parallel()
	front := miniapitest.Start(t, miniapitest.WithManifests("testdata/policies.yaml"))
	reviews := make(chan *admissionv1.AdmissionRequest, 1)
	createWebhooks(t, front, reviews)
	serve(t, "--behind="+front.KubeconfigFile(), "--register=until-exit")
	ctx := t.Context()
	for _, test := range []struct {
		name, reason string
		version      schema.GroupVersion
	}{
		{"the version of the rules", "the object is reviewed as it is", v1beta1},
		{"another version", "the object is converted for policies and webhooks", v1alpha1},
	} {
		awaitAvailable(t, front, test.version.Version+"."+test.version.Group)
		flunders := front.DynamicClient().Resource(test.version.WithResource("flunders")).Namespace("default")
		_, err := flunders.Create(ctx, object(test.version, "Flunder", "nemo", nil), metav1.CreateOptions{})
		const byPolicy = "ValidatingAdmissionPolicy 'flunders' with binding 'flunders' denied request: the name nemo is reserved in default"
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), byPolicy) {
			t.Errorf("%s: %s: want %q, got %v", test.name, test.reason, byPolicy, err)
		}
		_, err = flunders.Create(ctx, object(test.version, "Flunder", "marlin", nil), metav1.CreateOptions{})
		const byWebhook = `admission webhook "validate.example.com" denied the request: the name marlin is taken`
		if !apierrors.IsForbidden(err) || err.Error() != byWebhook {
			t.Errorf("%s: %s: want %q, got %v", test.name, test.reason, byWebhook, err)
		}
		created, err := flunders.Create(ctx, object(test.version, "Flunder", "from-"+test.version.Version, nil), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		labels := map[string]string{"policy": "labeled", "webhook": "labeled"}
		if diff := cmp.Diff(labels, created.GetLabels()); diff != "" {
			t.Errorf("%s: %s: the labels (-want +got):\n%s", test.name, test.reason, diff)
		}
		review := <-reviews
		reviewed := &metav1.PartialObjectMetadata{}
		if err := json.Unmarshal(review.Object.Raw, reviewed); err != nil {
			t.Fatal(err)
		}
		got := []string{review.UserInfo.Username, string(review.Operation), schema.GroupVersionResource(review.Resource).String(), review.RequestResource.Version, reviewed.APIVersion}
		want := []string{"system:admin", "CREATE", "wardle.example.com/v1beta1, Resource=flunders", test.version.Version, v1beta1.String()}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s: the review (-want +got):\n%s", test.name, test.reason, diff)
		}
		if diff := cmp.Diff(labels, reviewed.Labels); diff != "" {
			t.Errorf("%s: %s: the labels in the review (-want +got):\n%s", test.name, test.reason, diff)
		}
	}

	// The server follows the cluster's configurations, and may know a new one some milliseconds later.
	if err := front.Client().AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(ctx, "flunders", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the name is free without the policy's binding", func() bool {
		flunders := front.DynamicClient().Resource(v1beta1.WithResource("flunders")).Namespace("default")
		_, err := flunders.Create(ctx, object(v1beta1, "Flunder", "nemo", nil), metav1.CreateOptions{})
		return err == nil
	})
}
