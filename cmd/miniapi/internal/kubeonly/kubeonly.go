// Package kubeonly accepts flags, feature gates and API versions that kube-apiserver has and miniapi has no use for, so
// that command lines written for kube-apiserver work. A flag with an effect belongs to pkg/server.
package kubeonly

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Given is the list of settings that the command line gives and that have no effect.
type Given struct {
	settings []string
}

func (g *Given) add(setting string) {
	if !slices.Contains(g.settings, setting) {
		g.settings = append(g.settings, setting)
	}
}

// Warn names all settings on one line.
func (g *Given) Warn(to io.Writer) {
	if len(g.settings) > 0 {
		fmt.Fprintf(to, "Warning: these settings of kube-apiserver have no effect here: %s\n", strings.Join(g.settings, ", "))
	}
}
