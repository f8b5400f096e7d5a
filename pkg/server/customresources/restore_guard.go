package customresources

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// cleanup protects the custom resources of a definition if a restore of a snapshot brings the definition back while the
// controllers delete them. Without cleanup, the controllers would go on with the deletion.
type cleanup struct {
	mu sync.RWMutex
	// kept maps the name of a definition that a restore has brought back to the resource version of the restored
	// definition. A later deletion of the definition removes the entry.
	kept map[string]string
}

// keep forbids the controllers to delete custom resources of the definition. It returns when deletions in progress have
// ended.
func (c *cleanup) keep(name, resourceVersion string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[string]string{}
	}
	c.kept[name] = resourceVersion
}

// begin allows the controllers to delete the definition's custom resources, unless a restore has brought the definition
// back at a later resource version. A delete request calls begin, and so does each later write of the definition, such
// as the status that the controllers write before they delete.
func (c *cleanup) begin(name, resourceVersion string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if order, err := resourceversion.CompareResourceVersion(c.kept[name], resourceVersion); err == nil && order < 0 {
		delete(c.kept, name)
	}
}

// write calls change, which changes a custom resource. It returns an error instead if a controller makes the change and
// keep has forbidden it. If the context has no user, a controller makes the change.
func (c *cleanup) write(ctx context.Context, resource schema.GroupResource, change func() error) error {
	if _, asked := request.UserFrom(ctx); asked {
		return change()
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if _, kept := c.kept[resource.String()]; kept {
		return fmt.Errorf("%s: a restore has brought the definition back, so its custom resources stay", resource)
	}
	return change()
}
