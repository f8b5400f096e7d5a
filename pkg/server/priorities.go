package server

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// definitionsPriority is that of the group of CustomResourceDefinitions, which isn't of the table.
const definitionsPriority = 16700

// versionPriority is that of a group's last version; the one before it has twice as much, and so on.
const versionPriority = 15

// groupPriority is kube-apiserver's priority of a group (see registry.Group.Priority).
func groupPriority(group string) int32 {
	if group == apiextensionsv1.GroupName {
		return definitionsPriority
	}
	return builtin.Table().Priority(group)
}
