package admission

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/always"
)

// A program's own plugin has its place in the chain, and flags turn it on and off.
func TestOwnPlugins(t *testing.T) {
	t.Parallel()
	made := func(io.Reader) (admission.Interface, error) { return always.Admit(), nil }
	for _, test := range []struct {
		name, reason string
		plugins      []Plugin
		args         []string
		// before is the plugin that comes after the plugin Own, or "" if Own doesn't run. err is a part of the only error.
		before, err string
	}{
		{"default", "policies and webhooks get what the plugin has changed", []Plugin{{Name: "Own", New: made}}, nil,
			"MutatingAdmissionPolicy", ""},
		{"place", "the program says where the plugin runs", []Plugin{{Name: "Own", Before: "ResourceQuota", New: made}},
			nil, "ResourceQuota", ""},
		{"two", "a plugin can run before another of the program's own",
			[]Plugin{{Name: "Later", New: made}, {Name: "Own", Before: "Later", New: made}}, nil, "Later", ""},
		{"disabled", "the flag knows the name", []Plugin{{Name: "Own", New: made}}, []string{"--disable-admission-plugins=Own"}, "", ""},
		{"off", "the plugin runs only if a flag names it", []Plugin{{Name: "Own", Off: true, New: made}}, nil, "", ""},
		{"enabled", "a flag names it", []Plugin{{Name: "Own", Off: true, New: made}},
			[]string{"--enable-admission-plugins=Own"}, "MutatingAdmissionPolicy", ""},
		{"name taken", "two plugins can't have one name", []Plugin{{Name: "Priority", New: made}}, nil, "",
			`admission plugin "Priority": another plugin has the name`},
		{"unknown place", "a misspelled name must not move the plugin to the end",
			[]Plugin{{Name: "Own", Before: "Quota", New: made}}, nil, "AlwaysDeny", `not "Quota"`},
		{"nothing", "a plugin needs a constructor", []Plugin{{Name: "Own"}}, nil, "", `admission plugin "Own": must have`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := NewOptions()
			o.Plugins = test.plugins
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			o.AddFlags(flags)
			if err := flags.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			errs := o.Validate()
			if test.err != "" {
				if len(errs) != 1 || !strings.Contains(errs[0].Error(), test.err) {
					t.Errorf("%s: want an error with %q, got %v", test.reason, test.err, errs)
				}
				return
			}
			var names []string
			for _, p := range o.enabled() {
				names = append(names, p.name)
			}
			before := ""
			if at := slices.Index(names, "Own"); at >= 0 {
				before = names[at+1]
			}
			if len(errs) > 0 || before != test.before {
				t.Errorf("%s: want Own before %q, got it before %q in %v, %v", test.reason, test.before, before, names, errs)
			}
		})
	}
}
