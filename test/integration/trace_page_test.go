package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
)

// stranger returns an HTTP client without credentials. It doesn't follow redirects.
func stranger(t testing.TB, srv *miniapitest.Server) *http.Client {
	t.Helper()
	transport := must(rest.TransportFor(rest.AnonymousClientConfig(srv.Config())))(t)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// linkFor requests a sign-in link for a browser, and returns its URL.
func linkFor(t testing.TB, config *rest.Config) string {
	t.Helper()
	body, err := must(kubernetes.NewForConfig(config))(t).Discovery().RESTClient().Post().AbsPath(admissiontrace.SignInPath).DoRaw(t.Context())
	ok(t, err)
	var signIn admissiontrace.SignIn
	ok(t, json.Unmarshal(body, &signIn))
	return config.Host + signIn.Link
}

// permit gives a user permission for paths that aren't resources.
func permit(t testing.TB, srv *miniapitest.Server, user string, verbs []string, paths ...string) {
	t.Helper()
	client := srv.Client().RbacV1()
	must(client.ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: named(user), Rules: []rbacv1.PolicyRule{{Verbs: verbs, NonResourceURLs: paths}}}, metav1.CreateOptions{}))(t)
	must(client.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: named(user), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{}))(t)
}

// A sign-in link works once. The browser then has the permissions of the user who requested the link, only for the
// paths of the page.
func TestPageSignsIn(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	host, browser := srv.Config().Host, stranger(t, srv)
	link := linkFor(t, srv.Config())
	response, _ := visit(t, browser, link, nil)
	cookies := response.Cookies()
	if response.StatusCode != http.StatusOK || response.Header.Get("Refresh") != "0; url="+admissiontrace.Prefix || len(cookies) != 1 {
		t.Fatalf("want an answer that leads to the page, and a cookie, got %d, %v", response.StatusCode, response.Header)
	}
	if c := cookies[0]; !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != admissiontrace.Prefix {
		t.Errorf("want a cookie for the page alone that scripts and other sites can't use, got %s", c.Raw)
	}
	as := http.Header{"Cookie": {cookies[0].Name + "=" + cookies[0].Value}}
	wrong := http.Header{"Cookie": {cookies[0].Name + "=x"}}

	alice := srv.AddUser("alice")
	permit(t, srv, "alice", []string{"get", "post"}, admissiontrace.SignInPath, admissiontrace.Prefix)
	response, _ = visit(t, browser, linkFor(t, alice), nil)
	asAlice := http.Header{"Cookie": {cookies[0].Name + "=" + response.Cookies()[0].Value}}

	for _, test := range []struct {
		name, reason string
		path         string
		header       http.Header
		want         int
	}{
		{"the page", "the browser is signed in", admissiontrace.Prefix, as, http.StatusOK},
		{"requests", "the browser has the permissions of its user", admissiontrace.RequestsPath, as, http.StatusOK},
		{"the API", "the cookie is valid only for the page", "/api/v1/namespaces", as, http.StatusUnauthorized},
		{"a path that leaves the page", "paths are compared as they are",
			admissiontrace.Prefix + "../../api/v1/namespaces", as, http.StatusNotFound},
		{"the same link", "a link works once", strings.TrimPrefix(link, host), nil, http.StatusUnauthorized},
		{"another cookie", "only cookies of this server count", admissiontrace.Prefix, wrong, http.StatusUnauthorized},
		{"no cookie", "a browser that isn't signed in gets no content", admissiontrace.Prefix, nil, http.StatusUnauthorized},
		{"the page, as alice", "alice may see the page", admissiontrace.Prefix, asAlice, http.StatusOK},
		{"requests, as alice", "the session is bound to alice, who may not see requests", admissiontrace.RequestsPath,
			asAlice, http.StatusForbidden},
	} {
		t.Run(test.name, func(t *testing.T) {
			response, body := visit(t, browser, host+test.path, test.header)
			if response.StatusCode != test.want {
				t.Errorf("%s: want %d, got %s", test.reason, test.want, body)
			}
		})
	}
	for _, test := range []struct {
		name, reason string
		path, origin string
		want         int
	}{
		{"renewal", "a link is made only for a client with credentials", admissiontrace.SignInPath, host, http.StatusUnauthorized},
		{"question", "the page's own requests have the permissions of its user", admissiontrace.WhyPath, host, http.StatusBadRequest},
		{"question of another port", "another page of the host can't use the cookie", admissiontrace.WhyPath,
			"https://127.0.0.1:1", http.StatusUnauthorized},
	} {
		t.Run(test.name, func(t *testing.T) {
			req := must(http.NewRequestWithContext(t.Context(), http.MethodPost, host+test.path, nil))(t)
			req.Header = http.Header{"Cookie": as["Cookie"], "Origin": {test.origin}}
			response := must(browser.Do(req))(t)
			ok(t, response.Body.Close())
			if response.StatusCode != test.want {
				t.Errorf("%s: want %d, got %d", test.reason, test.want, response.StatusCode)
			}
		})
	}
	response, body := visit(t, browser, host+admissiontrace.Prefix, as)
	policy := response.Header.Get("Content-Security-Policy")
	body = strings.Replace(body, `<a href="https://github.com/miniapi-dev/miniapi/blob/main/docs/trace.md"`, "", 1) // the page leads there, and loads nothing
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(body, "http://") || strings.Contains(body, "https://") {
		t.Errorf("want a page that loads nothing from elsewhere, got the policy %s", policy)
	}
}

// The server's page has a matrix. For each resource and each webhook or policy, the matrix shows the operations that
// match the rules of the webhook or policy.
func TestMatrix(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	install(t, srv,
		mutating("pods", allow(), on("CREATE", "v1", "pods", "pods/exec", "pods/status"), labelledWeb),
		validating("all", allow(), on("DELETE", "apps/*", "*/*"), scope("Namespaced")),
		validating("itself", allow(), on("*", "admissionregistration.k8s.io/v1", "*")))
	rule := func(operation admissionregistrationv1.OperationType, group string, resources ...string) admissionregistrationv1.NamedRuleWithOperations {
		return admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{operation},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: resources},
		}}
	}
	refused := admissionregistrationv1.ValidatingAdmissionPolicySpec{Validations: []admissionregistrationv1.Validation{{Expression: "true"}}}
	enforced := admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}}
	policy := func(name string, binding *admissionregistrationv1.MatchResources, matches admissionregistrationv1.MatchResources) {
		t.Helper()
		spec, bound := refused, enforced
		spec.MatchConstraints, bound.MatchResources = &matches, binding
		enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named(name), Spec: spec}, bound)
	}
	policy("hooks", nil, admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{rule("DELETE", "admissionregistration.k8s.io", "*")}})
	policy("some", &admissionregistrationv1.MatchResources{
		ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		ResourceRules:  []admissionregistrationv1.NamedRuleWithOperations{rule("*", "batch", "jobs")},
	}, admissionregistrationv1.MatchResources{
		ResourceRules:        []admissionregistrationv1.NamedRuleWithOperations{rule("*", "batch", "*")},
		ExcludeResourceRules: []admissionregistrationv1.NamedRuleWithOperations{rule("DELETE", "batch", "*")},
	})
	unbound := refused
	unbound.MatchConstraints = &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{rule("*", "*", "*")}}
	must(srv.Client().AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named("unbound"), Spec: unbound}, metav1.CreateOptions{}))(t)
	adding := &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: named("adding"), Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
		ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
		MatchConstraints:   &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{rule("CREATE", "policy", "*"), rule("UPDATE", "policy", "*")}},
		Mutations: []admissionregistrationv1.Mutation{{
			PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
			ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: `Object{metadata: Object.metadata{labels: {"a": "b"}}}`},
		}},
	}}
	must(srv.Client().AdmissionregistrationV1().MutatingAdmissionPolicies().Create(t.Context(), adding, metav1.CreateOptions{}))(t)
	must(srv.Client().AdmissionregistrationV1().MutatingAdmissionPolicyBindings().Create(t.Context(), &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: named("adding"), Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: "adding"},
	}, metav1.CreateOptions{}))(t)
	body, err := srv.Client().Discovery().RESTClient().Get().AbsPath(admissiontrace.MatrixPath).DoRaw(t.Context())
	ok(t, err)
	var matrix admissiontrace.Matrix
	ok(t, json.Unmarshal(body, &matrix))
	got := map[string]string{}
	for _, row := range matrix.Resources {
		for i, cell := range row.Cells {
			if cell != nil {
				got[row.String()+" "+matrix.Columns[i].Name] = strings.Join(cell.Operations, " ")
			}
		}
	}
	want := map[string]string{
		"pods pods": "CREATE", "controllerrevisions.apps all": "DELETE", "daemonsets.apps all": "DELETE", "deployments.apps all": "DELETE",
		"replicasets.apps all": "DELETE", "statefulsets.apps all": "DELETE",
		// Policies apply to webhook configurations, but not to policies.
		"mutatingwebhookconfigurations.admissionregistration.k8s.io hooks":   "DELETE",
		"validatingwebhookconfigurations.admissionregistration.k8s.io hooks": "DELETE",
		"jobs.batch some":                    "CREATE UPDATE",
		"poddisruptionbudgets.policy adding": "CREATE UPDATE",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var columns []string
	for _, column := range matrix.Columns {
		columns = append(columns, fmt.Sprint(column.Kind, " ", column.Name, " ", column.Conditional, " ", column.Unbound))
	}
	wantColumns := []string{
		"MutatingAdmissionPolicy adding [] false",
		"MutatingWebhookConfiguration pods [objectSelector: app=web] false",
		"ValidatingAdmissionPolicy hooks [] false",
		"ValidatingAdmissionPolicy some [binding some: objectSelector: app=web] false",
		"ValidatingAdmissionPolicy unbound [] true",
		"ValidatingWebhookConfiguration all [] false",
		"ValidatingWebhookConfiguration itself [] false",
	}
	if diff := cmp.Diff(wantColumns, columns); diff != "" {
		t.Errorf("columns in the order of the chain (-want +got):\n%s", diff)
	}
}

// hostile is a text that would run code, or load an image, if the page inserted it as markup.
const hostile = `"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`

// The page shows requests as they end, with a waterfall, differences and reviews. A user can control it with the
// keyboard, and use it at a width of 400 pixels. It shows values of objects as text.
func TestPage(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	b := openBrowser(t)
	install(t, srv,
		mutating("sidecar", patch(miniapitest.Add("/data/added", "by a webhook")), on("CREATE", "v1", "configmaps")),
		mutating("other", allow(), on("UPDATE", "v1", "configmaps")),
		validating("check", allow(), on("CREATE", "v1", "configmaps")),
		validating("refuse", deny(hostile), on("CREATE", "v1", "serviceaccounts"), matchCondition(`object.metadata.name != "<img src=x>"`)))
	enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named("sizes"), Spec: validations(admissionregistrationv1.Validation{Expression: "int(object.data.size) > 0"})},
		admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}})
	create := func(ctx context.Context, name string) error {
		_, err := srv.Client().CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"note": hostile}},
			Data:       map[string]string{"text": hostile, "size": "3"},
		}, metav1.CreateOptions{})
		return err
	}
	ok(t, create(t.Context(), "first"))
	config := srv.Config()
	config.Impersonate, config.UserAgent = rest.ImpersonationConfig{UserName: hostile, Groups: []string{"system:masters"}}, hostile
	if _, err := must(kubernetes.NewForConfig(config))(t).CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: named("refused")}, metav1.CreateOptions{}); err == nil {
		t.Fatal("want the ServiceAccount to be refused")
	}

	b.show(1280, 800, "light")
	b.do("Page.enable", nil, nil)
	b.do("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": "window.violations = []; document.addEventListener('securitypolicyviolation', (e) => violations.push(e.violatedDirective))"}, nil)
	b.do("Page.navigate", map[string]any{"url": linkFor(t, srv.Config())}, nil)
	b.until(`document.querySelector("#detail .overview")?.textContent.includes("sidecar/sidecar.example.com")`)
	b.shoot("overview")
	b.until(`location.pathname === "/debug/admission/" && document.querySelectorAll("#list button").length >= 2 && document.querySelector("#live").getAttribute("aria-pressed") === "true"`)

	ok(t, create(t.Context(), "live"))
	b.until(`document.querySelector("#list button")?.textContent.includes("default/live")`)
	b.press("j")
	b.until(`document.querySelector("#detail h2").textContent.includes("default/live")`)
	b.shoot("light")
	if got := b.eval(`[...document.querySelectorAll("#detail h3")].map((h) => h.textContent).join(", ")`); got != "mutating · round 0, mutating · round 1, validating, object" {
		t.Errorf("want the waterfall by round, got %v", got)
	}
	if bars, _ := b.eval(`[...document.querySelectorAll("#detail .bar")].filter((bar) => bar.getBoundingClientRect().width >= 2).length`).(float64); bars < 6 {
		t.Errorf("want bars of plugins and webhooks, got %v", bars)
	}
	b.press("e")
	b.until(`[...document.querySelectorAll(".diff .add")].some((line) => line.textContent.includes("by a webhook"))`)
	if got := b.eval(`[...document.querySelectorAll("details.row[open] .name b")].map((name) => name.textContent).join()`); got != "sidecar/sidecar.example.com" {
		t.Errorf("want the row of the webhook that changed the object to open first, got %v", got)
	}
	b.press("e")
	b.until(`[...document.querySelectorAll(".values td")].some((cell) => cell.textContent.includes("spec.validations[0].expression"))`)
	b.until(`[...document.querySelectorAll("#detail .body p")].some((p) => p.textContent.includes('rules[0].operations is ["UPDATE"]'))`)
	b.eval(`for (const each of document.querySelectorAll("details.json")) each.open = true`)
	b.until(`[...document.querySelectorAll(".json pre")].some((pre) => pre.textContent.includes('"kind": "AdmissionReview"'))`)
	b.shoot("light-open")
	b.eval(`navigator.clipboard.writeText = async (text) => { window.copied = text }; document.querySelector("details.json button").click()`)
	b.until(`JSON.parse(window.copied || "{}").kind === "AdmissionReview"`)

	// The page shows the hostile names and values as text.
	b.press("j")
	b.until(`document.querySelector("#detail h2").textContent.includes("refused")`)
	b.press("e")
	b.until(`document.querySelector("#detail .banner").textContent.includes('<img src=x onerror="window.hacked=1">')`)
	b.until(`document.querySelector("#detail .facts").textContent.includes('<script>window.hacked=1</script>')`)
	b.press("j")
	b.press("e")
	b.eval(`for (const each of document.querySelectorAll("details.json")) each.open = true`)
	b.until(`document.querySelector("#detail").textContent.includes("onerror")`)
	if got := b.eval(`[document.querySelectorAll("img, iframe, object, main script").length, typeof window.hacked, window.violations.join()].join()`); got != "0,undefined," {
		t.Errorf("want values of objects to stay text, got elements, type of the mark and violations %v", got)
	}

	b.eval(`state.missed = 3; showList()`)
	b.until(`document.querySelector("#status").textContent.endsWith(" requests, 3 missed")`)
	b.eval(`filter.value = "serviceaccounts"; filter.dispatchEvent(new Event("input"))`)
	b.until(`document.querySelectorAll("#list button").length === 1`)
	b.eval(`filter.value = ""; filter.dispatchEvent(new Event("input")); document.activeElement.blur()`)
	b.press("m")
	b.until(`[...document.querySelectorAll("#matrix tbody th")].map((th) => th.textContent).join() === "configmaps,serviceaccounts"`)
	b.until(`[...document.querySelectorAll("#matrix thead th")].map((th) => th.textContent).slice(-3).join() === "validating policysizes,validating checkcheck.example.com,validating refuserefuse.example.com *"`)
	b.until(`document.querySelector("#matrix dd").textContent.includes('object.metadata.name != "<img src=x>"')`)
	b.shoot("matrix")
	b.show(400, 800, "dark")
	b.until(`document.documentElement.scrollWidth <= 400 && document.querySelector("#matrix").tabIndex === 0`)
	b.shoot("narrow-matrix")
	b.show(1280, 800, "light")
	b.press("r", "k")
	b.show(1280, 800, "dark")
	b.shoot("dark")

	b.show(400, 800, "light")
	b.until(`document.documentElement.scrollWidth <= 400`)
	b.press("e")
	b.shoot("narrow")
	b.press("Escape")
	b.until(`document.querySelector("#list").getBoundingClientRect().width > 300 && document.documentElement.scrollWidth <= 400`)
	b.shoot("narrow-list")
}

// The address of the page names the request that is open. The list marks and selects requests by what webhooks did, and
// shows the whole name of an object. A failed call has the address that it reached, and the remedy.
func TestPageOfFailedCalls(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	b := openBrowser(t)
	install(t, srv,
		validating("open", http.NotFoundHandler(), on("CREATE", "v1", "configmaps"), failurePolicy(admissionregistrationv1.Ignore)),
		validating("closed", http.NotFoundHandler(), on("CREATE", "v1", "serviceaccounts")))
	name := strings.Repeat("long-name-", 12) + "end"
	must(srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named(name)}, metav1.CreateOptions{}))(t)
	must(srv.Client().CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: named("quiet")}, metav1.CreateOptions{}))(t)
	if _, err := srv.Client().CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: named("refused")}, metav1.CreateOptions{}); err == nil {
		t.Fatal("want the ServiceAccount to be refused")
	}
	b.show(1280, 800, "light")
	b.do("Page.navigate", map[string]any{"url": linkFor(t, srv.Config())}, nil)
	b.until(`document.querySelectorAll("#list button").length >= 3`)
	for _, test := range []struct{ outcome, marks string }{
		{"failed open", name + " failed open called"},
		{"failed", "refused failed called, " + name + " failed open called"},
		{"called", "refused failed called, " + name + " failed open called"},
		{"not called", "quiet not called"},
	} {
		got := b.eval(fmt.Sprintf(`outcome.value = %q; outcome.dispatchEvent(new Event("change")); [...document.querySelectorAll("#list button")].map((row) =>
			[row.querySelector("b").textContent.split("/").pop(), ...[...row.querySelectorAll(".mark")].map((mark) => mark.textContent)].join(" ")).filter((row) => !row.startsWith("kube-root")).join(", ")`, test.outcome))
		if got != test.marks {
			t.Errorf("%s: want the requests %q with their marks, got %q", test.outcome, test.marks, got)
		}
	}
	b.eval(`outcome.value = "failed open"; outcome.dispatchEvent(new Event("change"))`)
	if got := b.eval(`(() => { const name = document.querySelector("#list b"); return name.scrollWidth <= name.clientWidth + 1 })()`); got != true {
		t.Error("want the whole name of the object in the list, got a name that is cut")
	}
	b.press("j")
	b.until(`/^#request\/\d+$/.test(location.hash) && document.title.includes("` + name + `")`)
	b.press("e") // nothing changed the object, so all rows open
	b.until(`[...document.querySelectorAll("#detail .body p")].some((p) => /^404 from https:\/\/127.0.0.1:\d+\/open at 127.0.0.1:\d+$/.test(p.textContent))`)
	b.until(`[...document.querySelectorAll("#detail .body p")].some((p) => p.textContent.startsWith("Remedy: compare the path"))`)
	b.shoot("failed-open")
	b.do("Page.reload", nil, nil)
	b.until(`document.querySelector("#detail h2")?.textContent.includes("` + name + `")`)
	b.press("?")
	b.until(`document.querySelector("#help").open && document.querySelector("#help h2").textContent === "Keys" && document.querySelector("#help a").href.endsWith("/docs/trace.md")`)
	b.eval(`document.querySelector("#help").close()`)
	b.press("Escape")
	b.until(`!location.hash && document.querySelector("#detail .overview")`)
	b.eval(`history.back()`)
	b.until(`document.querySelector("#detail h2")?.textContent.includes("` + name + `")`)
	b.eval(`location.hash = "#request/99999"`)
	b.until(`document.querySelector("#detail .banner")?.textContent.includes("#99999 isn't recorded")`)
}
