package server

import (
	"sync"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/server/openapi"
)

// schemas describe the types of the table.
var schemas = sync.OnceValue(func() *openapi.Schemas { return openapi.New(builtin.Table()) })
