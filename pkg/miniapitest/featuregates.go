package miniapitest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

// processGates sees to it that the servers of this process, which share its feature
// gates, agree on them. It is a variable of the package because what it guards is one of
// k8s.io/apiserver's.
var processGates = &sharedGates{gate: utilfeature.DefaultMutableFeatureGate}

// sharedGates are feature gates that are changed for as long as a server runs.
type sharedGates struct {
	gate featuregate.MutableFeatureGate

	mu      sync.Mutex
	servers int
	// changed are the gates that the servers have otherwise than the process.
	changed map[string]bool
}

// acquire sets the gates for a server, or says why it can't run beside those that do.
// Whoever gets no error calls release when the server has stopped.
func (s *sharedGates) acquire(wanted map[string]bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	changes := map[string]bool{}
	for name, on := range wanted {
		if name == "AllAlpha" || name == "AllBeta" {
			return fmt.Errorf("feature gate %s stands for many, which can't be put back: name each", name)
		}
		if _, ok := s.gate.GetAll()[featuregate.Feature(name)]; !ok {
			return fmt.Errorf("WithFeatureGates: feature gate %s is unknown here: the gates are those of k8s.io/apiserver, and one of kube-apiserver's own would do nothing", name)
		}
		before := s.gate.Enabled(featuregate.Feature(name))
		if changed, ok := s.changed[name]; ok {
			before = !changed
		}
		if on != before {
			changes[name] = on
		}
	}
	if s.servers > 0 && !maps.Equal(changes, s.changed) {
		return fmt.Errorf("feature gates are of the process: servers that run in it have %s, and this one wants %s; stop them first, or test this in a package of its own",
			describe(s.changed), describe(changes))
	}
	if s.servers == 0 {
		if err := s.gate.SetFromMap(changes); err != nil {
			return errors.Join(fmt.Errorf("feature gates: %w", err), s.gate.SetFromMap(inverted(changes)))
		}
		s.changed = changes
	}
	s.servers++
	return nil
}

// release puts the gates back when the last server has stopped.
func (s *sharedGates) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers--
	if s.servers > 0 {
		return nil
	}
	changed := s.changed
	s.changed = nil
	return s.gate.SetFromMap(inverted(changed))
}

func inverted(gates map[string]bool) map[string]bool {
	others := map[string]bool{}
	for name, on := range gates {
		others[name] = !on
	}
	return others
}

func describe(gates map[string]bool) string {
	if len(gates) == 0 {
		return "those of the process"
	}
	var each []string
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		each = append(each, fmt.Sprintf("%s=%t", name, gates[name]))
	}
	return strings.Join(each, ",")
}
