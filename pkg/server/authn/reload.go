package authn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/server/options/authenticationconfig/metrics"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/server/reload"
)

// readyInterval is the interval at which the server checks whether an authenticator of JWTs has read the URL of
// its issuer's keys. The authenticator sends no signal.
const readyInterval = 10 * time.Millisecond

// reloaded authenticates bearer tokens by the last valid content of the file of --authentication-config.
type reloaded struct {
	current *reload.Current[authenticator.Token]
}

// AuthenticateToken implements authenticator.Token.
func (r *reloaded) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	now, done := r.current.Use()
	defer done()
	return now.AuthenticateToken(ctx, token)
}

// followConfig returns the file of --authentication-config. The server reads the file again when it changes (KEP-3331).
// As in kube-apiserver, a change replaces the issuers as soon as all new issuers answer. A change of the settings for
// anonymous requests has no effect before the next start. The background work of issuers ends with life.
func followConfig(life context.Context, o *Options, data []byte, first *apiserver.AuthenticationConfiguration, known *bearerTokens, current *reloaded, env Environment) *reload.File {
	metrics.RegisterMetrics()
	metrics.RecordAuthenticationConfigLastConfigInfo(env.APIServerID, string(data))
	last := first
	return &reload.File{
		Flag: "authentication-config", Path: o.ConfigFile, Seen: data,
		Succeeded: func(data string) { metrics.RecordAuthenticationConfigAutomaticReloadSuccess(env.APIServerID, data) },
		Failed:    func() { metrics.RecordAuthenticationConfigAutomaticReloadFailure(env.APIServerID) },
		Apply: func(ctx context.Context, data []byte) error {
			config, err := o.parse(data)
			if err != nil {
				return err
			}
			issuers, end, err := o.issuers(life, config.JWT, env)
			if err != nil {
				return err
			}
			if err := ready(ctx, issuers); err != nil {
				end()
				return err
			}
			if !equality.Semantic.DeepEqual(config.Anonymous, first.Anonymous) {
				klog.FromContext(ctx).Info("the settings for anonymous requests take effect at the next start")
			}
			current.current.Replace(known.with(issuers), end)
			for _, gone := range last.JWT {
				if !slices.ContainsFunc(config.JWT, func(j apiserver.JWTAuthenticator) bool { return j.Issuer.URL == gone.Issuer.URL }) {
					oidc.DeleteJWKSFetchMetrics(gone.Issuer.URL, env.APIServerID)
				}
			}
			last = config
			return nil
		},
	}
}

// ready waits until the server has read the discovery document of each issuer. The document has the URL of the issuer's
// keys.
func ready(ctx context.Context, issuers []issuer) error {
	for _, issuer := range issuers {
		var last error
		err := wait.PollUntilContextCancel(ctx, readyInterval, true, func(context.Context) (bool, error) {
			last = issuer.ready()
			return last == nil, nil
		})
		if err != nil {
			return fmt.Errorf("the server can't read the discovery document of a JWT issuer: %w", errors.Join(err, last))
		}
	}
	return nil
}
