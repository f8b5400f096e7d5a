package miniapitest_test

import (
	"os/exec"
	"strings"
	"testing"
)

// The fixture links what client-go links, and nothing else but its own packages: an API server in the test would take
// seconds to link, and its versions would be the test's.
func TestImports(t *testing.T) {
	t.Parallel()
	const ours = "github.com/miniapi-dev/miniapi/pkg/"
	allowed := map[string]bool{
		"sigs.k8s.io/yaml":                  true,
		"k8s.io/klog/v2/textlogger":         true, // of a module that client-go has
		ours + "miniapitest":                true,
		ours + "miniapitest/engine":         true,
		ours + "miniapitest/engine/process": true,
		ours + "miniapitest/engine/program": true,
		ours + "miniapitest/engine/wire":    true,
		ours + "server/manifests":           true,
	}
	for _, name := range dependencies(t, "k8s.io/client-go/kubernetes", "k8s.io/client-go/dynamic", "k8s.io/client-go/restmapper",
		"k8s.io/client-go/discovery/cached/memory", "k8s.io/client-go/tools/clientcmd", "gopkg.in/evanphx/json-patch.v4") {
		allowed[name] = true
	}
	for _, name := range dependencies(t, ours+"miniapitest") {
		standard := !strings.Contains(strings.Split(name, "/")[0], ".")
		if !allowed[name] && !standard && !strings.HasPrefix(name, "vendor/") &&
			!strings.HasPrefix(name, "k8s.io/api/") && !strings.HasPrefix(name, "k8s.io/apimachinery/") && !strings.HasPrefix(name, "k8s.io/client-go/") {
			t.Errorf("miniapitest depends on %s", name)
		}
	}
}

func dependencies(t *testing.T, packages ...string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps"}, packages...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}
