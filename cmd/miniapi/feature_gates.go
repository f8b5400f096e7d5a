package main

import (
	"strings"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

// lenientGates passes on the feature gates that this process knows, and notes those
// that exist in kube-apiserver alone.
type lenientGates struct {
	pflag.Value
	inert *inertFlags
}

// lenient makes --feature-gates accept what kube-apiserver accepts.
func lenient(flag *pflag.Flag, inert *inertFlags) {
	flag.Value = &lenientGates{flag.Value, inert}
}

// Set takes NAME=true|false pairs separated by commas, each optionally with the
// component's name and a colon before it. What nobody knows is left to the
// library to refuse.
func (g *lenientGates) Set(value string) error {
	known := utilfeature.DefaultMutableFeatureGate.GetAll()
	var passed []string
	for _, pair := range strings.Split(value, ",") {
		name, _, _ := strings.Cut(pair, "=")
		if _, after, component := strings.Cut(name, ":"); component {
			name = after
		}
		name = strings.TrimSpace(name)
		if _, here := known[featuregate.Feature(name)]; !here && kubeFeatureGates[name] {
			g.inert.note("--feature-gates " + name)
			continue
		}
		passed = append(passed, pair)
	}
	if len(passed) == 0 {
		return nil
	}
	return g.Value.Set(strings.Join(passed, ","))
}
