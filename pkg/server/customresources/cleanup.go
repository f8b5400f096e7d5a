package customresources

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// cleanup keeps the controllers from deleting custom resources once Restore has kept their definition from its
// own deletion: they go on with what they have begun, however long that takes.
type cleanup struct {
	mu sync.RWMutex
	// kept are the resource versions at which definitions were restored that aren't being deleted.
	kept map[string]string
}

// keep returns when nothing more is deleted of what the definition defines.
func (c *cleanup) keep(name, resourceVersion string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[string]string{}
	}
	c.kept[name] = resourceVersion
}

// begin lets what the definition defines be deleted, unless it has been restored later. The controllers say at the
// beginning that they are at work, in the definition's status.
func (c *cleanup) begin(name, resourceVersion string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if order, err := resourceversion.CompareResourceVersion(c.kept[name], resourceVersion); err == nil && order < 0 {
		delete(c.kept, name)
	}
}

// write makes a change to a custom resource. What nobody has asked for is the controllers'.
func (c *cleanup) write(ctx context.Context, resource schema.GroupResource, change func() error) error {
	if _, asked := request.UserFrom(ctx); asked {
		return change()
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if _, kept := c.kept[resource.String()]; kept {
		return fmt.Errorf("%s: the definition isn't being deleted any more", resource)
	}
	return change()
}
