package imagepolicy

import (
	"errors"
	"fmt"
	"io"
	"time"

	"sigs.k8s.io/yaml"
)

// settings are the plugin's configuration, decoded.
type settings struct {
	kubeconfig                      string
	allowTTL, denyTTL, retryBackoff time.Duration
	defaultAllow                    bool
}

func (s settings) ttl(allowed bool) time.Duration {
	if allowed {
		return s.allowTTL
	}
	return s.denyTTL
}

// none is the number in the configuration that stands for no time: for a TTL, no answer is cached; for the backoff, a
// retry follows at once.
const none = -1

// limits are the unit, the default and the allowed range of a number in the configuration.
type limits struct{ unit, otherwise, least, most time.Duration }

var (
	allowLimits   = limits{unit: time.Second, otherwise: 5 * time.Minute, least: time.Second, most: 30 * time.Minute}
	denyLimits    = limits{unit: time.Second, otherwise: 30 * time.Second, least: time.Second, most: 30 * time.Minute}
	backoffLimits = limits{unit: time.Millisecond, otherwise: 500 * time.Millisecond, least: time.Millisecond, most: 5 * time.Minute}
)

// duration returns the duration for a number in the configuration. 0 stands for the default.
func (l limits) duration(field string, number int64) (time.Duration, error) {
	switch number {
	case 0:
		return l.otherwise, nil
	case none:
		return 0, nil
	}
	// The product with the unit may overflow, so the number itself is compared with the limits.
	if number >= int64(l.least/l.unit) && number <= int64(l.most/l.unit) {
		return time.Duration(number) * l.unit, nil
	}
	return 0, fmt.Errorf("imagePolicy.%s: %d: must be between %d and %d, in units of %v, or %d for none", field, number, l.least/l.unit, l.most/l.unit, l.unit, none)
}

// readSettings reads the configuration of the plugin, in the format of Kubernetes' documentation of
// ImagePolicyWebhook.
func readSettings(config io.Reader) (settings, error) {
	content, err := io.ReadAll(config)
	if err != nil {
		return settings{}, err
	}
	var file struct {
		ImagePolicy struct {
			KubeConfigFile string `json:"kubeConfigFile"`
			AllowTTL       int64  `json:"allowTTL"`
			DenyTTL        int64  `json:"denyTTL"`
			RetryBackoff   int64  `json:"retryBackoff"`
			DefaultAllow   bool   `json:"defaultAllow"`
		} `json:"imagePolicy"`
	}
	if err := yaml.Unmarshal(content, &file); err != nil {
		return settings{}, err
	}
	policy := file.ImagePolicy
	s := settings{kubeconfig: policy.KubeConfigFile, defaultAllow: policy.DefaultAllow}
	var errs []error
	if s.kubeconfig == "" {
		errs = append(errs, errors.New("imagePolicy.kubeConfigFile: must name the kubeconfig with the backend's address"))
	}
	for _, number := range []struct {
		field  string
		value  int64
		limits limits
		to     *time.Duration
	}{
		{"allowTTL", policy.AllowTTL, allowLimits, &s.allowTTL},
		{"denyTTL", policy.DenyTTL, denyLimits, &s.denyTTL},
		{"retryBackoff", policy.RetryBackoff, backoffLimits, &s.retryBackoff},
	} {
		if *number.to, err = number.limits.duration(number.field, number.value); err != nil {
			errs = append(errs, err)
		}
	}
	return s, errors.Join(errs...)
}
