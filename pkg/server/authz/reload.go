package authz

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/server/options/authorizationconfig/metrics"

	"github.com/miniapi-dev/miniapi/pkg/server/reload"
)

// reloaded decides by the authorizers of the last valid content of the file of --authorization-config.
type reloaded struct {
	current *reload.Current[ruledAuthorizer]
}

// Authorize implements authorizer.Authorizer.
func (r *reloaded) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	now, done := r.current.Use()
	defer done()
	return now.Authorize(ctx, a)
}

// ConditionsAwareAuthorize implements authorizer.Authorizer.
func (r *reloaded) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	now, done := r.current.Use()
	defer done()
	return now.ConditionsAwareAuthorize(ctx, a)
}

// EvaluateConditions implements authorizer.Authorizer.
func (r *reloaded) EvaluateConditions(ctx context.Context, decision authorizer.ConditionsAwareDecision, data authorizer.ConditionsData) (authorizer.Decision, string, error) {
	now, done := r.current.Use()
	defer done()
	return now.EvaluateConditions(ctx, decision, data)
}

// RulesFor implements authorizer.RuleResolver.
func (r *reloaded) RulesFor(ctx context.Context, u user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	now, done := r.current.Use()
	defer done()
	return now.RulesFor(ctx, u, namespace)
}

// follow returns the file of --authorization-config. The server reads the file again when it changes (KEP-3221).
// Connections to the webhooks of the file end with life.
func (o *Options) follow(life context.Context, data []byte, builtIn chain, current *reloaded, apiServerID string) *reload.File {
	metrics.RegisterMetrics()
	metrics.RecordAuthorizationConfigLastConfigInfo(apiServerID, string(data))
	return &reload.File{
		Flag: "authorization-config", Path: o.ConfigFile, Seen: data,
		Succeeded: func(data string) { metrics.RecordAuthorizationConfigAutomaticReloadSuccess(apiServerID, data) },
		Failed:    func() { metrics.RecordAuthorizationConfigAutomaticReloadFailure(apiServerID) },
		Apply: func(_ context.Context, data []byte) error {
			config, err := o.parse(data)
			if err != nil {
				return err
			}
			if err := builtIn.unchanged(config); err != nil {
				return err
			}
			next, end, err := builtIn.with(life, config)
			if err != nil {
				return err
			}
			current.current.Replace(next, end)
			return nil
		},
	}
}

// unchanged returns an error if a configuration has other types of authorizers than the chain. Webhooks don't count, and
// the order of the authorizers may change.
func (c chain) unchanged(config *apiserver.AuthorizationConfiguration) error {
	types := map[apiserver.AuthorizerType]bool{}
	for _, configured := range config.Authorizers {
		if configured.Type != ModeWebhook {
			types[configured.Type] = true
		}
	}
	had, has := slices.Sorted(maps.Keys(c)), slices.Sorted(maps.Keys(types))
	if !slices.Equal(had, has) {
		return fmt.Errorf("the types of the authorizers, except %s, are %v: must be %v, as at the start of the server", ModeWebhook, has, had)
	}
	return nil
}
