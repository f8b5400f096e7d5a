package hooks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
)

// Handlers returns the handlers of ExtensionConfigs, grouped by hook and in the order of their calls. The ExtensionConfigs
// must be sorted by name.
func Handlers(configs []runtimev1.ExtensionConfig) []runtimev1.ExtensionHandler {
	handlers := []runtimev1.ExtensionHandler{}
	for _, config := range configs {
		handlers = append(handlers, config.Status.Handlers...)
	}
	// A stable sort keeps the handlers of a hook in the order of their calls.
	slices.SortStableFunc(handlers, func(a, b runtimev1.ExtensionHandler) int {
		return cmp.Or(cmp.Compare(a.RequestHook.APIVersion, b.RequestHook.APIVersion), cmp.Compare(a.RequestHook.Hook, b.RequestHook.Hook))
	})
	return handlers
}

// PrintHandlers prints a table of the handlers of ExtensionConfigs, grouped by hook and in the order of their calls.
// The ExtensionConfigs must be sorted by name. After the table, PrintHandlers prints the ExtensionConfigs that have not
// been discovered.
func PrintHandlers(out io.Writer, configs []runtimev1.ExtensionConfig) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "HOOK\tHANDLER\tTIMEOUT\tFAILURE POLICY")
	for _, h := range Handlers(configs) {
		fmt.Fprintf(w, "%s/%s\t%s\t%ds\t%s\n", h.RequestHook.APIVersion, h.RequestHook.Hook, h.Name, h.TimeoutSeconds, h.FailurePolicy)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, config := range configs {
		condition := meta.FindStatusCondition(config.Status.Conditions, runtimev1.DiscoveredCondition)
		switch {
		case condition == nil:
			fmt.Fprintf(out, "ExtensionConfig %s has not been discovered yet\n", config.Name)
		case condition.Status != metav1.ConditionTrue:
			fmt.Fprintf(out, "ExtensionConfig %s isn't discovered: %s\n", config.Name, condition.Message)
		}
	}
	return nil
}

// PrintResult prints the answer of each handler, and the result of the call of the hook unless the call has failed.
func PrintResult(out io.Writer, result *hookclient.Result) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, a := range result.Answers {
		outcome := describe(a.Response)
		if a.Error != "" {
			outcome = "failed: " + a.Error
		}
		if a.Ignored != "" {
			outcome = "failed, which its failure policy ignores: " + a.Ignored
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", a.Handler, a.Duration.Round(10*time.Microsecond), outcome)
		for _, warning := range a.Warnings {
			fmt.Fprintf(w, "\t\twarning: %s\n", warning)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if result.Error != "" {
		return nil // the command prints this error itself
	}
	if len(result.Answers) == 0 {
		_, err := fmt.Fprintf(out, "%s: no extension has a handler for this object\n", result.Hook)
		return err
	}
	_, err := fmt.Fprintf(out, "%s: %s\n", result.Hook, describe(result.Response))
	return err
}

// describe returns a response as one line of text.
func describe(response json.RawMessage) string {
	var common hooksv1.CommonRetryResponse
	if err := json.Unmarshal(response, &common); err != nil {
		return string(response)
	}
	parts := []string{string(common.Status)}
	if common.RetryAfterSeconds != 0 {
		parts = append(parts, fmt.Sprintf("blocks, retry after %d s", common.RetryAfterSeconds))
	}
	if common.Message != "" {
		parts = append(parts, common.Message)
	}
	var further map[string]json.RawMessage
	_ = json.Unmarshal(response, &further) // the text has been decoded before, so there is no error
	for _, name := range []string{"apiVersion", "kind", "status", "message", "retryAfterSeconds"} {
		delete(further, name)
	}
	if len(further) > 0 {
		data, err := json.Marshal(further)
		if err == nil {
			parts = append(parts, string(data))
		}
	}
	return strings.Join(parts, ", ")
}
