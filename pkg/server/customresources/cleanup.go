package customresources

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// cleanup keeps the controllers from deleting custom resources of a definition that Restore has brought back while it was
// being deleted: the controllers would finish that deletion.
type cleanup struct {
	mu sync.RWMutex
	// kept has the resource versions of restored definitions that aren't being deleted.
	kept map[string]string
}

// keep waits for the end of deletions of the definition's custom resources.
func (c *cleanup) keep(name, resourceVersion string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[string]string{}
	}
	c.kept[name] = resourceVersion
}

// begin allows the deletion of the definition's custom resources, unless the definition was restored later. The
// controllers write to the definition's status when they begin.
func (c *cleanup) begin(name, resourceVersion string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if order, err := resourceversion.CompareResourceVersion(c.kept[name], resourceVersion); err == nil && order < 0 {
		delete(c.kept, name)
	}
}

// write makes a change to a custom resource. A change in a context without a user is made by the controllers.
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
