// Package complete has the values that a shell offers for arguments and flags of commands. Most of them come from the
// server of the kubeconfig: its resources, objects, webhook configurations and policies. If no server answers in time,
// the shell offers nothing.
//
// Don't use the package for flags with a fixed set of values: cobra.FixedCompletions completes these.
package complete

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
)

// patience limits the requests for the values of one completion: the user waits for the shell.
const patience = 2 * time.Second

// directive keeps the shell from offering files. With more is true, the shell adds no space after a value, because more
// follows.
func directive(more bool) cobra.ShellCompDirective {
	if more {
		return cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return cobra.ShellCompDirectiveNoFileComp
}

// List completes the last item of a list that commas separate. The function values returns all items.
func List(values func(ctx context.Context) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), patience)
		defer cancel()
		given := strings.Split(typed, ",")
		last := len(given) - 1
		prefix := strings.Join(append(given[:last:last], ""), ",")
		var all []string
		for _, value := range values(ctx) {
			if strings.HasPrefix(value, given[last]) && !slices.Contains(given[:last], value) {
				all = append(all, prefix+value)
			}
		}
		return all, directive(true)
	}
}

// Object completes RESOURCE/NAME. If namespaces is set, it completes RESOURCE/NAMESPACE/NAME for objects in namespaces,
// unless the flag of the argument namespace names one.
func Object(source *kubeconfig.Source, namespace *string, namespaces bool) cobra.CompletionFunc {
	return reading(source, func(r *reader, typed string) ([]string, bool) {
		resource, _, named := strings.Cut(typed, "/")
		if !named {
			return slashed(r.resources()), true
		}
		if *namespace == "" && !namespaces {
			*namespace = r.server.Namespace
		}
		var all []string
		for _, object := range r.objects(resource, *namespace) {
			parts := []string{resource, object.GetName()}
			if namespaces && *namespace == "" && object.GetNamespace() != "" {
				parts = []string{resource, object.GetNamespace(), object.GetName()}
			}
			all = append(all, strings.Join(parts, "/"))
		}
		return all, false
	})
}

// Asked completes KIND/NAME of a webhook configuration or a policy, and KIND/NAME/PART of its webhooks or bindings.
func Asked(source *kubeconfig.Source) cobra.CompletionFunc {
	return reading(source, func(r *reader, typed string) ([]string, bool) {
		kind, rest, named := strings.Cut(typed, "/")
		resource, known := asked[kind]
		if !named || !known {
			return slashed(slices.Sorted(maps.Keys(asked))), true
		}
		name, _, parted := strings.Cut(rest, "/")
		var all []string
		for _, object := range r.objects(resource, "") {
			if !parted {
				all = append(all, kind+"/"+object.GetName())
				continue
			}
			if object.GetName() != name {
				continue
			}
			for _, part := range r.parts(kind, object) {
				all = append(all, kind+"/"+name+"/"+part)
			}
		}
		return all, false
	})
}

// asked are the resources by the kinds that "miniapi trace why" explains.
var asked = map[string]string{
	"MutatingAdmissionPolicy":        "mutatingadmissionpolicies.admissionregistration.k8s.io",
	"MutatingWebhookConfiguration":   "mutatingwebhookconfigurations.admissionregistration.k8s.io",
	"ValidatingAdmissionPolicy":      "validatingadmissionpolicies.admissionregistration.k8s.io",
	"ValidatingWebhookConfiguration": "validatingwebhookconfigurations.admissionregistration.k8s.io",
}

// parts returns the names of a configuration's webhooks, or of a policy's bindings.
func (r *reader) parts(kind string, object unstructured.Unstructured) []string {
	var names []string
	webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks") // a policy has none
	for _, webhook := range webhooks {
		if fields, ok := webhook.(map[string]any); ok {
			if name, ok := fields["name"].(string); ok {
				names = append(names, name)
			}
		}
	}
	if strings.HasSuffix(kind, "Policy") {
		for _, binding := range r.objects(strings.ToLower(kind)+"bindings.admissionregistration.k8s.io", "") {
			if policy, _, _ := unstructured.NestedString(binding.Object, "spec", "policyName"); policy == object.GetName() {
				names = append(names, binding.GetName())
			}
		}
	}
	return names
}

func slashed(names []string) []string {
	for i := range names {
		names[i] += "/"
	}
	return names
}
