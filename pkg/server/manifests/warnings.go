package manifests

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// collector keeps the warnings of a request in what the request's context was given by collect.
type collector struct{}

type collectedKey struct{}

// collect makes a context whose requests add the server's warnings to a list, one after the other.
func collect(ctx context.Context, warnings *[]string) context.Context {
	return context.WithValue(ctx, collectedKey{}, warnings)
}

// warningCode is the code that HTTP has for warnings like those of a Kubernetes API.
const warningCode = 299

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (collector) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if warnings, ok := ctx.Value(collectedKey{}).(*[]string); ok && code == warningCode && text != "" {
		*warnings = append(*warnings, text)
	}
}

// warned is an object, and what the server warned of when it was applied.
type warned struct {
	Object
	warnings []string
}

// warn tells what the server warned of. What it warns of a webhook's configuration may be that the configuration
// names something that is applied later.
func (a *application) warn(ctx context.Context, object Object, warnings []string) {
	if len(warnings) > 0 && object.GroupVersionKind().Group == admissionregistrationv1.GroupName {
		a.warned = append(a.warned, warned{object, warnings})
		return
	}
	a.tell(ctx, object, warnings)
}

func (a *application) tell(ctx context.Context, object Object, warnings []string) {
	for _, text := range warnings {
		if a.Warn != nil {
			a.Warn(object, text)
			continue
		}
		klog.FromContext(ctx).Info("Warning: "+text, "source", object.Source, "kind", object.GetKind(), "name", object.GetName())
	}
}

// warnAtEnd tells what the server still warns of when everything is applied. Webhooks aren't called for their own
// configurations, so that a dry run finds out.
func (a *application) warnAtEnd(ctx context.Context) {
	for _, w := range a.warned {
		var now []string
		if err := a.apply(collect(ctx, &now), w.Object, metav1.ApplyOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			now = w.warnings
		}
		a.tell(ctx, w.Object, now)
	}
}
