package registry

import (
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Builtin is the table of the kinds of kube-apiserver. It is made once a process, at its first use.
func Builtin() *Table { return builtin() }

var builtin = sync.OnceValue(func() *Table {
	t, err := NewTable(
		core,
		apiregistration,
		apps,
		events,
		authenticationGroup,
		authorizationGroup,
		autoscalingGroup,
		batch,
		certificates,
		networking,
		extensions,
		policy,
		rbac,
		storageGroup,
		admissionregistration,
		scheduling,
		coordination,
		node,
		discovery,
		flowcontrol,
		resource,
		storagemigration,
	)
	utilruntime.Must(err)
	return t
})
