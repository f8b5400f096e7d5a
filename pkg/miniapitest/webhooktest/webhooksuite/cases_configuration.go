package webhooksuite

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// namespaceNameLabel is the label with the name of a namespace. Every namespace has it.
const namespaceNameLabel = "kubernetes.io/metadata.name"

// configurationCases returns the cases that check only the configuration, and don't call the webhook.
func configurationCases() []Case {
	return []Case{
		configurationCase("config.sideEffects", LevelError, "In admissionregistration.k8s.io/v1, sideEffects must be set to None or NoneOnDryRun.", sideEffectsSource,
			"Set sideEffects to None, or to NoneOnDryRun if the webhook changes anything else and looks at request.dryRun. Otherwise dry runs fail.",
			func(h *Hook) *Finding {
				switch side := h.Entry.SideEffects; {
				case side == nil && h.Configuration.isBeta():
					return &Finding{Level: LevelWarning, Seen: "no sideEffects, which stands for Unknown"}
				case side == nil:
					return &Finding{Seen: "no sideEffects"}
				case *side == admissionregistrationv1.SideEffectClassNone || *side == admissionregistrationv1.SideEffectClassNoneOnDryRun:
					return nil
				default:
					return &Finding{Seen: fmt.Sprintf("sideEffects %s", *side)}
				}
			}),
		configurationCase("config.reviewVersions", LevelError, "admissionReviewVersions is a required field when creating admissionregistration.k8s.io/v1 webhook configurations.", requestSource,
			"List v1, and v1beta1 only if API servers before 1.16 call the webhook.",
			func(h *Hook) *Finding {
				known := false
				for _, v := range h.Entry.AdmissionReviewVersions {
					known = known || v == "v1"
				}
				switch {
				case len(h.Entry.AdmissionReviewVersions) == 0 && !h.Configuration.isBeta():
					return &Finding{Seen: "no admissionReviewVersions"}
				case !known:
					return &Finding{Level: LevelWarning, Seen: fmt.Sprintf("admissionReviewVersions %v, without v1", h.Entry.AdmissionReviewVersions)}
				}
				return nil
			}),
		configurationCase("config.name", LevelError, "Each webhook should be given a unique name; the name is fully qualified, such as imagepolicy.kubernetes.io.", configurationSource,
			"Name the webhook by a DNS subdomain of at least three parts, and each by another name.",
			func(h *Hook) *Finding {
				same := 0
				for i := range h.Configuration.Hooks {
					if h.Configuration.Hooks[i].Name == h.Entry.Name {
						same++
					}
				}
				switch {
				case same > 1:
					return &Finding{Seen: fmt.Sprintf("%d webhooks with the name %s", same, h.Entry.Name)}
				case len(validation.IsDNS1123Subdomain(h.Entry.Name)) > 0 || strings.Count(h.Entry.Name, ".") < 2:
					return &Finding{Seen: fmt.Sprintf("the name %q", h.Entry.Name)}
				}
				return nil
			}),
		configurationCase("config.apiVersion", LevelWarning, "Configurations of admissionregistration.k8s.io/v1beta1 are deprecated in v1.16 in favor of v1, and not served since v1.22.", configurationSource,
			"Write the configuration in admissionregistration.k8s.io/v1, with sideEffects and admissionReviewVersions.",
			func(h *Hook) *Finding {
				if h.Configuration.isBeta() {
					return &Finding{Seen: "apiVersion " + h.Configuration.APIVersion}
				}
				return nil
			}),
		configurationCase("config.clientConfig", LevelError, "Webhooks are called via a URL or a service reference: the URL begins with https:// and has no user, no fragment and no query.", contactSource,
			"Name the service if the webhook runs in the cluster, and else an https URL whose host each API server can resolve.",
			func(h *Hook) *Finding { return clientFinding(h.Entry.ClientConfig) }),
		configurationCase("config.caBundle", LevelError, "caBundle is a PEM encoded CA bundle which will be used to validate the webhook's server certificate.", serviceSource,
			"Put the certificates of authorities, in PEM, into caBundle, or let cert-manager or the operator do so.",
			func(h *Hook) *Finding { return bundleFinding(h) }),
		configurationCase("config.timeout", LevelAdvice, "It is encouraged to use a small timeout for webhooks; the default is 10 seconds.", availabilitySource,
			"Set timeoutSeconds to 10 or less: each request waits that long for a webhook that is down, and the whole request has about 30 seconds.",
			func(h *Hook) *Finding {
				switch seconds := h.Entry.TimeoutSeconds; {
				case seconds == nil && h.Configuration.isBeta():
					return &Finding{Seen: "no timeoutSeconds, which stands for 30 in v1beta1"}
				case seconds == nil:
					return &Finding{Seen: "no timeoutSeconds, which stands for 10"}
				case *seconds < 1 || *seconds > 30:
					return &Finding{Level: LevelError, Seen: fmt.Sprintf("timeoutSeconds %d: must be from 1 to 30", *seconds)}
				case time.Duration(*seconds)*time.Second > defaultTimeout:
					return &Finding{Seen: fmt.Sprintf("timeoutSeconds %d", *seconds)}
				}
				return nil
			}),
		configurationCase("config.ignoreMutation", LevelWarning, "Ignore means that an error calling the webhook is ignored and the API request is allowed to continue: then the object lacks the mutation.", "Dynamic Admission Control, Failure policy",
			"Set failurePolicy to Fail if objects without the mutation do harm, or validate the mutation by a validating webhook as well.",
			func(h *Hook) *Finding {
				policy := h.Entry.FailurePolicy
				if h.Kind == Mutating && (policy != nil && *policy == admissionregistrationv1.Ignore || policy == nil && h.Configuration.isBeta()) {
					return &Finding{Seen: "failurePolicy Ignore in a mutating webhook"}
				}
				return nil
			}),
		configurationCase("config.scope", LevelWarning, "An asterisk matches all groups, versions, resources or operations: the webhook is called for what it doesn't know.", rulesSource,
			"List the groups, resources and operations that the webhook is for. A webhook for all resources delays leases and events too, and can stop the control plane.",
			func(h *Hook) *Finding { return scopeFinding(h) }),
		configurationCase("config.kubeSystem", LevelWarning, "If your admission webhooks don't intend to modify the behavior of the Kubernetes control plane, exclude the kube-system namespace from being intercepted using a namespaceSelector.", "Dynamic Admission Control, Avoiding operating on the kube-system namespace",
			"Add the matchExpression {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]} to namespaceSelector.",
			func(h *Hook) *Finding {
				if h.needsNamespaces() && h.covers("kube-system") {
					return &Finding{Seen: "the namespaceSelector matches kube-system"}
				}
				return nil
			}),
		configurationCase("config.ownNamespace", LevelError, "It is recommended to exclude the namespace where your webhook is running with a namespaceSelector: a webhook might cause deadlocks for its own deployment if it intercepts resources required to start its own pods.", "Dynamic Admission Control, Avoiding deadlocks in self-hosted webhooks",
			"Exclude the webhook's namespace by the matchExpression {key: kubernetes.io/metadata.name, operator: NotIn, values: [<its namespace>]} in namespaceSelector.",
			func(h *Hook) *Finding { return deadlockFinding(h) }),
		configurationCase("config.ownDeletion", LevelError, "It is recommended to exclude the namespace where your webhook is running with a namespaceSelector.", "Dynamic Admission Control, Avoiding deadlocks in self-hosted webhooks",
			"Exclude the webhook's namespace by the matchExpression {key: kubernetes.io/metadata.name, operator: NotIn, values: [<its namespace>]} in namespaceSelector: when the namespace is deleted, the webhook is gone before the other objects are.",
			func(h *Hook) *Finding { return deletionFinding(h) }),
		configurationCase("config.controlPlane", LevelError, "If the webhook fails to be called, and failurePolicy is Fail, the request is rejected: the API server's own work must not depend on a webhook.", "Dynamic Admission Control, Failure policy",
			"Leave the resource out of the rules, exclude its namespace by the matchExpression {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, kube-node-lease]} in namespaceSelector, or set failurePolicy to Ignore.",
			func(h *Hook) *Finding { return controlPlaneFinding(h) }),
		configurationCase("config.selectors", LevelAdvice, "objectSelector and namespaceSelector limit which requests are intercepted.", "Dynamic Admission Control, Matching requests: objectSelector",
			"Add an objectSelector if users opt in by a label, a namespaceSelector if namespaces do, or matchConditions: each call that isn't made saves its latency.",
			func(h *Hook) *Finding {
				if h.needsNamespaces() && isAll(h.Entry.NamespaceSelector) && isAll(h.Entry.ObjectSelector) && len(h.Entry.MatchConditions) == 0 {
					return &Finding{Seen: "neither an objectSelector nor a namespaceSelector nor matchConditions"}
				}
				return nil
			}),
		configurationCase("config.matchPolicy", LevelWarning, "It is recommended that admission webhooks should always intercept all versions of an object by setting matchPolicy to Equivalent.", "Dynamic Admission Control, Intercepting all versions of an object",
			"Set matchPolicy to Equivalent: the API server converts the object to a version of the rules.",
			func(h *Hook) *Finding {
				policy := h.Entry.MatchPolicy
				if policy != nil && *policy == admissionregistrationv1.Exact || policy == nil && h.Configuration.isBeta() {
					return &Finding{Seen: "matchPolicy Exact"}
				}
				return nil
			}),
		configurationCase("config.stableVersions", LevelAdvice, "It is also recommended that admission webhooks should prefer registering for stable versions of resources.", "Dynamic Admission Control, Intercepting all versions of an object",
			"Name a stable version in apiVersions, if the resource has one.",
			func(h *Hook) *Finding {
				for i := range h.Entry.Rules {
					rule := &h.Entry.Rules[i]
					for _, group := range rule.APIGroups {
						if isBuiltIn(group) && !hasStable(rule.APIVersions) {
							return &Finding{Seen: fmt.Sprintf("rule %d has the versions %v of the group %q alone", i+1, rule.APIVersions, group)}
						}
					}
				}
				return nil
			}),
		configurationCase("config.exempt", LevelAdvice, "Webhooks are never called on admission requests for ValidatingWebhookConfiguration and MutatingWebhookConfiguration objects.", configurationSource,
			"Leave out the group admissionregistration.k8s.io: the rule does nothing.",
			func(h *Hook) *Finding {
				for i := range h.Entry.Rules {
					rule := &h.Entry.Rules[i]
					for _, resource := range rule.Resources {
						if len(rule.APIGroups) == 1 && rule.APIGroups[0] == admissionregistrationv1.GroupName && strings.HasSuffix(resource, "webhookconfigurations") {
							return &Finding{Seen: fmt.Sprintf("rule %d names %s", i+1, resource)}
						}
					}
				}
				return nil
			}),
		configurationCase("config.rules", LevelError, "Each webhook must specify a list of rules.", rulesSource,
			"Add a rule with operations, apiGroups, apiVersions and resources: without one, the webhook is never called.",
			func(h *Hook) *Finding {
				if len(h.Entry.Rules) == 0 {
					return &Finding{Seen: "no rules"}
				}
				for i := range h.Entry.Rules {
					rule := &h.Entry.Rules[i]
					if len(rule.Operations) == 0 || len(rule.APIGroups) == 0 || len(rule.APIVersions) == 0 || len(rule.Resources) == 0 {
						return &Finding{Seen: fmt.Sprintf("rule %d lacks operations, apiGroups, apiVersions or resources", i+1)}
					}
				}
				return nil
			}),
	}
}

// configurationCase returns a case that calls the function look for each webhook of the configurations.
func configurationCase(id string, level Level, promise, source, advice string, look func(*Hook) *Finding) Case {
	return Case{
		ID: id, Promise: promise, Source: source, Level: level, Advice: advice, Cost: time.Millisecond,
		try: func(_ context.Context, s *Suite) ([]Finding, error) {
			var findings []Finding
			configured := false
			for i := range s.Hooks {
				h := &s.Hooks[i]
				if h.Configuration == nil {
					continue
				}
				configured = true
				if f := look(h); f != nil {
					f.Sent = fmt.Sprintf("the webhook %s of the %s configuration %s", h.Entry.Name, h.Kind, h.Configuration.Name)
					findings = append(findings, *f)
				}
			}
			if !configured {
				return nil, skipped("no configuration is given")
			}
			return findings, nil
		},
	}
}

func clientFinding(client admissionregistrationv1.WebhookClientConfig) *Finding {
	switch {
	case client.URL == nil && client.Service == nil:
		return &Finding{Seen: "neither a url nor a service"}
	case client.URL != nil && client.Service != nil:
		return &Finding{Seen: "both a url and a service"}
	case client.Service != nil:
		if client.Service.Name == "" || client.Service.Namespace == "" {
			return &Finding{Seen: "a service without a name or a namespace"}
		}
		return nil
	}
	u, err := url.Parse(*client.URL)
	switch {
	case err != nil:
		return &Finding{Seen: err.Error()}
	case u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Host == "":
		return &Finding{Seen: "the url " + *client.URL}
	case strings.HasSuffix(u.Hostname(), ".svc"):
		return &Finding{Level: LevelWarning, Seen: fmt.Sprintf("the url %s: the host should not refer to a service running in the cluster", *client.URL)}
	case u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback():
		return &Finding{Level: LevelWarning, Seen: fmt.Sprintf("the url %s: each host of an API server must run the webhook", *client.URL)}
	}
	return nil
}

func bundleFinding(h *Hook) *Finding {
	bundle := h.Entry.ClientConfig.CABundle
	if len(bundle) == 0 {
		// A webhook without a caBundle isn't a fault: cert-manager or another program may inject a caBundle, or one of
		// the system's authorities may have signed the certificate.
		return nil
	}
	found := false
	for rest := bundle; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return &Finding{Seen: fmt.Sprintf("a PEM block of the type %s", block.Type)}
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return &Finding{Seen: err.Error()}
		}
		if time.Now().After(c.NotAfter) {
			return &Finding{Seen: fmt.Sprintf("the authority %q was valid until %v", c.Subject, c.NotAfter)}
		}
		found = true
	}
	if !found {
		return &Finding{Seen: "a caBundle without a certificate in PEM"}
	}
	return nil
}

// scopeFinding returns a finding if the rules match resources that the webhook's author can't know, such as all
// resources of a group of Kubernetes itself. In another group, all resources may be the webhook's own. scopeFinding
// also returns a finding for a rule with all operations.
func scopeFinding(h *Hook) *Finding {
	for i := range h.Entry.Rules {
		rule := &h.Entry.Rules[i]
		if slices.Contains(rule.APIGroups, "*") {
			return &Finding{Seen: fmt.Sprintf(`rule %d has "*" in apiGroups`, i+1)}
		}
		for _, resource := range rule.Resources {
			if (resource == "*" || resource == "*/*") && slices.ContainsFunc(rule.APIGroups, isBuiltIn) {
				return &Finding{Seen: fmt.Sprintf("rule %d has %q in resources", i+1, resource)}
			}
		}
		if slices.Contains(rule.Operations, admissionregistrationv1.OperationAll) {
			return &Finding{Level: LevelAdvice, Seen: fmt.Sprintf("rule %d has %q in operations", i+1, admissionregistrationv1.OperationAll)}
		}
	}
	return nil
}

// deadlockFinding returns a finding if the webhook's own pods can't start while the webhook is down.
func deadlockFinding(h *Hook) *Finding {
	service := h.Entry.ClientConfig.Service
	if service == nil || !h.covers(service.Namespace) || !isAll(h.Entry.ObjectSelector) || !h.startsPods() {
		return nil
	}
	f := &Finding{Seen: fmt.Sprintf("the webhook runs in the namespace %s, and intercepts what its own pods need there", service.Namespace)}
	if policy := h.Entry.FailurePolicy; policy != nil && *policy == admissionregistrationv1.Ignore {
		f.Level = LevelWarning
	}
	return f
}

// blocks reports whether a failed call of the webhook refuses requests for all objects that its rules and its
// namespaceSelector select.
func (h *Hook) blocks() bool {
	policy := h.Entry.FailurePolicy
	ignores := policy != nil && *policy == admissionregistrationv1.Ignore || policy == nil && h.Configuration.isBeta()
	return !ignores && isAll(h.Entry.ObjectSelector) && len(h.Entry.MatchConditions) == 0
}

// matches reports whether a rule of the webhook names a resource of a group, and one of its operations.
func (h *Hook) matches(operation admissionregistrationv1.OperationType, group, resource string) bool {
	name, subresource, isSubresource := strings.Cut(resource, "/")
	names := []string{resource, "*/*"}
	if isSubresource {
		names = append(names, name+"/*", "*/"+subresource)
	} else {
		names = append(names, "*")
	}
	for i := range h.Entry.Rules {
		rule := &h.Entry.Rules[i]
		if rule.Scope != nil && *rule.Scope != admissionregistrationv1.AllScopes && (*rule.Scope == admissionregistrationv1.ClusterScope) != isOfCluster(resource) {
			continue
		}
		if (slices.Contains(rule.Operations, operation) || slices.Contains(rule.Operations, admissionregistrationv1.OperationAll)) &&
			(slices.Contains(rule.APIGroups, group) || slices.Contains(rule.APIGroups, "*")) &&
			slices.ContainsFunc(names, func(name string) bool { return slices.Contains(rule.Resources, name) }) {
			return true
		}
	}
	return false
}

// deletionFinding returns a finding if the deletion of the webhook's namespace, which ends the webhook, needs the webhook.
func deletionFinding(h *Hook) *Finding {
	service := h.Entry.ClientConfig.Service
	if service == nil || !h.blocks() || !h.covers(service.Namespace) {
		return nil
	}
	for _, deleted := range []struct{ group, resource string }{
		{"", "pods"}, {"", "serviceaccounts"}, {"", "services"}, {"", "configmaps"}, {"", "secrets"}, {"", "endpoints"},
		{"apps", "deployments"}, {"apps", "replicasets"}, {"apps", "statefulsets"}, {"apps", "daemonsets"}, {"discovery.k8s.io", "endpointslices"},
	} {
		if h.matches(admissionregistrationv1.Delete, deleted.group, deleted.resource) {
			return &Finding{Seen: fmt.Sprintf("the webhook runs in the namespace %s, and is called for the deletion of %s there", service.Namespace, deleted.resource)}
		}
	}
	return nil
}

// ownWork are requests without which the control plane stops, and what they are for. A resource of the cluster has no
// namespace.
var ownWork = []struct {
	operation                  admissionregistrationv1.OperationType
	group, resource, namespace string
	purpose                    string
}{
	{admissionregistrationv1.Create, "authentication.k8s.io", "tokenreviews", "", "kubelets and aggregated API servers authenticate clients by them"},
	{admissionregistrationv1.Create, "authorization.k8s.io", "subjectaccessreviews", "", "kubelets and aggregated API servers authorize clients by them"},
	{admissionregistrationv1.Create, "", "nodes", "", "kubelets register by them"},
	{admissionregistrationv1.Update, "", "nodes/status", "", "kubelets report the state of nodes"},
	{admissionregistrationv1.Update, "coordination.k8s.io", "leases", "kube-node-lease", "kubelets show that their nodes are alive"},
	{admissionregistrationv1.Update, "coordination.k8s.io", "leases", "kube-system", "controllers and schedulers elect a leader"},
	{admissionregistrationv1.Create, "", "pods", "kube-system", "the network and DNS run in them"},
	{admissionregistrationv1.Create, "", "events", "kube-system", "components report problems"},
	{admissionregistrationv1.Create, "events.k8s.io", "events", "kube-system", "components report problems"},
}

// controlPlaneFinding returns a finding if a failure of the webhook stops the control plane's own work.
func controlPlaneFinding(h *Hook) *Finding {
	if !h.blocks() {
		return nil
	}
	for _, work := range ownWork {
		if !h.matches(work.operation, work.group, work.resource) || work.namespace != "" && !h.covers(work.namespace) {
			continue
		}
		seen := fmt.Sprintf("a failure of the webhook refuses %s of %s", work.operation, work.resource)
		if work.namespace != "" {
			seen += " in " + work.namespace
		}
		return &Finding{Seen: seen + ": " + work.purpose}
	}
	return nil
}

// startsPods tells whether the rules match an object that must be written before a pod starts.
func (h *Hook) startsPods() bool {
	for i := range h.Entry.Rules {
		rule := &h.Entry.Rules[i]
		creates := false
		for _, o := range rule.Operations {
			creates = creates || o == admissionregistrationv1.OperationAll || o == admissionregistrationv1.Create
		}
		if !creates || rule.Scope != nil && *rule.Scope == admissionregistrationv1.ClusterScope {
			continue
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				switch group + "/" + resource {
				case "*/*", "/*", "apps/*", "/pods", "apps/replicasets", "*/pods", "*/replicasets", "/*/*", "apps/*/*", "*/*/*", "apps/statefulsets", "apps/daemonsets":
					return true
				}
			}
		}
	}
	return false
}

// needsNamespaces tells whether the rules match namespaced resources of Kubernetes itself.
func (h *Hook) needsNamespaces() bool {
	for i := range h.Entry.Rules {
		rule := &h.Entry.Rules[i]
		if rule.Scope != nil && *rule.Scope == admissionregistrationv1.ClusterScope {
			continue
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				if (group == "*" || isBuiltIn(group)) && !isOfCluster(resource) {
					return true
				}
			}
		}
	}
	return false
}

// covers tells whether requests in a namespace call the webhook. It uses the namespace's labels if the suite knows
// them. It assumes that a match condition with the namespace's name excludes the namespace.
func (h *Hook) covers(namespace string) bool {
	for _, condition := range h.Entry.MatchConditions {
		if strings.Contains(condition.Expression, namespace) {
			return false
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(h.Entry.NamespaceSelector)
	if h.Entry.NamespaceSelector == nil || err != nil {
		return true
	}
	set := labels.Set{namespaceNameLabel: namespace}
	for key, value := range h.Configuration.Namespaces[namespace] {
		set[key] = value
	}
	return selector.Matches(set)
}

// isAll tells whether a selector selects every object.
func isAll(selector *metav1.LabelSelector) bool {
	return selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) == 0
}

// isBuiltIn tells whether a group belongs to Kubernetes itself: its name has no dot, or ends with .k8s.io but not with
// .x-k8s.io. It returns false for *, which stands for all groups.
func isBuiltIn(group string) bool {
	return !strings.Contains(group, ".") && group != "*" || strings.HasSuffix(group, ".k8s.io") && !strings.HasSuffix(group, ".x-k8s.io")
}

// isOfCluster tells whether a resource is one of the common resources of Kubernetes that have no namespace.
func isOfCluster(resource string) bool {
	switch strings.SplitN(resource, "/", 2)[0] {
	case "namespaces", "nodes", "persistentvolumes", "clusterroles", "clusterrolebindings", "priorityclasses", "storageclasses",
		"runtimeclasses", "ingressclasses", "customresourcedefinitions", "apiservices", "certificatesigningrequests", "volumeattachments",
		"csidrivers", "csinodes", "flowschemas", "prioritylevelconfigurations", "validatingadmissionpolicies", "validatingadmissionpolicybindings",
		"mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "validatingwebhookconfigurations", "mutatingwebhookconfigurations",
		"tokenreviews", "subjectaccessreviews", "selfsubjectaccessreviews":
		return true
	}
	return false
}

// hasStable tells whether the versions of a rule include a stable version, such as v1, or all versions.
func hasStable(versions []string) bool {
	for _, v := range versions {
		if v == "*" || !strings.Contains(v, "alpha") && !strings.Contains(v, "beta") {
			return true
		}
	}
	return false
}
