package webhooksuite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/tree"
)

// patchCases returns the cases about patched objects.
func patchCases() []Case {
	return []Case{
		{
			ID: "patch.applies", Level: LevelError, Source: responseSource,
			Promise: "The patch applies to the object that the webhook was sent.",
			Advice:  "Make the patch from the object in the request: each parent of a path exists, and a removed or replaced value is there.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.patched(ctx, func(in *Input, _ map[string]any, err error) *Finding {
					if err != nil {
						return &Finding{Seen: fmt.Sprintf("%v, in the patch %s", err, short(encoded(s.asked(ctx, in).patch, false)))}
					}
					return nil
				})
			},
		},
		{
			ID: "patch.valid", Level: LevelError, Source: responseSource,
			Promise: "After all object modifications are complete, the incoming object is validated by the API server: the patched object is valid.",
			Advice:  "Patch only with values that the API takes. The user sees the server's error, which blames the user's object.",
			try:     tryValid,
		},
		untouched("patch.status", "status is written by its subresource: a patch of a write of the main resource doesn't touch it.", "Kubernetes API conventions, Spec and Status",
			"Leave out status. A patch that is made from a typed object may have it by accident: compare the encoded objects without status.",
			func(in *Input) bool { return in.Subresource() == "" }, "status"),
		untouched("patch.uid", "metadata.uid, resourceVersion, generation, creationTimestamp and deletionTimestamp are populated by the system, and read-only.", "Kubernetes API reference, ObjectMeta",
			"Leave out what the server sets.", nil,
			"metadata.uid", "metadata.resourceVersion", "metadata.generation", "metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.selfLink"),
		untouched("patch.managedFields", "managedFields is for internal housekeeping: a workflow doesn't set or understand it.", "Kubernetes API reference, ObjectMeta",
			"Leave out metadata.managedFields.", nil, "metadata.managedFields"),
		untouched("patch.identity", "The patch keeps apiVersion, kind, name and namespace: the request is for that object.", "Kubernetes API conventions, Metadata",
			"Leave out apiVersion, kind, metadata.name and metadata.namespace.", nil,
			"apiVersion", "kind", "metadata.name", "metadata.namespace"),
		{
			ID: "patch.keepsUnknownFields", Level: LevelWarning, Source: referenceSource,
			Promise: "A patch keeps fields that the webhook doesn't know: newer API servers and definitions have more of them.",
			Advice:  "Make the patch from the changes alone, or compare the encoded typed objects before and after. A comparison of request.object with the encoded typed object removes each field that the type lacks.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.each(func(in *Input) bool { return in.object() != nil && len(s.asked(ctx, in).patch) > 0 }, func(in *Input) *Finding {
					object := tree.Clone(in.object()).(map[string]any)
					object["futureField"] = map[string]any{"a": "b"}
					if spec, is := object["spec"].(map[string]any); is {
						spec["futureField"] = []any{"a"}
					}
					eachNamed("/spec", object["spec"], func(_ string, element map[string]any) { element["futureField"] = "a" })
					got := s.ask(ctx, in, in.with(setObject(object)))
					after, err := got.patched(object)
					if got.unreadable() != "" || !got.allowed || err != nil {
						return nil // another case reports a patch that can't be applied
					}
					for _, path := range [][]string{{"futureField"}, {"spec", "futureField"}} {
						if tree.At(object, path...) != nil && tree.At(after, path...) == nil {
							return &Finding{Sent: s.describe(in) + ", with fields that no version has", Seen: fmt.Sprintf("the patch removes the field %v", path)}
						}
					}
					return s.keptInLists(in, object, after)
				})
			},
		},
		{
			ID: "patch.keepsNumbers", Level: LevelError, Source: "RFC 8259, Numbers",
			Promise: "A patch keeps numbers that a double can't hold, such as 9007199254740993.",
			Advice:  "Decode numbers as integers or with their digits: json.Number in Go, or patch the changes alone.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.each(func(in *Input) bool { return in.object() != nil && len(s.asked(ctx, in).patch) > 0 }, func(in *Input) *Finding {
					object := tree.Clone(in.object()).(map[string]any)
					big := mustTree([]byte(`{"number": 9007199254740993}`))["number"]
					object["futureField"] = big
					if spec, is := object["spec"].(map[string]any); is {
						spec["futureField"] = big
					}
					got := s.ask(ctx, in, in.with(setObject(object)))
					after, err := got.patched(object)
					if got.unreadable() != "" || !got.allowed || err != nil {
						return nil // another case reports a patch that can't be applied
					}
					for _, path := range [][]string{{"futureField"}, {"spec", "futureField"}} {
						kept := tree.At(after, path...)
						if kept == nil {
							continue // another case reports a removed field
						}
						if d := differs("/"+strings.Join(path, "/"), big, kept); d != "" {
							return &Finding{Seen: d}
						}
					}
					return nil
				})
			},
		},
	}
}

// eachNamed calls f for the objects with a field "name" in the lists of a value. In the path of an object, its name
// takes the place of the index. eachNamed doesn't look into list items without a name.
func eachNamed(path string, value any, f func(path string, element map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			eachNamed(path+"/"+key, field, f)
		}
	case []any:
		for _, item := range v {
			element, _ := item.(map[string]any)
			if name, is := element["name"].(string); is {
				f(path+"/"+name, element)
				eachNamed(path+"/"+name, element, f)
			}
		}
	}
}

// keptInLists checks that a patch keeps the unknown field futureField of each object in the lists of the spec. The
// patch may remove whole objects.
func (s *Suite) keptInLists(in *Input, before, after map[string]any) *Finding {
	had := map[string]bool{}
	eachNamed("/spec", before["spec"], func(path string, _ map[string]any) { had[path] = true })
	var finding *Finding
	eachNamed("/spec", after["spec"], func(path string, element map[string]any) {
		if had[path] && element["futureField"] == nil {
			finding = &Finding{Sent: s.describe(in) + ", with fields that no version has", Seen: "the patch removes the field futureField of " + path}
		}
	})
	return finding
}

// patched calls the function try for each input whose answer has a patch. The second argument of try is the patched
// object, or nil if the patch can't be applied.
func (s *Suite) patched(ctx context.Context, try func(in *Input, after map[string]any, err error) *Finding) ([]Finding, error) {
	findings, err := s.each(func(in *Input) bool {
		a := s.asked(ctx, in)
		return in.object() != nil && s.good(ctx, in) && a.allowed && len(a.patch) > 0
	}, func(in *Input) *Finding {
		after, err := s.asked(ctx, in).patched(in.object())
		return try(in, after, err)
	})
	if err != nil && findings == nil {
		return nil, skipped("no answer has a patch")
	}
	return findings, err
}

// untouched returns a case that fails if a patch changes one of the fields. If the function keep isn't nil, the case
// uses only inputs for which keep returns true.
func untouched(id, promise, source, advice string, keep func(*Input) bool, fields ...string) Case {
	return Case{
		ID: id, Promise: promise, Source: source, Level: LevelError, Advice: advice,
		try: func(ctx context.Context, s *Suite) ([]Finding, error) {
			return s.patched(ctx, func(in *Input, after map[string]any, err error) *Finding {
				if err != nil || keep != nil && !keep(in) {
					return nil
				}
				for _, field := range fields {
					path := splitDots(field)
					before, now := meant(tree.At(in.object(), path...)), meant(tree.At(after, path...))
					if isEmpty(before) && isEmpty(now) {
						continue
					}
					if d := differs("/"+field, before, now); d != "" {
						return &Finding{Seen: d}
					}
				}
				return nil
			})
		},
	}
}

// isEmpty tells whether a value means the same as an absent field. The encoding of a typed Go object has such values.
// For example, controller-runtime's defaulters add a status with counts of 0, and the API server drops this status.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, field := range value {
			if !isEmpty(field) {
				return false
			}
		}
		return true
	case json.Number:
		number, err := value.Float64()
		return err == nil && number == 0
	}
	return value == nil || value == "" || value == false
}

// tryValid makes the judge check patched objects. It leaves out an object that the judge refuses even without the
// patch.
func tryValid(ctx context.Context, s *Suite) ([]Finding, error) {
	if s.Judge == nil {
		return nil, skipped("no API server judges objects")
	}
	return s.patched(ctx, func(in *Input, after map[string]any, err error) *Finding {
		if err != nil || in.Subresource() != "" || s.Judge.Valid(ctx, in, in.object()) != nil {
			return nil
		}
		if err := s.Judge.Valid(ctx, in, after); err != nil {
			return &Finding{Seen: fmt.Sprintf("%v, after the patch %s", err, short(encoded(s.asked(ctx, in).patch, false)))}
		}
		return nil
	})
}
