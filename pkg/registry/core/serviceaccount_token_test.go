package core_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/core"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// plainIssuer is a TokenIssuer that writes the same token into each request.
type plainIssuer struct{}

func (plainIssuer) IssueToken(_ context.Context, _ *corev1.ServiceAccount, request *authenticationv1.TokenRequest, _ ...runtime.Object) error {
	request.Status.Token = "signed"
	return nil
}

func TestTokenRequest(t *testing.T) {
	t.Parallel()
	s := registrytest.New(t, builtin.Table(), registry.Dependencies{
		Parts: []any{core.ServiceAccountTokens{Issuer: plainIssuer{}, Audiences: []string{"here"}}},
	})
	accounts, pods := s.Store(corev1.Resource("serviceaccounts")), s.Store(corev1.Resource("pods"))
	create := func(store *registry.Storage, obj runtime.Object) metav1.Object {
		t.Helper()
		builtin.Table().Scheme().Default(obj)
		created, err := store.Create(s.Context, obj, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return registry.MetaOf(created)
	}
	account := create(accounts, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "sa", Namespace: "ns"}})
	create(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "mine", Namespace: "ns"}, Spec: corev1.PodSpec{
		ServiceAccountName: "sa", NodeName: "gone",
		Containers: []corev1.Container{{Name: "c", Image: "i", TerminationMessagePolicy: "File", ImagePullPolicy: "Always"}},
	}})
	storage := s.Storage(corev1.Resource("serviceaccounts"), "serviceaccounts/token")

	seconds := func(n int64) *int64 { return &n }
	bound := func(kind, name string) *authenticationv1.BoundObjectReference {
		return &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: kind, Name: name, UID: "u"}
	}
	for _, test := range []struct {
		name, account string
		request       authenticationv1.TokenRequest
		want, reason  string
	}{
		{"plain", "sa", authenticationv1.TokenRequest{}, "", "all fields of a request are optional"},
		{
			"own uid", "sa",
			authenticationv1.TokenRequest{ObjectMeta: metav1.ObjectMeta{Name: "sa", Namespace: "ns", UID: account.GetUID()}},
			"", "a request may repeat the metadata of the account",
		},
		{
			"other uid", "sa", authenticationv1.TokenRequest{ObjectMeta: metav1.ObjectMeta{UID: "other"}},
			`Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "sa": the UID in the token request (other) does not match the UID of the service account (` +
				string(account.GetUID()) + `)`,
			"a new account may have the name of a deleted account",
		},
		{
			"other name", "sa", authenticationv1.TokenRequest{ObjectMeta: metav1.ObjectMeta{Name: "other"}},
			`TokenRequest.authentication.k8s.io "sa" is invalid: metadata.name: Invalid value: "other": must match the service account name if specified`,
			"the path names the account",
		},
		{
			"other namespace", "sa", authenticationv1.TokenRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "other"}},
			`TokenRequest.authentication.k8s.io "sa" is invalid: metadata.namespace: Invalid value: "other": must match the service account namespace if specified`,
			"the path names the namespace",
		},
		{
			"too short", "sa", authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: seconds(1)}},
			`TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes`,
			"the error names the kind, and no name",
		},
		{"no account", "sb", authenticationv1.TokenRequest{}, `serviceaccounts "sb" not found`, "a token needs an account"},
		{
			"no secret", "sa",
			authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: bound("Secret", "s")}},
			`secrets "s" not found`, "the error names the resource of the missing object, not that of the request",
		},
		{
			"no node", "sa", authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: bound("Node", "n")}},
			`nodes "n" not found`, "the error names the resource of the missing object, not that of the request",
		},
		{
			"another pod's account", "sa",
			authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: bound("Pod", "mine")}},
			`Operation cannot be fulfilled on Pod "mine": the UID in the bound object reference (u) does not match the UID in record. ` +
				`The object might have been deleted and then recreated`,
			"a new pod may have the name of a deleted pod",
		},
		{
			"another kind", "sa",
			authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: bound("ConfigMap", "c")}},
			"cannot bind token to object of type /v1, Kind=ConfigMap",
			"only a pod, a secret and a node have an end that a token can share",
		},
		{
			"webhook", "sa", webhookToken([]string{"https://hook"}, map[string]authenticationv1.AttestationValue{"admissionReviewAPIGroups": {"apps"}}),
			"cannot bind token to object of type admissionregistration.k8s.io/v1, Kind=ValidatingWebhookConfiguration (feature gate APIServerWebhookAuthenticationToken is disabled)",
			"the feature gate is off by default",
		},
		{
			"webhook without attestation", "sa", webhookToken([]string{"https://hook"}, nil),
			`TokenRequest.authentication.k8s.io "" is invalid: spec.attestations: Invalid value: null: webhook bound requests require exactly one admissionReviewAPIGroups attestation`,
			"the token says for which objects the webhook may be called",
		},
		{
			"webhook with two audiences", "sa",
			webhookToken([]string{"a", "b"}, map[string]authenticationv1.AttestationValue{"admissionReviewAPIGroups": {"*"}}),
			`TokenRequest.authentication.k8s.io "" is invalid: spec.audiences: Invalid value: ["a","b"]: must be length 1 when bound to a webhook config`,
			"the token is for one webhook",
		},
		{
			"unknown attestation", "sa", webhookToken([]string{"a"}, map[string]authenticationv1.AttestationValue{"b": {"*"}}),
			`TokenRequest.authentication.k8s.io "" is invalid: spec.attestations[b]: Unsupported value: "b": supported values: "admissionReviewAPIGroups"`,
			"the server attests only what it knows",
		},
		{
			"several groups", "sa",
			webhookToken([]string{"a"}, map[string]authenticationv1.AttestationValue{"admissionReviewAPIGroups": {"apps", "batch"}}),
			`TokenRequest.authentication.k8s.io "" is invalid: spec.attestations[admissionReviewAPIGroups]: Invalid value: ["apps","batch"]: must specify a single value`,
			"a token is for the objects of one API group",
		},
		{
			"core group", "sa",
			webhookToken([]string{"a"}, map[string]authenticationv1.AttestationValue{"admissionReviewAPIGroups": {""}}),
			`TokenRequest.authentication.k8s.io "" is invalid: spec.attestations[admissionReviewAPIGroups][0]: Invalid value: "": may not be an empty string`,
			"in a permission, an empty name stands for all names",
		},
		{
			"attestation of a pod's token", "sa", authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
				BoundObjectRef: bound("Pod", "mine"),
				Attestations:   map[string]authenticationv1.AttestationValue{"admissionReviewAPIGroups": {"apps"}},
			}},
			`TokenRequest.authentication.k8s.io "" is invalid: spec.attestations: Invalid value: {"admissionReviewAPIGroups":["apps"]}: attestations may only be specified with a webhook bound object reference`,
			"only tokens for webhooks attest something",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx := genericapirequest.WithRequestInfo(s.Context, &genericapirequest.RequestInfo{
				IsResourceRequest: true, APIVersion: "v1", Resource: "serviceaccounts", Subresource: "token",
				Name: test.account, Namespace: "ns",
			})
			obj, err := storage.(rest.NamedCreater).Create(ctx, test.account, &test.request, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
			if got := errorText(err); got != test.want {
				t.Errorf("%s: error (-want +got):\n%s", test.reason, cmp.Diff(test.want, got))
			}
			if err != nil {
				return
			}
			got := obj.(*authenticationv1.TokenRequest)
			if got.Name != "sa" || got.Namespace != "ns" || got.UID != account.GetUID() || got.Status.Token != "signed" || !cmp.Equal(got.Spec.Audiences, []string{"here"}) {
				t.Errorf("%s: answered with %+v", test.reason, got)
			}
		})
	}
}

// webhookToken returns a request for a token that is bound to a ValidatingWebhookConfiguration.
func webhookToken(audiences []string, attestations map[string]authenticationv1.AttestationValue) authenticationv1.TokenRequest {
	return authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: audiences, Attestations: attestations,
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "admissionregistration.k8s.io/v1",
			Kind: "ValidatingWebhookConfiguration", Name: "hooks"},
	}}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
