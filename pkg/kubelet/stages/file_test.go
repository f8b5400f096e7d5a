package stages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An error in a file names the stage, the field and the value.
func TestErrorsOfFiles(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: s}\n"
	const pod = "resourceRef: {apiGroup: v1, kind: Pod}"
	for _, test := range []struct{ name, reason, text, want string }{
		{"kind", "a Metric isn't a stage", "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Metric\nmetadata: {name: s}\nspec: {" + pod + "}",
			`stage "s": kind: Unsupported value: "Metric": supported values: "Attach", "ClusterAttach", "ClusterLogs", "ClusterPortForward", "Logs", "PortForward", "Stage"`},
		{"exec", "no command of a user runs here", "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: ClusterExec\nmetadata: {name: e}\nspec: {execs: [{local: {}}]}",
			`ClusterExec "e": kwok runs the commands of kubectl exec on this machine, which isn't supported: `},
		{"logs", "kwok calls it logsFile", "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Logs\nmetadata: {name: p}\nspec: {logs: [{file: a}]}",
			`Logs "p": unknown field "spec.logs[0].file"`},
		{"version", "there is one version", "apiVersion: v1\nkind: Stage\nmetadata: {name: s}\nspec: {" + pod + "}",
			`stage "s": apiVersion: Unsupported value: "v1": supported values: "kwok.x-k8s.io/v1alpha1"`},
		{"name", "events name the stage", "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nspec: {" + pod + "}", `stage "": metadata.name: Required value`},
		{"no object", "a stage concerns the objects of a kind", head + "spec: {resourceRef: {apiGroup: batch/v1}}", `stage "s": spec.resourceRef.kind: Required value`},
		{"group", "a group version has two parts", head + "spec: {resourceRef: {apiGroup: a/b/c, kind: Job}}",
			`stage "s": spec.resourceRef.apiGroup: Invalid value: "a/b/c": must be a group and a version, such as apps/v1`},
		{"unknown field", "a misspelt field would have no effect", head + "spec: {" + pod + ", delays: {}}", `document 1: unknown field "spec.delays"`},
		{"label", "no label has a space", head + "spec: {" + pod + `, selector: {matchLabels: {a: "b c"}}}`, `stage "s": spec.selector.matchLabels: Invalid value: "b c": `},
		{"operator", "kwok has no such operator", head + "spec: {" + pod + ", selector: {matchExpressions: [{jq: {key: .a, operator: Is}}]}}",
			`stage "s": spec.selector.matchExpressions[0].jq: Invalid value: ".a": operator "Is" is not supported`},
		{"former form", "kwok's former form is checked too", head + "spec: {" + pod + `, selector: {matchExpressions: [{key: ".a[", operator: Exists}]}}`,
			`stage "s": spec.selector.matchExpressions[0].jq: Invalid value: ".a[": `},
		{"cel", "the expression doesn't compile", head + "spec: {" + pod + `, selector: {matchExpressions: [{cel: {expression: "self.none"}}]}}`,
			`stage "s": spec.selector.matchExpressions[0].cel.expression: Invalid value: "self.none": `},
		{"delay", "time doesn't go back", head + "spec: {" + pod + ", delay: {durationMilliseconds: -1}}",
			`stage "s": spec.delay.durationMilliseconds: Invalid value: -1: must not be negative`},
		{"template", "the function doesn't exist", head + "spec: {" + pod + `, steps: [{patch: {template: "{{ None }}"}}]}`,
			`stage "s": spec.steps[0].patch.template: Invalid value: "{{ None }}": build template: template: _:1: function "None" not defined`},
		{"former template", "kwok's former form is checked too", head + "spec: {" + pod + `, next: {statusTemplate: "{{"}}`,
			`stage "s": spec.steps[0].patch.template: Invalid value: "{{": build template: `},
		{"patch", "a patch of this type can't be sent", head + "spec: {" + pod + ", steps: [{patch: {type: apply}}]}",
			`stage "s": spec.steps[0].patch.type: Unsupported value: "apply": supported values: "json", "merge", "strategic"`},
		{"second", "each document is checked", head + "spec: {" + pod + "}\n---\n" + head + "spec: {" + pod + ", weight: -1}",
			`stage "s": spec.weight: Invalid value: -1: must not be negative`},
		{"none", "the file has no effect", "# nothing\n", "has no stage"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "stages.yaml")
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Parse(t.Context(), []string{path})
			if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: want an error of %s with %q, got %v", test.reason, path, test.want, err)
			}
		})
	}
}

// A set is chosen by annotation, then by label, then for all objects.
func TestChoice(t *testing.T) {
	t.Parallel()
	choices, err := Parse(t.Context(), []string{"complete", "crash-loop:app=web", "evicted:app in (web, db)"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, reason    string
		kind            schema.GroupVersionKind
		annotation, app string
		want            string
	}{
		{"annotation", "the object itself says it", Pod, "slow-start", "web", "slow-start"},
		{"first label", "the first selector counts", Pod, "", "web", "crash-loop"},
		{"second label", "the other selector doesn't select it", Pod, "", "db", "evicted"},
		{"all", "no selector selects it", Pod, "", "cache", "complete"},
		{"node", "the sets of the flags have no stages of nodes", Node, "", "web", "ready"},
		{"annotation of the wrong kind", "the set has no stages of pods", Pod, "node-lost", "db", "evicted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := &metav1.ObjectMeta{Labels: map[string]string{"app": test.app}, Annotations: map[string]string{Annotation: test.annotation}}
			set, err := choices.Of(t.Context(), test.kind, o)
			if err != nil || set.Name != test.want {
				t.Errorf("%s: want %s, got %v and %v", test.reason, test.want, set, err)
			}
		})
	}
	if _, err := choices.Of(t.Context(), Pod, &metav1.ObjectMeta{Annotations: map[string]string{Annotation: "none"}}); err == nil || !strings.Contains(err.Error(), `the stages "none" are unknown: must be one of complete, `) {
		t.Errorf("want an error with the names, got %v", err)
	}
}
