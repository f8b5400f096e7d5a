package main

import (
	"regexp"
	"testing"
)

// The server serves the z-pages (/flagz, /statusz and others), which show the state of a running component.
func TestZPages(t *testing.T) {
	t.Parallel()

	page := func(t *testing.T, path string, args ...string) (string, error) {
		t.Helper()
		_, config := serve(t, args...)
		text, err := client(t, config).Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", "text/plain").DoRaw(t.Context())
		return string(text), err
	}
	for _, test := range []struct {
		path   string
		want   string // a regular expression, because the space between name and value varies
		reason string
		args   []string
	}{
		{"/flagz", `event-ttl\W+7m0s`, "a flag has the value that was given", []string{"--event-ttl=7m"}},
		{"/flagz", `write-kubeconfig\W+/`, "miniapi's own flags are told, too", nil},
		{"/statusz", `Binary version\W+1\.37`, "that of Kubernetes", nil},
		{"/flagz", "", "a gate turns it off", []string{"--feature-gates=ComponentFlagz=false"}},
		{"/statusz", "", "and this one, too", []string{"--feature-gates=ComponentStatusz=false"}},
	} {
		t.Run(test.path[1:]+" "+test.want, func(t *testing.T) {
			t.Parallel()
			text, err := page(t, test.path, test.args...)
			if (err == nil) != (test.want != "") {
				t.Fatalf("%s: %v", test.reason, err)
			}
			if !regexp.MustCompile(test.want).MatchString(text) {
				t.Errorf("%s: want %q in\n%s", test.reason, test.want, text)
			}
		})
	}
}
