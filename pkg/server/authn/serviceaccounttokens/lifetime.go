package serviceaccounttokens

import (
	"context"
	"fmt"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apiserver/pkg/warning"
)

const (
	// safeTransitionSeconds is an hour and seven seconds: the lifetime in the token volume that the admission plugin
	// ServiceAccount adds to a pod. Such a token replaces a legacy token (a token without expiry). A request for this
	// unusual lifetime means that the token may get the extended lifetime (KEP-1205).
	safeTransitionSeconds = 60*60 + 7
	// extendedSeconds is the lifetime of a token that ExtendExpiration extends: a year.
	extendedSeconds = 365 * 24 * 60 * 60
)

// lifetime returns the lifetime that the request asks for, by default an hour. If the lifetime is more than
// MaxExpiration, the result is MaxExpiration, and the client gets a warning. lifetime also writes the result into the
// request.
func (g *TokenGenerator) lifetime(ctx context.Context, request *authenticationv1.TokenRequest) time.Duration {
	if request.Spec.ExpirationSeconds == nil {
		hour := int64(60 * 60)
		request.Spec.ExpirationSeconds = &hour
	}
	limit := int64(g.MaxExpiration / time.Second)
	if asked := *request.Spec.ExpirationSeconds; limit > 0 && asked > limit {
		warning.AddWarning(ctx, "", fmt.Sprintf("requested expiration of %d seconds shortened to %d seconds", asked, limit))
		request.Spec.ExpirationSeconds = &limit
	}
	return time.Duration(*request.Spec.ExpirationSeconds) * time.Second
}

func (g *TokenGenerator) isForAPIServer(audiences []string) bool {
	for _, audience := range audiences {
		if !slices.Contains(g.Audiences, audience) {
			return false
		}
	}
	return true
}
