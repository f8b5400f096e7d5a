package builtin

import (
	"github.com/miniapi-dev/miniapi/pkg/registry/admissionregistration"
	"github.com/miniapi-dev/miniapi/pkg/registry/authentication"
	"github.com/miniapi-dev/miniapi/pkg/registry/authorization"
	"github.com/miniapi-dev/miniapi/pkg/registry/core"
	"github.com/miniapi-dev/miniapi/pkg/registry/core/connect"
	"github.com/miniapi-dev/miniapi/pkg/registry/core/service"
	"github.com/miniapi-dev/miniapi/pkg/registry/rbac"
)

// Parts returns the parts of a server that the kinds of the table need, for Dependencies.Parts.
func Parts(
	kubelet connect.Kubelet,
	calls admissionregistration.WebhookCalls,
	tokens authentication.Tokens,
	rules authorization.Rules,
	probes core.EtcdProbes,
	ttl core.EventTTL,
	namespaces core.NamespaceController,
	accountTokens core.ServiceAccountTokens,
	escalation rbac.Escalation,
	network service.Network,
) []any {
	return []any{kubelet, calls, tokens, rules, probes, ttl, namespaces, accountTokens, escalation, network}
}
