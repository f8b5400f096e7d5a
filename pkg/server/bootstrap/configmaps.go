package bootstrap

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// authenticationConfigMap is the name of the ConfigMap with the certificates by which extension API servers
	// authenticate requests.
	authenticationConfigMap = "extension-apiserver-authentication"
	// tokenTrackingConfigMap is the name of the ConfigMap with the date since which servers record the use of legacy
	// tokens: see package serviceaccount.
	tokenTrackingConfigMap = "kube-apiserver-legacy-service-account-token-tracking"
)

// authenticationConfigMap returns the ConfigMap that k8s.io/apiserver's delegated authentication reads.
func (c Config) authenticationConfigMap() (*corev1.ConfigMap, error) {
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: authenticationConfigMap},
		Data:       map[string]string{},
	}
	if c.ClientCA != nil {
		object.Data["client-ca-file"] = string(c.ClientCA.CurrentCABundleContent())
	}
	if proxy := c.RequestHeader; proxy != nil {
		object.Data["requestheader-client-ca-file"] = string(proxy.CAContentProvider.CurrentCABundleContent())
		for key, values := range map[string][]string{
			"requestheader-username-headers":     proxy.UsernameHeaders.Value(),
			"requestheader-uid-headers":          proxy.UIDHeaders.Value(),
			"requestheader-group-headers":        proxy.GroupHeaders.Value(),
			"requestheader-extra-headers-prefix": proxy.ExtraHeaderPrefixes.Value(),
			"requestheader-allowed-names":        proxy.AllowedClientNames.Value(),
		} {
			if key == "requestheader-uid-headers" && len(values) == 0 {
				continue // kube-apiserver has this entry only with a header
			}
			// An empty list must not be encoded as null: programs that read the ConfigMap expect a list.
			serialized, err := json.Marshal(append([]string{}, slices.Clone(values)...))
			if err != nil {
				return nil, fmt.Errorf("serialize %s: %w", key, err)
			}
			object.Data[key] = string(serialized)
		}
	}
	return object, nil
}

func tokenTracking(since time.Time) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: tokenTrackingConfigMap},
		Data:       map[string]string{"since": since.UTC().Format(time.DateOnly)},
	}
}

// EnsureTrust publishes the config's ClientCA and RequestHeader for extension API servers. The argument configMaps must
// be a client for kube-system.
func EnsureTrust(ctx context.Context, configMaps typedv1.ConfigMapInterface, config Config) error {
	trust, err := config.authenticationConfigMap()
	if err != nil {
		return err
	}
	return createOrUpdate(ctx, trust, object[*corev1.ConfigMap]{
		get: configMaps.Get, create: configMaps.Create, update: configMaps.Update,
		merge: func(have *corev1.ConfigMap) {
			have.Data = combineTrust(have.Data, trust.Data, time.Now())
		},
	})
}

// ensureTokenTracking creates the ConfigMap with the date since which servers record the use of legacy tokens. It
// doesn't change an existing ConfigMap, because the date must stay.
func ensureTokenTracking(ctx context.Context, configMaps typedv1.ConfigMapInterface) error {
	_, err := configMaps.Get(ctx, tokenTrackingConfigMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return create(ctx, tokenTracking(time.Now()), configMaps.Create)
	}
	if err != nil {
		return fmt.Errorf("get config map %s: %w", tokenTrackingConfigMap, err)
	}
	return nil
}
