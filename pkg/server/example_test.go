package server_test

import (
	"context"
	"fmt"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/coordination"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// A program serves a table of its own, here with leases alone. examples/aggregated has kinds of its own.
func ExampleOptions_Run() {
	table, err := registry.NewTable(coordination.Group)
	if err != nil {
		fmt.Println(err)
		return
	}
	options := server.NewOptions()
	options.Table = table
	options.Serving.BindPort = 0 // a free one
	ctx, stop := context.WithCancel(context.Background())
	err = options.Run(ctx, func(*server.Server) {
		fmt.Println("ready")
		stop()
	})
	fmt.Println(err)
	// Output:
	// ready
	// <nil>
}
