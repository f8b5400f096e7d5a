package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// A gate of kube-apiserver's own that means something here sets an option, and isn't named as one that means nothing.
func TestNodeAudienceGate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		args         []string
		want         bool
	}{
		{"unset", "the gate is on since 1.33", nil, false},
		{"off", "kubelets of old ask for any audience", []string{"--feature-gates=ServiceAccountNodeAudienceRestriction=false"}, true},
		{"on", "it is as it was", []string{"--feature-gates=ServiceAccountNodeAudienceRestriction=true"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := newServerOptions(server.NewOptions())
			cmd := &cobra.Command{Use: "test"}
			o.addTo(cmd, pflag.NewFlagSet("", pflag.ContinueOnError))
			if err := cmd.ParseFlags(test.args); err != nil {
				t.Fatal(err)
			}
			if got := o.server.Admission.AnyNodeAudience; got != test.want {
				t.Errorf("%s: any audience is allowed: want %t, got %t", test.reason, test.want, got)
			}
			var warned strings.Builder
			o.inert.warn(&warned)
			if warned.Len() > 0 {
				t.Errorf("%s: warned of: %s", test.reason, &warned)
			}
		})
	}
}

// A gate that is on by default, and would take something away, counts when somebody says so.
func TestExcludeReviewsGate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		args         []string
		want         bool
	}{
		{"unset", "webhooks are sent what they always were", nil, false},
		{"set", "whoever names the gate means it", []string{"--feature-gates=ExcludeAdmissionWebhookVirtualResources=true"}, true},
		{"set for the component", "it is kube-apiserver's", []string{"--feature-gates=kube:ExcludeAdmissionWebhookVirtualResources=true"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := newServerOptions(server.NewOptions())
			cmd := &cobra.Command{Use: "test"}
			o.addTo(cmd, pflag.NewFlagSet("", pflag.ContinueOnError))
			if err := cmd.ParseFlags(test.args); err != nil {
				t.Fatal(err)
			}
			if got := o.server.Admission.ExcludeReviews; got != test.want {
				t.Errorf("%s: reviews are excluded: want %t, got %t", test.reason, test.want, got)
			}
		})
	}
}
