package apiserver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// warnings has the cases about the Warning headers of answers.
var warnings = []trial.Test{
	{
		ID: "warning.allowed", Source: dynamic + "Response",
		Promise: "Warnings of a webhook that allows the request are returned in HTTP Warning headers with a warning code of 299.",
		Run: func(t *trial.T) {
			for _, hook := range pairOf(trial.Warn("mind this", "and this")) {
				on := installApart(t, hook)
				a := t.Create(on, t.Object(on, "a"))
				a.OK()
				t.Equal("the Warning headers", []string{`299 - "mind this"`, `299 - "and this"`}, a.Warnings())
			}
		},
	},
	{
		ID: "warning.denied", Source: dynamic + "Response", Promise: "Warnings can be sent with rejected admission responses.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Always(trial.Response{"allowed": false, "warnings": []string{"mind this"}})))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
			t.True(!a.Succeeded(), "a refusal", fmt.Sprint(a.Code))
			t.Equal("the Warning headers", []string{`299 - "mind this"`}, a.Warnings())
		},
	},
	{
		ID: "warning.all", Source: dynamic + "Response", Promise: "Warnings of all webhooks are returned.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("a", trial.Warn("from a")), trial.Validating("b", trial.Warn("from b")), trial.Validating("c", trial.Warn("from c")))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
			for _, text := range []string{"from a", "from b", "from c"} {
				warned(t, a, text)
			}
		},
	},
	{
		ID: "warning.quoted", Source: dynamic + "Response",
		Promise: "The text of a warning arrives whole, with quotes and backslashes escaped.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Warn(`a "quoted" \ text`)))
			warned(t, t.Create(trial.ConfigMaps, t.ConfigMap("a")), `a \"quoted\" \\ text`)
		},
	},
	{
		ID: "warning.long", Source: dynamic + "Response",
		Promise: "A warning of 256 characters arrives whole; a longer one may be truncated, but arrives.",
		Run: func(t *trial.T) {
			whole, long := strings.Repeat("w", 256), strings.Repeat("l", 1000)
			t.Install(trial.Validating("hook", trial.Warn(whole, long)))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
			warned(t, a, whole)
			warned(t, a, long[:200])
		},
	},
	{
		ID: "warning.most", Source: dynamic + "Response",
		Promise: "If more than 4096 characters of warning messages are added, additional warning messages are ignored, and the request isn't refused.",
		Run: func(t *trial.T) {
			var many []string
			for i := range 60 {
				many = append(many, fmt.Sprintf("%02d %s", i, strings.Repeat("w", 200)))
			}
			t.Install(trial.Validating("hook", trial.Warn(many...)))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
			a.OK()
			warned(t, a, many[0])
			total := 0
			for _, header := range a.Warnings() {
				total += len(header) - len(`299 - ""`)
			}
			const last = 256 // the server may send a part of the message that exceeds the limit
			t.True(total <= 4096+last, "no message after the one that exceeds 4096 characters", fmt.Sprintf("%d characters", total))
		},
	},
}

// warned checks that an answer has a warning of code 299 that contains the text.
func warned(t *trial.T, a *trial.Answer, text string) {
	found := slices.ContainsFunc(a.Warnings(), func(header string) bool {
		return strings.HasPrefix(header, "299 ") && strings.Contains(header, text)
	})
	t.True(found, fmt.Sprintf("a Warning header with code 299 and the text %q", text), fmt.Sprintf("the Warning headers %q", a.Warnings()))
}
