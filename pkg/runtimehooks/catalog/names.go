package catalog

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersionHook names one version of a hook.
type GroupVersionHook struct {
	Group, Version, Hook string
}

// GroupHook names a hook, without a version.
type GroupHook struct {
	Group, Hook string
}

// GroupVersion returns the group and the version, without the name of the hook.
func (h GroupVersionHook) GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: h.Group, Version: h.Version}
}

// GroupHook returns the hook without its version.
func (h GroupVersionHook) GroupHook() GroupHook { return GroupHook{Group: h.Group, Hook: h.Hook} }

// String returns GROUP/VERSION/HOOK.
func (h GroupVersionHook) String() string { return h.Group + "/" + h.Version + "/" + h.Hook }

// Path returns the URL path of a handler of the hook, in lower case: /GROUP/VERSION/HOOK/HANDLER. For a singleton
// hook, such as Discovery, handler is "" and the path has no last part.
func (h GroupVersionHook) Path(handler string) string {
	path := "/" + strings.ToLower(h.Group+"/"+h.Version+"/"+h.Hook)
	if handler == "" {
		return path
	}
	return path + "/" + strings.ToLower(handler)
}

// String returns GROUP/HOOK.
func (h GroupHook) String() string { return h.Group + "/" + h.Hook }
