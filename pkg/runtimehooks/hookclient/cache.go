package hookclient

import (
	"crypto/sha256"
	"fmt"
	"time"

	utilcache "k8s.io/apimachinery/pkg/util/cache"

	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
)

// ResponseCache keeps successful responses. It is for handlers that always give the same answer to the same request.
// A response is no longer used after a time, or after a change of the ExtensionConfig of its handler. A response that
// blocks is never kept.
type ResponseCache struct {
	responses *utilcache.LRUExpireCache
	keep      time.Duration
}

// NewResponseCache returns a cache for a limited number of responses. The argument "keep" is the longest time for which
// a response is kept.
func NewResponseCache(size int, keep time.Duration) *ResponseCache {
	return &ResponseCache{responses: utilcache.NewLRUExpireCache(size), keep: keep}
}

func (c *ResponseCache) get(key string) (hooksv1.ResponseObject, bool) {
	cached, ok := c.responses.Get(key)
	if !ok {
		return nil, false
	}
	return cached.(hooksv1.ResponseObject).DeepCopyObject().(hooksv1.ResponseObject), true
}

func (c *ResponseCache) add(key string, response hooksv1.ResponseObject) {
	if retry, is := response.(hooksv1.RetryResponseObject); is && retry.GetRetryAfterSeconds() != 0 {
		return
	}
	c.responses.Add(key, response.DeepCopyObject(), c.keep)
}

// cacheKey returns the key of a response. The key has the handler, the resource version of the handler's
// ExtensionConfig, the caller's version of the hook, and a hash of the request.
func cacheKey(handler, configVersion string, caller *catalog.Descriptor, body []byte) string {
	return fmt.Sprintf("%s/%s/%s/%x", handler, configVersion, caller, sha256.Sum256(body))
}
