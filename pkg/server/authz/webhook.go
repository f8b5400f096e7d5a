package authz

import (
	"context"
	"fmt"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook"
	webhookmetrics "k8s.io/apiserver/plugin/pkg/authorizer/webhook/metrics"

	"github.com/miniapi-dev/miniapi/pkg/server/outgoing"
)

func newWebhook(open context.Context, configured apiserver.AuthorizerConfiguration) (ruledAuthorizer, error) {
	hook := configured.Webhook
	file := *hook.ConnectionInfo.KubeConfigFile
	client, err := webhookutil.LoadKubeconfig(file, outgoing.New(open).Dial)
	if err != nil {
		return nil, fmt.Errorf("authorization webhook %s: kubeconfig %s: %w", configured.Name, file, err)
	}
	client.Timeout = hook.Timeout.Duration

	onError := authorizer.DecisionNoOpinion
	if hook.FailurePolicy == apiserver.FailurePolicyDeny {
		onError = authorizer.DecisionDeny
	}
	// If the configuration turns the cache for allowed or for refused requests off, the time for cached answers is 0.
	authorizedTTL, unauthorizedTTL := hook.AuthorizedTTL.Duration, hook.UnauthorizedTTL.Duration
	if !hook.CacheAuthorizedRequests {
		authorizedTTL = 0
	}
	if !hook.CacheUnauthorizedRequests {
		unauthorizedTTL = 0
	}
	built, err := webhook.New(client, hook.SubjectAccessReviewVersion, authorizedTTL, unauthorizedTTL,
		*genericoptions.DefaultAuthWebhookRetryBackoff(), onError, hook.MatchConditions, configured.Name,
		webhookMetrics{WebhookMetrics: webhookmetrics.NewWebhookMetrics(), MatcherMetrics: authorizationcel.NewMatcherMetrics()},
		authorizationcel.NewDefaultCompiler())
	if err != nil {
		return nil, fmt.Errorf("authorization webhook %s: %w", configured.Name, err)
	}
	return built, nil
}

// webhookMetrics are kube-apiserver's metrics of authorization webhooks.
type webhookMetrics struct {
	webhookmetrics.NoopRequestMetrics
	webhookmetrics.WebhookMetrics
	authorizationcel.MatcherMetrics
}
