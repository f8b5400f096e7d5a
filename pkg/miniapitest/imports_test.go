package miniapitest_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
)

// The fixture imports only its own packages, the standard library, k8s.io/api, k8s.io/apimachinery, client-go, and
// packages that client-go imports. With an import of an API server, each test would take seconds to link, and would
// have to use the server's versions.
func TestImports(t *testing.T) {
	t.Parallel()
	const ours = "github.com/miniapi-dev/miniapi/pkg/miniapitest"
	allowed := map[string]bool{
		ours:                     true,
		ours + "/engine":         true,
		ours + "/engine/process": true,
		ours + "/engine/program": true,
		ours + "/engine/control": true,
		ours + "/fault":          true,
		ours + "/manifests":      true,
		ours + "/reviews":        true,
		ours + "/trace":          true,

		ours + "/internal/filelock": true,
		ours + "/internal/tree":     true,
	}
	for _, name := range dependencies(t, "k8s.io/client-go/kubernetes", "k8s.io/client-go/dynamic", "k8s.io/client-go/restmapper",
		"k8s.io/client-go/discovery/cached/memory", "k8s.io/client-go/tools/clientcmd") {
		allowed[name] = true
	}
	for _, name := range dependencies(t, ours) {
		standard := !strings.Contains(strings.Split(name, "/")[0], ".")
		if !allowed[name] && !standard && !strings.HasPrefix(name, "vendor/") &&
			!strings.HasPrefix(name, "k8s.io/api/") && !strings.HasPrefix(name, "k8s.io/apimachinery/") && !strings.HasPrefix(name, "k8s.io/client-go/") {
			t.Errorf("miniapitest depends on %s", name)
		}
	}
}

// The go.mod of the fixture directly requires only client-go, k8s.io/api, k8s.io/apimachinery, and the libraries of JSON
// patches and of YAML that client-go 0.30 requires, even for the fixture's tests.
func TestRequirements(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(context.Background(), "go", "mod", "edit", "-print").Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{"k8s.io/api": true, "k8s.io/apimachinery": true, "k8s.io/client-go": true, "github.com/evanphx/json-patch": true, "gopkg.in/yaml.v3": true}
	for _, line := range strings.Split(string(out), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 2 && strings.HasPrefix(fields[1], "v") && !allowed[fields[0]] {
			t.Errorf("go.mod requires %s: only what client-go brings may be there", fields[0])
		}
		if len(fields) > 0 && (fields[0] == "replace" || fields[0] == "exclude") {
			t.Errorf("go.mod has %q: users would need the same", line)
		}
	}
}

func dependencies(t *testing.T, packages ...string) []string {
	t.Helper()
	out, err := exec.CommandContext(context.Background(), "go", append([]string{"list", "-deps"}, packages...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}
