// Package kubeonly accepts the flags, feature gates and API versions that only kube-apiserver has. Command lines that
// were written for kube-apiserver then work with miniapi, and get a warning. A flag with an effect belongs to
// pkg/server.
package kubeonly

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Given is the list of the settings on the command line that have no effect.
type Given struct {
	settings []string
}

func (g *Given) add(setting string) {
	if !slices.Contains(g.settings, setting) {
		g.settings = append(g.settings, setting)
	}
}

// Warn prints a warning that names all settings without an effect. If there are none, it prints nothing.
func (g *Given) Warn(to io.Writer) {
	if len(g.settings) > 0 {
		fmt.Fprintf(to, "Warning: these settings of kube-apiserver have no effect in miniapi: %s\n", strings.Join(g.settings, ", "))
	}
}
