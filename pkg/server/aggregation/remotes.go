package aggregation

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// remotes has the group versions that other servers serve. The zero value is empty.
type remotes struct {
	mu        sync.RWMutex
	byVersion map[schema.GroupVersion]*remoteAPI
}

// replace sets the remoteAPI of a group version, and returns the previous one. A nil remoteAPI removes the previous
// one.
func (r *remotes) replace(gv schema.GroupVersion, with *remoteAPI) (known *remoteAPI) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known = r.byVersion[gv]
	switch {
	case with == nil:
		delete(r.byVersion, gv)
	case r.byVersion == nil:
		r.byVersion = map[schema.GroupVersion]*remoteAPI{gv: with}
	default:
		r.byVersion[gv] = with
	}
	return known
}

// of returns the remoteAPI of a group version, or nil if no other server serves the version.
func (r *remotes) of(gv schema.GroupVersion) *remoteAPI {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byVersion[gv]
}

func (r *remotes) all() []*remoteAPI {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Collect(maps.Values(r.byVersion))
}

func (r *remotes) none() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.byVersion) == 0
}
