package admissionwebhook

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	webhooktesting "k8s.io/apiserver/pkg/admission/plugin/webhook/testing"
	"k8s.io/utils/ptr"
)

// k8s.io/apiserver's plugin is made once, when the first webhook exists.
func TestMadeForTheFirstWebhook(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	made := 0
	p, err := newPlugin(nil, nil, newValidatingSource, func(config io.Reader, source sourceFactory, explainer *explainer, tokens TokenSource) (apiserverPlugin, error) {
		made++
		return newValidating(config, source, explainer, tokens)
	})
	if err != nil {
		t.Fatal(err)
	}
	client, factory := webhooktesting.NewFakeValidatingDataSource(namespace, nil, ctx.Done())
	start(t, p, testServer(t), webhooktesting.NewAuthenticationInfoResolver(new(int32)), client, factory)
	until := func(what string, condition func() bool) {
		t.Helper()
		err := wait.PollUntilContextTimeout(ctx, time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return condition(), nil })
		if err != nil {
			t.Fatalf("waiting for %s: %v; %d webhooks are known", what, err, len(p.source.Webhooks()))
		}
	}
	until("the informer's handler", p.source.HasSynced)
	dispatch := func() error {
		return p.dispatch(ctx, testAttributes(false, nil, false), webhooktesting.NewObjectInterfacesForTest())
	}
	if err := dispatch(); err != nil || made != 0 {
		t.Errorf("without a webhook: want k8s.io/apiserver's plugin made 0 times, got %d times and error %v", made, err)
	}

	const name = "nobody-listens.example.com"
	configurations := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err = configurations.Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "added"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:         name,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/")},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}},
			}},
			NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
			FailurePolicy: ptr.To(admissionregistrationv1.Fail), SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	until("the webhook", func() bool { return len(p.source.Webhooks()) == 1 })
	for range 2 {
		if err := dispatch(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want the request refused because %s can't be reached, got %v", name, err)
		}
	}
	if made != 1 {
		t.Errorf("with a webhook: want k8s.io/apiserver's plugin made once, got %d times", made)
	}
}

// An error in the configuration is reported when the plugin is made.
func TestMadeFromAConfiguration(t *testing.T) {
	t.Parallel()
	const wrong = "kind: WebhookAdmissionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nkubeConfigFile: relative.conf\n"
	if _, err := NewMutating(strings.NewReader(wrong), nil); err == nil {
		t.Error("want an error for a relative kubeConfigFile")
	}
	if _, err := NewValidating(strings.NewReader("nonsense"), nil); err == nil {
		t.Error("want an error for what is no configuration")
	}
}
