package testfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/requests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// The verdicts of an expectation.
const (
	Allowed = "allowed"
	Denied  = "denied"
)

// Planned is one request of a case, with the objects of its files, and what is expected of it.
type Planned struct {
	// Name is the name of the case. For a row of a table, the object's or the user's name follows.
	Name string
	// Line is the line of the case in its file.
	Line    int
	Request requests.Request
	// NamespaceLabels are the labels of the request's namespace, and Existing the objects that the server has before the
	// request.
	NamespaceLabels map[string]string
	Existing        []manifests.Object
	Expect          Expect
	// Object and Contains are the objects of Expect, or nil.
	Object, Contains *unstructured.Unstructured
}

// Plan returns the requests of the cases, with the fields of defaults.
func (f *File) Plan() ([]*Planned, error) {
	var all []*Planned
	for i := range f.AdmissionTest.Cases {
		rows, err := f.rows(&f.AdmissionTest.Cases[i], fmt.Sprintf("cases[%d]", i))
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// rows returns the requests of a case: one, or one for each object and user of a table.
func (f *File) rows(c *Case, field string) ([]*Planned, error) {
	type row struct {
		name   string
		object *unstructured.Unstructured
	}
	request := c.Request.or(f.Defaults.Request)
	rows := []row{}
	for i, source := range c.Objects {
		objects, err := f.objects(source, fmt.Sprintf("%s.objects[%d]", field, i))
		if err != nil {
			return nil, err
		}
		for n, object := range objects {
			rows = append(rows, row{"/" + cmp.Or(object.GetName(), fmt.Sprint(n)), object.Unstructured})
		}
	}
	if len(c.Objects) == 0 {
		object, err := f.one(request.Object, field+".object")
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{object: object})
	}
	users := []User{}
	if len(c.Users) > 0 {
		users = c.Users
	} else if request.User != nil {
		users = append(users, *request.User)
	} else {
		users = append(users, User{})
	}
	var all []*Planned
	names := map[string]bool{}
	for _, row := range rows {
		for _, user := range users {
			name := c.Name + row.name
			if len(c.Users) > 0 {
				name += "/" + user.Name
			}
			if names[name] {
				name = fmt.Sprintf("%s#%d", name, len(all)+1)
			}
			names[name] = true
			planned, err := f.planned(c, request, row.object, field)
			if err != nil {
				return nil, err
			}
			planned.Name = name
			planned.Request.As = rest.ImpersonationConfig{UserName: user.Name, UID: user.UID, Groups: user.Groups, Extra: user.Extra}
			all = append(all, planned)
		}
	}
	return all, nil
}

// planned returns the request of a case for an object, which may be nil. The request has no name and no user yet.
func (f *File) planned(c *Case, request Request, object *unstructured.Unstructured, field string) (*Planned, error) {
	p := &Planned{
		Line: c.Line, NamespaceLabels: request.NamespaceLabels, Expect: c.Expect.or(f.Defaults.Expect),
		Request: requests.Request{
			Operation: admissionv1.Operation(request.Operation), Subresource: request.Subresource, Namespace: request.Namespace,
			Options: requests.Options{
				DryRun: isTrue(request.DryRun), FieldManager: request.FieldManager, FieldValidation: request.FieldValidation,
				GracePeriod: -1, PropagationPolicy: request.PropagationPolicy, Force: isTrue(request.Force),
			},
		},
	}
	if request.GracePeriodSeconds != nil {
		p.Request.Options.GracePeriod = *request.GracePeriodSeconds
	}
	for i, source := range request.Existing {
		objects, err := f.objects(source, fmt.Sprintf("%s.existing[%d]", field, i))
		if err != nil {
			return nil, err
		}
		p.Existing = append(p.Existing, objects...)
	}
	var err error
	if p.Request.Old, err = f.one(request.Old, field+".old"); err != nil {
		return nil, err
	}
	if object == nil && p.Request.Old != nil && request.With != nil {
		object = p.Request.Old.DeepCopy()
	}
	if object != nil {
		object = object.DeepCopy()
		if p.Request.Old == nil && p.Request.Operation == admissionv1.Update {
			p.Request.Old = object.DeepCopy()
		}
		if request.With != nil {
			object.Object = merged(object.Object, request.With).(map[string]any)
		}
		p.Request.Objects = []*unstructured.Unstructured{object}
	}
	for _, given := range []struct {
		name   string
		object *unstructured.Unstructured
	}{{"object", object}, {"old", p.Request.Old}} {
		if given.object != nil && (given.object.GetAPIVersion() == "" || given.object.GetKind() == "") {
			return nil, f.fail(c.Line, field+"."+given.name, "apiVersion and kind must be set, here or in defaults")
		}
	}
	if p.Expect.Verdict == Allowed && p.Expect.By+p.Expect.Expression != "" {
		return nil, f.fail(c.Line, field+".expect", "by and expression are for a case that expects denied: leave them out, or expect denied")
	}
	if kind, _, named := strings.Cut(p.Expect.By, "/"); named && trace.PluginOf(kind) == "" {
		return nil, f.Fail(field+".expect.by", fmt.Errorf("%q: must begin with %s, %s, %s or %s, or be the name of an admission plugin, validation or authorization",
			p.Expect.By, trace.ValidatingPolicy, trace.MutatingPolicy, trace.ValidatingConfiguration, trace.MutatingConfiguration))
	}
	if err := f.patched(p, request, field); err != nil {
		return nil, err
	}
	switch {
	case len(p.Request.Objects) == 0 && p.Request.Patch != nil:
	case len(p.Request.Objects) == 0 && p.Request.Operation == admissionv1.Delete && p.Request.Old != nil:
		p.Request.Objects = []*unstructured.Unstructured{p.Request.Old}
		p.Request.Old = nil
	case len(p.Request.Objects) == 0:
		return nil, f.fail(c.Line, field+".object", "must be set: only with and old together, or a deletion of old, need no object")
	case p.Request.Operation == admissionv1.Connect && p.Request.Old == nil:
		p.Request.Old = p.Request.Objects[0]
		p.Request.Objects = nil
	}
	if p.Object, err = f.expected(p.Expect.Object, field+".expect.object"); err != nil {
		return nil, err
	}
	p.Contains, err = f.one(p.Expect.Contains, field+".expect.contains")
	return p, err
}

// patched adds the patch of a request. A patch takes the place of the object, which is the one before if there is no other.
func (f *File) patched(p *Planned, request Request, field string) error {
	applies := isTrue(request.Apply)
	switch {
	case request.Patch != nil && applies:
		return f.fail(p.Line, field+".apply", "a request is a patch or a server-side apply: leave out apply or patch")
	case request.Patch != nil:
		kind, body, err := request.Patch.body()
		if err != nil {
			return f.fail(p.Line, field+".patch", "%w", err)
		}
		p.Request.Patch = &requests.Patch{Type: kind, Body: body}
		if p.Request.Old == nil && len(p.Request.Objects) > 0 {
			p.Request.Old = p.Request.Objects[0]
		}
		p.Request.Objects = nil
		if p.Request.Old == nil {
			return f.fail(p.Line, field+".old", "must be set, or object: a patch needs the object before it")
		}
	case applies && len(p.Request.Objects) > 0:
		body, err := p.Request.Objects[0].MarshalJSON()
		if err != nil {
			return f.fail(p.Line, field+".object", "%w", err)
		}
		p.Request.Patch = &requests.Patch{Type: types.ApplyPatchType, Body: body}
		p.Request.Options.FieldManager = cmp.Or(p.Request.Options.FieldManager, manifests.FieldManager)
	}
	return nil
}

// body returns the type and the text of the patch.
func (p *Patch) body() (kind types.PatchType, body []byte, err error) {
	given := 0
	for _, one := range []struct {
		kind  types.PatchType
		value any
		set   bool
	}{
		{types.MergePatchType, p.Merge, p.Merge != nil}, {types.StrategicMergePatchType, p.Strategic, p.Strategic != nil}, {types.JSONPatchType, p.JSON, p.JSON != nil},
	} {
		if one.set {
			given++
			kind = one.kind
			body, err = json.Marshal(one.value)
		}
	}
	if given != 1 {
		return "", nil, fmt.Errorf("must have one of merge, strategic and json, got %d", given)
	}
	return kind, body, err
}

func isTrue(value *bool) bool { return value != nil && *value }

// expected returns the object of expect.object. A file that doesn't exist yet has an empty object, so that an update of the
// expectations can write it.
func (f *File) expected(object *Object, field string) (*unstructured.Unstructured, error) {
	if object != nil && object.Inline == nil {
		if _, err := os.Stat(f.relative(object.Path)); errors.Is(err, fs.ErrNotExist) {
			return &unstructured.Unstructured{Object: map[string]any{}}, nil
		}
	}
	return f.one(object, field)
}

// one returns the object of a field, or nil if the field isn't set. The object of a part, as in expect.contains, may
// lack the apiVersion and the kind.
func (f *File) one(object *Object, field string) (*unstructured.Unstructured, error) {
	if object == nil {
		return nil, nil
	}
	if object.Inline != nil {
		return object.Inline.DeepCopy(), nil
	}
	read, err := f.objects(*object, field)
	if err != nil {
		return nil, err
	}
	if len(read) != 1 {
		return nil, f.fail(object.Line, field, "%q: the file must have one object, got %d", object.Path, len(read))
	}
	return read[0].Unstructured, nil
}

// merged returns a value with a JSON merge patch (RFC 7386).
func merged(value, patch any) any {
	fields, isMap := patch.(map[string]any)
	if !isMap {
		return patch
	}
	result := map[string]any{}
	if old, ok := value.(map[string]any); ok {
		for key, element := range old {
			result[key] = element
		}
	}
	for key, element := range fields {
		if element == nil {
			delete(result, key)
			continue
		}
		result[key] = merged(result[key], element)
	}
	return result
}

// or returns the request with the fields of defaults that it doesn't set.
func (r Request) or(defaults Request) Request {
	r.Operation = cmp.Or(r.Operation, defaults.Operation)
	r.Object = cmp.Or(r.Object, defaults.Object)
	if r.With == nil {
		r.With = defaults.With
	}
	r.Old = cmp.Or(r.Old, defaults.Old)
	r.Patch = cmp.Or(r.Patch, defaults.Patch)
	r.Apply = cmp.Or(r.Apply, defaults.Apply)
	r.Force = cmp.Or(r.Force, defaults.Force)
	r.Subresource = cmp.Or(r.Subresource, defaults.Subresource)
	r.Namespace = cmp.Or(r.Namespace, defaults.Namespace)
	if r.NamespaceLabels == nil {
		r.NamespaceLabels = defaults.NamespaceLabels
	}
	r.User = cmp.Or(r.User, defaults.User)
	if r.Existing == nil {
		r.Existing = defaults.Existing
	}
	r.DryRun = cmp.Or(r.DryRun, defaults.DryRun)
	r.FieldManager = cmp.Or(r.FieldManager, defaults.FieldManager)
	r.FieldValidation = cmp.Or(r.FieldValidation, defaults.FieldValidation)
	r.GracePeriodSeconds = cmp.Or(r.GracePeriodSeconds, defaults.GracePeriodSeconds)
	r.PropagationPolicy = cmp.Or(r.PropagationPolicy, defaults.PropagationPolicy)
	return r
}

// or returns the expectation with the fields of defaults that it doesn't set and that fit its verdict.
func (e *Expect) or(defaults *Expect) Expect {
	if e == nil {
		return *defaults
	}
	all := *e
	if defaults == nil {
		return all
	}
	all.Verdict = cmp.Or(all.Verdict, defaults.Verdict)
	if all.Verdict == Denied {
		all.By = cmp.Or(all.By, defaults.By)
		all.Expression = cmp.Or(all.Expression, defaults.Expression)
		all.Message = cmp.Or(all.Message, defaults.Message)
		all.Reason = cmp.Or(all.Reason, defaults.Reason)
		all.Code = cmp.Or(all.Code, defaults.Code)
		return all
	}
	if all.Warnings == nil {
		all.Warnings = defaults.Warnings
	}
	if all.AuditAnnotations == nil {
		all.AuditAnnotations = defaults.AuditAnnotations
	}
	all.Object = cmp.Or(all.Object, defaults.Object)
	all.Contains = cmp.Or(all.Contains, defaults.Contains)
	if all.Patch == nil {
		all.Patch = defaults.Patch
	}
	return all
}
