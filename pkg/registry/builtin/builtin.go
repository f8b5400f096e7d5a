// Package builtin has the table of all built-in kinds: the kinds of kube-apiserver that miniapi serves too. Every
// server takes its scheme, its codecs and its storages from this table.
//
// The table has no custom resources. Don't use the package in a test that needs only made-up kinds: such a test makes a
// registry.Table of its own.
package builtin

import (
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/admissionregistration"
	"github.com/miniapi-dev/miniapi/pkg/registry/apiregistration"
	"github.com/miniapi-dev/miniapi/pkg/registry/apiserverinternal"
	"github.com/miniapi-dev/miniapi/pkg/registry/apps"
	"github.com/miniapi-dev/miniapi/pkg/registry/authentication"
	"github.com/miniapi-dev/miniapi/pkg/registry/authorization"
	"github.com/miniapi-dev/miniapi/pkg/registry/autoscaling"
	"github.com/miniapi-dev/miniapi/pkg/registry/batch"
	"github.com/miniapi-dev/miniapi/pkg/registry/certificates"
	"github.com/miniapi-dev/miniapi/pkg/registry/coordination"
	"github.com/miniapi-dev/miniapi/pkg/registry/core"
	"github.com/miniapi-dev/miniapi/pkg/registry/discovery"
	"github.com/miniapi-dev/miniapi/pkg/registry/events"
	"github.com/miniapi-dev/miniapi/pkg/registry/extensions"
	"github.com/miniapi-dev/miniapi/pkg/registry/flowcontrol"
	"github.com/miniapi-dev/miniapi/pkg/registry/lifecycle"
	"github.com/miniapi-dev/miniapi/pkg/registry/networking"
	"github.com/miniapi-dev/miniapi/pkg/registry/node"
	"github.com/miniapi-dev/miniapi/pkg/registry/policy"
	"github.com/miniapi-dev/miniapi/pkg/registry/rbac"
	"github.com/miniapi-dev/miniapi/pkg/registry/resource"
	"github.com/miniapi-dev/miniapi/pkg/registry/scheduling"
	"github.com/miniapi-dev/miniapi/pkg/registry/storage"
	"github.com/miniapi-dev/miniapi/pkg/registry/storagemigration"
)

// Table returns the table of all kinds. The first call in a process makes it.
func Table() *registry.Table { return table() }

var table = sync.OnceValue(func() *registry.Table {
	t, err := registry.NewTable(Groups()...)
	utilruntime.Must(err)
	return t
})

// Groups returns the groups of the table, for a table that has further groups:
//
//	registry.NewTable(append(builtin.Groups(), mine)...)
func Groups() []registry.Group {
	return []registry.Group{
		core.Group,
		apiregistration.Group,
		apps.Group,
		events.Group,
		authentication.Group,
		authorization.Group,
		autoscaling.Group,
		batch.Group,
		certificates.Group,
		networking.Group,
		extensions.Group,
		policy.Group,
		rbac.Group,
		storage.Group,
		admissionregistration.Group,
		scheduling.Group,
		coordination.Group,
		node.Group,
		discovery.Group,
		flowcontrol.Group,
		resource.Group,
		storagemigration.Group,
		lifecycle.Group,
		apiserverinternal.Group,
	}
}
