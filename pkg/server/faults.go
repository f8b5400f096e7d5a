package server

import (
	"context"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/server/faults"
)

// buildFaults makes the injector of faults. It has no faults until the start is over.
func buildFaults(c *Config) *faults.Injector {
	return faults.New(faults.Config{
		Seed:       c.options.Faults.Seed,
		Serializer: c.generic.Serializer,
		Revision:   c.revision,
		Abort:      c.listener.Abort,
		Stopping:   c.following,
	})
}

// revision returns the resource version of the last write of any object. It comes from a consistent list: the resource
// version of such a list doesn't depend on the list's resource.
func (c *Config) revision(ctx context.Context) (uint64, error) {
	list, err := c.clients.typed.CoreV1().Namespaces().List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, err
	}
	revision, err := strconv.ParseUint(list.ResourceVersion, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resource version %q of the list of namespaces: must be a number: %w", list.ResourceVersion, err)
	}
	return revision, nil
}

// beginFaults puts the faults of the options in force.
func (c *Config) beginFaults(ctx context.Context) error {
	file, err := c.faults.Begin(ctx, c.options.Faults)
	if err != nil {
		return err
	}
	c.follow(file)
	return nil
}
