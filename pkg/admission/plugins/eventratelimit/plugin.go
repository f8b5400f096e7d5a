// Package eventratelimit has the plugin EventRateLimit: it limits the rate at which Events are written. A limit
// applies to the whole server, or to each namespace, each user, or each pair of source and object.
//
// The plugin is off by default, and needs a configuration. It counts only Events of the core group. Like
// kube-apiserver, it doesn't count requests for Events of the group events.k8s.io. The flags --max-requests-inflight
// and --max-mutating-requests-inflight limit all requests.
package eventratelimit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/configuration"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "EventRateLimit"

// Configuration lists the limits. An Event must be within all of them.
type Configuration struct {
	metav1.TypeMeta `json:",inline"`

	Limits []Limit `json:"limits"`
}

// Limit configures a set of token buckets. Events with the same key share a bucket. Type selects the key: Server (one
// bucket for all Events), Namespace, User or SourceAndObject.
type Limit struct {
	Type  string `json:"type"`
	QPS   int32  `json:"qps"`
	Burst int32  `json:"burst"`
	// CacheSize is the number of buckets that are kept. Beyond this number, the plugin drops the least recently used
	// bucket. 0 stands for 4096.
	CacheSize int32 `json:"cacheSize,omitempty"`
}

const (
	configurationVersion = "eventratelimit.admission.k8s.io/v1alpha1"
	defaultCacheSize     = 4096
	serverType           = "Server"
)

// keys are the functions that return the key of an Event, for each type of limit.
var keys = map[string]func(admission.Attributes) string{
	serverType:        func(admission.Attributes) string { return "" },
	"Namespace":       func(a admission.Attributes) string { return a.GetNamespace() },
	"User":            func(a admission.Attributes) string { return a.GetUserInfo().GetName() },
	"SourceAndObject": sourceAndObject,
}

// types are the types of limits, sorted for error messages.
var types = []string{"Namespace", serverType, "SourceAndObject", "User"}

// New returns the plugin. The configuration is required.
func New(config io.Reader) (*Plugin, error) { return newPlugin(config, clock.RealClock{}) }

func newPlugin(config io.Reader, clock clock.PassiveClock) (*Plugin, error) {
	if config == nil {
		return nil, errors.New("a configuration is required: the file of --admission-control-config-file must have limits for the plugin")
	}
	var given Configuration
	if err := configuration.Read(config, configurationVersion, &given); err != nil {
		return nil, err
	}
	if errs := validate(&given); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	p := &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)}
	for _, limit := range given.Limits {
		p.buckets = append(p.buckets, newBuckets(limit, clock))
	}
	return p, nil
}

func validate(given *Configuration) field.ErrorList {
	var errs field.ErrorList
	limits := field.NewPath("limits")
	if len(given.Limits) == 0 {
		errs = append(errs, field.Invalid(limits, given.Limits, "must not be empty"))
	}
	for i, limit := range given.Limits {
		path := limits.Index(i)
		if !slices.Contains(types, limit.Type) {
			errs = append(errs, field.NotSupported(path.Child("type"), limit.Type, types))
		}
		if limit.Burst <= 0 {
			errs = append(errs, field.Invalid(path.Child("burst"), limit.Burst, "must be positive"))
		}
		if limit.QPS <= 0 {
			errs = append(errs, field.Invalid(path.Child("qps"), limit.QPS, "must be positive"))
		}
		if limit.Type != serverType && limit.CacheSize < 0 {
			errs = append(errs, field.Invalid(path.Child("cacheSize"), limit.CacheSize, "must not be negative"))
		}
	}
	return errs
}

// Plugin refuses Events beyond the limits.
type Plugin struct {
	*admission.Handler
	buckets []*buckets
}

var _ admission.ValidationInterface = &Plugin{}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetKind().GroupKind() != corev1.SchemeGroupVersion.WithKind("Event").GroupKind() {
		return nil
	}
	if a.IsDryRun() {
		return nil // a dry run stores no Event
	}
	// An Event counts for every limit, even if one of them refuses it.
	var errs []error
	for _, b := range p.buckets {
		if key, ok := b.accept(a); !ok {
			errs = append(errs, fmt.Errorf("limit reached on type %v for key %v", b.limit.Type, key))
		}
	}
	if err := utilerrors.NewAggregate(errs); err != nil {
		return apierrors.NewTooManyRequestsError(err.Error())
	}
	return nil
}

// buckets has the token buckets of one limit: one bucket for each key, such as the name of a user.
type buckets struct {
	limit Limit
	clock clock.PassiveClock

	mu     sync.Mutex
	by     func(admission.Attributes) string
	recent *lru.Cache
}

func newBuckets(limit Limit, clock clock.PassiveClock) *buckets {
	size := int(limit.CacheSize)
	if size == 0 {
		size = defaultCacheSize
	}
	return &buckets{limit: limit, clock: clock, by: keys[limit.Type], recent: lru.New(size)}
}

// accept takes a token from the bucket of the Event. ok is false if the bucket is empty.
func (b *buckets) accept(a admission.Attributes) (key string, ok bool) {
	key = b.by(a)
	b.mu.Lock()
	bucket, found := b.recent.Get(key)
	if !found {
		bucket = flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(float32(b.limit.QPS), int(b.limit.Burst), b.clock)
		b.recent.Add(key, bucket)
	}
	b.mu.Unlock()
	return key, bucket.(flowcontrol.PassiveRateLimiter).TryAccept()
}

func sourceAndObject(a admission.Attributes) string {
	event, ok := a.GetObject().(*corev1.Event)
	if !ok {
		return ""
	}
	return strings.Join([]string{
		event.Source.Component,
		event.Source.Host,
		event.InvolvedObject.Kind,
		event.InvolvedObject.Namespace,
		event.InvolvedObject.Name,
		string(event.InvolvedObject.UID),
		event.InvolvedObject.APIVersion,
	}, "")
}
