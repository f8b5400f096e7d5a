package runner

import (
	"context"
	"slices"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// maxSentences bounds the sentences of a result.
const maxSentences = 8

// explain adds the timeline of the request to the result, and sentences about what refused it or should have refused it.
func (j *judged) explain(ctx context.Context) error {
	recorded, err := j.record(ctx)
	if err != nil || recorded == nil {
		return err
	}
	var timeline strings.Builder
	if err := trace.WriteTimeline(&timeline, recorded, trace.Brief); err != nil {
		return err
	}
	j.Timeline = timeline.String()
	if len(j.Findings) == 0 {
		return nil
	}
	var about []trace.Reference
	if by, named := referenceTo(j.planned.Expect.By); named {
		about = append(about, by)
	}
	refused := recorded.Refused()
	switch {
	case refused != nil && refused.Policy != nil:
		about = append(about, *refused.Policy)
	case refused != nil && refused.Webhook != nil:
		about = append(about, *refused.Webhook)
	case refused == nil && len(about) == 0:
		about = configurations(j.session.objects)
	}
	for _, reference := range slices.Compact(about) {
		for _, answer := range trace.Why(reference, configured(reference, j.session.objects), recorded, false) {
			if len(j.Why) < maxSentences && !slices.Contains(j.Why, answer.Sentence) {
				j.Why = append(j.Why, answer.Sentence)
			}
		}
	}
	if refused != nil {
		j.Why = append(j.Why, values(recorded, refused.Policy)...)
	}
	if recorded.Forbidden {
		j.Why = append(j.Why, "Authorization has refused the request before admission: install a Role and a RoleBinding for the user, or set server.flags: [--authorization-mode=AlwaysAllow].")
	}
	return nil
}

// values returns a line for each value of an expression of the policy that refused a request.
func values(request *trace.Request, policy *trace.Reference) []string {
	var all []string
	for _, x := range evaluated(request, policy) {
		if x.Value != "" {
			all = append(all, x.Field+": "+words(x.Expression)+" = "+x.Value)
		}
		for _, part := range x.Parts {
			all = append(all, "  "+part.String())
		}
	}
	return all
}

// referenceTo parses KIND/NAME or KIND/NAME/PART. It returns false for the name of a plugin.
func referenceTo(by string) (trace.Reference, bool) {
	parts := strings.SplitN(by, "/", 3)
	if len(parts) < 2 || trace.PluginOf(parts[0]) == "" {
		return trace.Reference{}, false
	}
	reference := trace.Reference{Kind: parts[0], Name: parts[1]}
	if len(parts) == 3 {
		reference.Part = parts[2]
	}
	return reference, true
}

// configurations returns the policies and the webhook configurations among objects.
func configurations(objects []manifests.Object) []trace.Reference {
	var all []trace.Reference
	for _, object := range objects {
		if trace.PluginOf(object.GetKind()) != "" {
			all = append(all, trace.Reference{Kind: object.GetKind(), Name: object.GetName()})
		}
	}
	return all
}

// configured returns what the installed objects have of a policy or a webhook configuration.
func configured(of trace.Reference, objects []manifests.Object) trace.Configured {
	c := trace.Configured{PluginOn: true}
	for _, object := range objects {
		switch {
		case object.GetKind() == of.Kind && object.GetName() == of.Name:
			if c.Webhooks == nil {
				c.Webhooks = []string{}
			}
			webhooks, _ := object.Object["webhooks"].([]any)
			for _, w := range webhooks {
				if fields, isMap := w.(map[string]any); isMap {
					name, _ := fields["name"].(string)
					c.Webhooks = append(c.Webhooks, name)
				}
			}
		case object.GetKind() == of.Kind:
			c.Others = append(c.Others, object.GetName())
		case object.GetKind() == of.Kind+"Binding":
			spec, _ := object.Object["spec"].(map[string]any)
			if spec["policyName"] == of.Name {
				c.Webhooks = append(c.Webhooks, object.GetName())
			}
		}
	}
	if c.Webhooks != nil {
		c.Others = nil
	}
	return c
}
