package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sort"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/jsonpatch"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/tree"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/testfile"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/requests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// request makes the request of a case, and adds what differs to the result.
func (s *Session) request(ctx context.Context, result *Result) {
	planned := result.planned
	request := planned.Request
	request.NamespaceLabels, request.AuditID = planned.NamespaceLabels, string(uuid.NewUUID())
	maker, err := requests.New(s.requests, request)
	if err != nil {
		result.Err = err
		return
	}
	applier := manifests.Applier{Config: s.server.setup}
	if err := applier.Apply(ctx, planned.Existing); err != nil {
		result.Err = fmt.Errorf("storing the objects of existing: %w", err)
		return
	}
	if err := maker.Prepare(ctx); err != nil {
		result.Err = fmt.Errorf("storing the object before the request: %w", err)
		return
	}
	if len(planned.Expect.AuditAnnotations) > 0 {
		s.server.audits.expect(request.AuditID)
	}
	j := &judged{session: s, Result: result, id: request.AuditID, response: maker.Make(ctx), operation: maker.Operation}
	if unfit := (requests.InputError{}); errors.As(j.response.Err, &unfit) {
		result.Err = unfit
		return
	}
	result.object = j.response.Object.Object
	if err := j.judge(ctx); err != nil {
		result.Err = err
	}
}

// judged is a request that has been made.
type judged struct {
	*Result
	session   *Session
	id        string
	operation admissionv1.Operation
	response  requests.Response
	recorded  *trace.Request // nil before record, and for a request that isn't recorded
	asked     bool
}

// judge compares the response with what the case expects.
func (j *judged) judge(ctx context.Context) error {
	want := &j.planned.Expect
	status := statusOf(j.response.Err)
	for _, compare := range []func(context.Context, *testfile.Expect, metav1.Status) error{
		j.verdict, j.refusal, j.texts, j.auditAnnotations, j.objects, j.patch,
	} {
		if err := compare(ctx, want, status); err != nil {
			return err
		}
	}
	if j.session.mutated {
		return nil
	}
	if tell := j.session.runner.Recorded; tell != nil {
		recorded, err := j.record(ctx)
		if err != nil {
			return err
		}
		tell(j.Result, j.session.objects, recorded)
	}
	if len(j.Findings) == 0 && !j.session.runner.Timelines {
		return nil
	}
	return j.explain(ctx)
}

// statusOf returns the status of an error. For an error that isn't the server's, it is a status with the error's text.
func statusOf(err error) metav1.Status {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return metav1.Status{Status: metav1.StatusSuccess}
	case errors.As(err, &status):
		return status.Status()
	}
	return metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
}

func (j *judged) differ(field, want, got string) {
	j.Findings = append(j.Findings, Finding{Field: field, Want: want, Got: got})
}

// verdict compares the verdict. A connection is allowed if admission lets it pass, because there is no node to connect
// to.
func (j *judged) verdict(ctx context.Context, want *testfile.Expect, status metav1.Status) error {
	got, because := testfile.Allowed, ""
	if status.Status == metav1.StatusFailure {
		got, because = testfile.Denied, ": "+status.Message
	}
	if got == testfile.Denied && j.operation == admissionv1.Connect {
		recorded, err := j.record(ctx)
		if err != nil {
			return err
		}
		if recorded != nil && recorded.Refused() == nil && !recorded.Forbidden && len(recorded.Admissions) > 0 {
			got, because = testfile.Allowed, ""
		}
	}
	if got != want.Verdict {
		j.differ("verdict", want.Verdict, got+because)
	}
	return nil
}

// refusal compares who has refused the request, and why.
func (j *judged) refusal(ctx context.Context, want *testfile.Expect, _ metav1.Status) error {
	if want.By == "" && want.Expression == "" {
		return nil
	}
	recorded, err := j.record(ctx)
	if err != nil {
		return err
	}
	by, refused := refusedBy(recorded), (*trace.Refusal)(nil)
	if recorded != nil {
		refused = recorded.Refused()
	}
	if want.By != "" && by != want.By && (refused == nil || !refused.Is(want.By)) {
		j.differ("by", want.By, by)
	}
	if want.Expression != "" {
		if got := expressionsOf(recorded); !got.has(want.Expression) {
			j.differ("expression", want.Expression, got.String())
		}
	}
	return nil
}

// refusedBy names the part that refused a request, or nobody.
func refusedBy(request *trace.Request) string {
	switch {
	case request == nil:
		return "the server, before admission"
	case request.Forbidden:
		return "authorization"
	case request.Refused() != nil:
		return request.Refused().By()
	case len(request.Admissions) > 0 && request.Admissions[len(request.Admissions)-1].Validation != nil && request.Admissions[len(request.Admissions)-1].Validation.Error != nil:
		return "validation"
	case request.Error != nil:
		return "the server, after admission"
	}
	return "nobody"
}

// expressions are the expressions that refused a request, with their paths.
type expressions []*trace.Expression

func expressionsOf(request *trace.Request) (found expressions) {
	if request == nil || request.Refused() == nil {
		return nil
	}
	refused := request.Refused()
	for _, x := range evaluated(request, refused.Policy) {
		for _, field := range refused.Fields {
			if x.Field == field || x.Field == field+".expression" {
				found = append(found, x)
			}
		}
	}
	return found
}

// evaluated returns the expressions of a policy, in the order of their evaluations.
func evaluated(request *trace.Request, policy *trace.Reference) (all []*trace.Expression) {
	if policy == nil {
		return nil
	}
	for _, admission := range request.Admissions {
		for _, step := range admission.Steps {
			for _, p := range step.Policies {
				if p.Kind != policy.Kind || p.Name != policy.Name {
					continue
				}
				for _, b := range p.Bindings {
					for _, e := range b.Evaluations {
						all = append(all, e.Expressions...)
					}
				}
			}
		}
	}
	return all
}

func (e expressions) has(wanted string) bool {
	for _, x := range e {
		if x.Field == wanted || words(x.Expression) == words(wanted) {
			return true
		}
	}
	return false
}

func (e expressions) String() string {
	var all []string
	for _, x := range e {
		all = append(all, x.Field+": "+words(x.Expression))
	}
	if len(all) == 0 {
		return "no expression"
	}
	return strings.Join(all, "; ")
}

// words joins the lines of an expression.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// texts compares the message, the reason, the code and the warnings.
func (j *judged) texts(_ context.Context, want *testfile.Expect, status metav1.Status) error {
	if want.Message != nil {
		matches, err := matchesText(*want.Message, status.Message)
		if err != nil {
			return fmt.Errorf("expect.message: %w", err)
		}
		if !matches {
			j.differ("message", describe(*want.Message), quoted(status.Message))
		}
	}
	if want.Reason != "" && want.Reason != string(status.Reason) {
		j.differ("reason", want.Reason, string(status.Reason))
	}
	code := int(status.Code)
	if status.Status == metav1.StatusSuccess {
		code = http.StatusOK
		if j.operation == admissionv1.Create {
			code = http.StatusCreated
		}
	}
	if want.Code != 0 && want.Code != code {
		j.differ("code", fmt.Sprint(want.Code), fmt.Sprint(code))
	}
	return j.warnings(want)
}

// warnings compares the warnings. Each expected warning stands for one warning of the response.
func (j *judged) warnings(want *testfile.Expect) error {
	if want.Warnings == nil {
		return nil
	}
	left := append([]string(nil), j.response.Warnings...)
	var missing []string
	for i, text := range want.Warnings {
		found := -1
		for n, warning := range left {
			matches, err := matchesText(text, warning)
			if err != nil {
				return fmt.Errorf("expect.warnings[%d]: %w", i, err)
			}
			if matches {
				found = n
				break
			}
		}
		if found < 0 {
			missing = append(missing, describe(text))
			continue
		}
		left = append(left[:found], left[found+1:]...)
	}
	if len(missing)+len(left) > 0 {
		for i := range left {
			left[i] = quoted(left[i])
		}
		j.differ("warnings", orNothing(missing), orNothing(left))
	}
	return nil
}

func orNothing(texts []string) string {
	if len(texts) == 0 {
		return "no other warning"
	}
	return strings.Join(texts, ", ")
}

func quoted(text string) string {
	if text == "" {
		return "no message"
	}
	return fmt.Sprintf("%q", text)
}

// matchesText tells whether a text is as expected.
func matchesText(want testfile.Text, got string) (bool, error) {
	if want.Matches != "" {
		expression, err := regexp.Compile(want.Matches)
		if err != nil {
			return false, fmt.Errorf("matches: must be a regular expression: %w", err)
		}
		if !expression.MatchString(got) {
			return false, nil
		}
	}
	return strings.Contains(got, want.Contains) && (want.Equals == nil || *want.Equals == got), nil
}

// describe describes an expected text.
func describe(want testfile.Text) string {
	var all []string
	if want.Equals != nil {
		all = append(all, fmt.Sprintf("%q", *want.Equals))
	}
	if want.Contains != "" {
		all = append(all, fmt.Sprintf("a text with %q", want.Contains))
	}
	if want.Matches != "" {
		all = append(all, fmt.Sprintf("a text that matches %q", want.Matches))
	}
	return strings.Join(all, " and ")
}

// auditAnnotations compares the annotations of the audit event.
func (j *judged) auditAnnotations(ctx context.Context, want *testfile.Expect, _ metav1.Status) error {
	if len(want.AuditAnnotations) == 0 {
		return nil
	}
	got, err := j.session.server.audits.annotations(ctx, j.id)
	if err != nil {
		return err
	}
	keys := make([]string, 0, len(want.AuditAnnotations))
	for key := range want.AuditAnnotations {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		text, found := got[key]
		matches, err := matchesText(want.AuditAnnotations[key], text)
		switch {
		case err != nil:
			return fmt.Errorf("expect.auditAnnotations.%s: %w", key, err)
		case !found:
			j.differ("auditAnnotations."+key, describe(want.AuditAnnotations[key]), "no annotation with the key")
		case !matches:
			j.differ("auditAnnotations."+key, describe(want.AuditAnnotations[key]), fmt.Sprintf("%q", text))
		}
	}
	return nil
}

// objects compares the object of the response.
func (j *judged) objects(_ context.Context, want *testfile.Expect, status metav1.Status) error {
	if status.Status == metav1.StatusFailure || j.planned.Object == nil && j.planned.Contains == nil {
		return nil // the finding about the verdict says that there is no object
	}
	if j.planned.Object != nil {
		if err := j.compare("object", j.planned.Object.Object, j.object); err != nil {
			return err
		}
	}
	if j.planned.Contains != nil {
		if missing := lacking("", j.planned.Contains.Object, j.object); len(missing) > 0 {
			j.Findings = append(j.Findings, Finding{Field: "contains", Diff: missing})
		}
	}
	return nil
}

// patch compares the effect of admission with that of the expected patch.
func (j *judged) patch(ctx context.Context, want *testfile.Expect, status metav1.Status) error {
	if want.Patch == nil || status.Status == metav1.StatusFailure {
		return nil
	}
	recorded, err := j.record(ctx)
	if err != nil {
		return err
	}
	if recorded == nil || len(recorded.Admissions) == 0 || recorded.Stripped {
		return errors.New("expect.patch: the server has no record of the request")
	}
	last := recorded.Admissions[len(recorded.Admissions)-1]
	before, err := tree.Decode(last.Object)
	if err != nil {
		return err
	}
	patched, err := jsonpatch.Apply(before, want.Patch)
	if err != nil {
		return fmt.Errorf("expect.patch: the patch can't be applied to the object of the request: %w", err)
	}
	var admitted map[string]any
	if err := json.Unmarshal(last.Admitted, &admitted); err != nil {
		return err
	}
	object, isObject := patched.(map[string]any)
	if !isObject {
		return errors.New("expect.patch: the patch must leave an object")
	}
	return j.compare("patch", object, admitted)
}

// compare adds a finding if two objects differ by more than what differs from run to run.
func (j *judged) compare(field string, want, got map[string]any) error {
	expected, err := lasting(want)
	if err != nil {
		return fmt.Errorf("expect.%s: %w", field, err)
	}
	actual, err := lasting(got)
	if err != nil {
		return err
	}
	changes := trace.Diff(expected, actual)
	if len(changes) == 0 {
		return nil
	}
	finding := Finding{Field: field}
	for _, change := range changes {
		finding.Diff = append(finding.Diff, change.String())
	}
	j.Findings = append(j.Findings, finding)
	return nil
}

// record reads the record of the request from the server. It is nil if the server has refused the request before admission
// and authorization.
func (j *judged) record(ctx context.Context) (*trace.Request, error) {
	if j.asked {
		return j.recorded, nil
	}
	user := j.planned.Request.As.UserName
	if user == "" {
		user = adminName
	}
	body, err := j.session.server.discovery.RESTClient().Get().AbsPath("/debug/admission/requests").Param("user", user).Param("limit", "1").Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("reading the record of the request: %w", err)
	}
	var list struct {
		Requests []*trace.Request `json:"requests"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	if len(list.Requests) > 0 && list.Requests[0].AuditID == j.id {
		j.recorded = list.Requests[0]
	}
	j.asked = true
	return j.recorded, nil
}
