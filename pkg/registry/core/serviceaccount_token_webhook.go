package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// webhookTokenSeconds is the longest lifetime of a token that is bound to a webhook configuration.
const webhookTokenSeconds = 10 * 60

// everyAPIGroup is the attestation of a token for reviews of objects of each API group.
const everyAPIGroup = "*"

// webhookConfigurations has the resources of the kinds of webhook configurations, to which tokens for webhooks are bound
// (KEP-6060).
var webhookConfigurations = map[string]string{
	"ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
	"MutatingWebhookConfiguration":   "mutatingwebhookconfigurations",
}

func isWebhookConfiguration(gvk schema.GroupVersionKind) bool {
	return gvk.GroupVersion() == admissionregistrationv1.SchemeGroupVersion && webhookConfigurations[gvk.Kind] != ""
}

// webhookTokenRequest checks the audience and the attestations of a request for a token for a webhook.
func webhookTokenRequest(spec *authenticationv1.TokenRequestSpec) field.ErrorList {
	var f validation.Findings
	f.AddIf(len(spec.Audiences) != 1, field.Invalid(validation.SpecPath.Child("audiences"), spec.Audiences, "must be length 1 when bound to a webhook config"))
	const key = authenticationv1.AttestationAdmissionReviewAPIGroups
	path := validation.SpecPath.Child("attestations")
	if len(spec.Attestations) != 1 {
		return append(f.Errs, field.Invalid(path, spec.Attestations, "webhook bound requests require exactly one "+key+" attestation"))
	}
	for name, groups := range spec.Attestations {
		path := path.Key(name)
		switch {
		case name != key:
			f.Add(field.NotSupported(path, name, []string{key}))
		case len(groups) != 1:
			f.Add(field.Invalid(path, groups, "must specify a single value"))
		case groups[0] == "":
			f.Add(field.Invalid(path.Index(0), groups[0], "may not be an empty string"))
		case groups[0] != everyAPIGroup:
			for _, reason := range utilvalidation.IsDNS1123Subdomain(groups[0]) {
				f.Add(field.Invalid(path.Index(0), groups[0], "must specify a valid API Group: "+reason))
			}
		}
	}
	return f.Errs
}

// boundConfiguration returns the webhook configuration to which a token is bound, and limits the lifetime of the token. The
// service account needs permission to attest the API group, and a webhook of the configuration must have the audience.
// Apart from that permission, the error doesn't say what is wrong, because it would tell which configurations exist.
func (r *tokenREST) boundConfiguration(ctx context.Context, account *corev1.ServiceAccount, spec *authenticationv1.TokenRequestSpec) (runtime.Object, error) {
	ref := spec.BoundObjectRef
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	if gate := features.APIServerWebhookAuthenticationToken; !utilfeature.DefaultFeatureGate.Enabled(gate) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s (feature gate %s is disabled)", gvk, gate))
	}
	audience, group := spec.Audiences[0], spec.Attestations[authenticationv1.AttestationAdmissionReviewAPIGroups][0]
	if slices.Contains(r.audiences, audience) {
		return nil, apierrors.NewBadRequest("api server audiences are invalid for webhook token requests")
	}
	spec.ExpirationSeconds = ptr.To(min(ptr.Deref(spec.ExpirationSeconds, webhookTokenSeconds), webhookTokenSeconds))
	if err := r.authorizeAttestation(ctx, account, group); err != nil {
		return nil, err
	}
	configuration, err := r.configurations[ref.Kind].Get(ctx, ref.Name, &metav1.GetOptions{})
	if err == nil {
		err = checkWebhookToken(configuration, audience, group)
	}
	if err != nil {
		klog.FromContext(ctx).V(4).Info("a token for a webhook is refused", "kind", ref.Kind, "name", ref.Name, "reason", err.Error())
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts/token"}, account.Name, errors.New("token request denied"))
	}
	return configuration, nil
}

// authorizeAttestation returns an error unless a service account may attest an API group.
func (r *tokenREST) authorizeAttestation(ctx context.Context, account *corev1.ServiceAccount, group string) error {
	attributes := authorizer.AttributesRecord{
		User: serviceaccount.UserInfo(account.Namespace, account.Name, string(account.UID)),
		Verb: "attest", APIGroup: authenticationv1.GroupName, APIVersion: "*",
		Resource: authenticationv1.AttestationAdmissionReviewAPIGroups, Name: group, ResourceRequest: true,
	}
	decision, reason, err := r.authorizer.Authorize(ctx, attributes)
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil && reason != "":
		reason = fmt.Sprintf("%v: %s", err, reason)
	case err != nil:
		reason = err.Error()
	}
	return responsewriters.ForbiddenStatusError(attributes, reason)
}

// checkWebhookToken returns an error unless a webhook of a configuration has the audience, and a rule for the API group.
func checkWebhookToken(configuration runtime.Object, audience, group string) error {
	if deleted := registry.MetaOf(configuration).GetDeletionTimestamp(); deleted != nil && time.Now().After(deleted.Time) {
		return errors.New("the configuration is deleted")
	}
	if group == everyAPIGroup {
		return nil
	}
	matches := func(client admissionregistrationv1.WebhookClientConfig, rules []admissionregistrationv1.RuleWithOperations) bool {
		return audience == WebhookAudience(client) && slices.ContainsFunc(rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
			return slices.Contains(rule.APIGroups, group) || slices.Contains(rule.APIGroups, everyAPIGroup)
		})
	}
	var found bool
	switch c := configuration.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		found = slices.ContainsFunc(c.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return matches(w.ClientConfig, w.Rules) })
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		found = slices.ContainsFunc(c.Webhooks, func(w admissionregistrationv1.MutatingWebhook) bool { return matches(w.ClientConfig, w.Rules) })
	}
	if !found {
		return fmt.Errorf("no webhook has the audience %s and a rule for the API group %s", audience, group)
	}
	return nil
}

// WebhookAudience returns the audience of the tokens for a webhook: its URL, or the URL
// https://SERVICE.NAMESPACE.svc:PORT/PATH (KEP-6060).
func WebhookAudience(client admissionregistrationv1.WebhookClientConfig) string {
	if client.URL != nil {
		return *client.URL
	}
	service := cmp.Or(client.Service, &admissionregistrationv1.ServiceReference{})
	return fmt.Sprintf("https://%s.%s.svc:%d/%s", service.Name, service.Namespace, ptr.Deref(service.Port, 443),
		strings.TrimPrefix(ptr.Deref(service.Path, ""), "/"))
}
