// Package webhooktokens has the tokens by which a server authenticates itself to admission webhooks (KEP-6060).
//
// [Tokens] implements the TokenSource of package admissionwebhook. Don't use the package for tokens that clients request: package
// core issues them.
package webhooktokens

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	admissionlisters "k8s.io/client-go/listers/admissionregistration/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/core"
)

const (
	// account is the service account of the tokens, in the namespace kube-system. The server creates it.
	account = "webhook-auth"
	// lifetime is the lifetime of a token. A call presents a token only if the token is valid for another minute, because
	// the clock of the webhook may differ.
	lifetime, unused = 10 * time.Minute, time.Minute
)

// Tokens issues the tokens, and keeps each until shortly before it expires.
type Tokens struct {
	// Accounts reads the service account.
	Accounts corev1client.ServiceAccountsGetter
	// Create creates the service account without admission, because admission may call a webhook that needs a token.
	Create func(context.Context, runtime.Object) (runtime.Object, error)
	Issuer core.TokenIssuer

	Validating admissionlisters.ValidatingWebhookConfigurationLister
	Mutating   admissionlisters.MutatingWebhookConfigurationLister

	// Life ends when the server stops.
	Life context.Context

	mu   sync.Mutex
	kept map[recipient]authenticationv1.TokenRequestStatus
}

// recipient is what a token is for: a webhook configuration, and the audience of a webhook in it.
type recipient struct {
	configuration types.UID
	audience      string
}

// Token returns the token for a webhook. A webhook of a static manifest gets none, because a token is bound to the object of
// a webhook configuration, and neither does the API of an aggregated server, which this server calls as itself.
func (t *Tokens) Token(hook webhook.WebhookAccessor) (string, error) {
	configuration, client, err := t.configuration(hook)
	if apierrors.IsNotFound(err) || err == nil && isSelf(client) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	to := recipient{configuration.(metav1.Object).GetUID(), core.WebhookAudience(client)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if kept, ok := t.kept[to]; ok && !expires(kept) {
		return kept.Token, nil
	}
	issued, err := t.issue(configuration, to.audience)
	if err != nil {
		return "", fmt.Errorf("issuing a token for service account %s/%s: %w", metav1.NamespaceSystem, account, err)
	}
	maps.DeleteFunc(t.kept, func(_ recipient, kept authenticationv1.TokenRequestStatus) bool { return expires(kept) })
	if t.kept == nil {
		t.kept = map[recipient]authenticationv1.TokenRequestStatus{}
	}
	t.kept[to] = issued
	return issued.Token, nil
}

func expires(kept authenticationv1.TokenRequestStatus) bool {
	return time.Until(kept.ExpirationTimestamp.Time) < unused
}

// configuration returns the object of a webhook's configuration, and the address of the webhook.
func (t *Tokens) configuration(hook webhook.WebhookAccessor) (runtime.Object, admissionregistrationv1.WebhookClientConfig, error) {
	if mutating, ok := hook.GetMutatingWebhook(); ok {
		configuration, err := t.Mutating.Get(hook.GetConfigurationName())
		return configuration, mutating.ClientConfig, err
	}
	validating, _ := hook.GetValidatingWebhook()
	configuration, err := t.Validating.Get(hook.GetConfigurationName())
	return configuration, validating.ClientConfig, err
}

// isSelf reports whether a webhook is an aggregated API, whose address is the address of this server.
func isSelf(client admissionregistrationv1.WebhookClientConfig) bool {
	service := client.Service
	return service != nil && service.Namespace == metav1.NamespaceDefault && service.Name == "kubernetes" && ptr.Deref(service.Port, 443) == 443
}

func (t *Tokens) issue(configuration runtime.Object, audience string) (authenticationv1.TokenRequestStatus, error) {
	owner, err := t.account()
	if err != nil {
		return authenticationv1.TokenRequestStatus{}, err
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences:         []string{audience},
		ExpirationSeconds: ptr.To(int64(lifetime.Seconds())),
		Attestations: map[string]authenticationv1.AttestationValue{
			authenticationv1.AttestationAdmissionReviewAPIGroups: {"*"}, // this server reviews objects of each API group
		},
	}}
	err = t.Issuer.IssueToken(t.Life, owner, request, configuration)
	return request.Status, err
}

func (t *Tokens) account() (*corev1.ServiceAccount, error) {
	owner, err := t.Accounts.ServiceAccounts(metav1.NamespaceSystem).Get(t.Life, account, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return owner, err
	}
	created, err := t.Create(t.Life, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: metav1.NamespaceSystem}})
	if err != nil {
		return nil, err
	}
	return created.(*corev1.ServiceAccount), nil
}
