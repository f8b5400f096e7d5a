package testfile

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Group, Version and Kind are those of test files.
const (
	Group   = "test.miniapi.dev"
	Version = "v1alpha1"
	Kind    = "AdmissionTest"
)

// The tags of the fields of these types say more than encoding/json knows: "required" marks a field that must be set,
// "enum" lists the allowed values, and "short" marks the field that a value sets which isn't a map, so that
// "user: jane" is short for "user: {name: jane}". The comments become the descriptions of the JSON schema.

// AdmissionTest has cases that a server decides, and the objects that are installed on the server before.
type AdmissionTest struct {
	// APIVersion is test.miniapi.dev/v1alpha1.
	APIVersion string `json:"apiVersion" required:"true" enum:"test.miniapi.dev/v1alpha1"`
	// Kind is AdmissionTest.
	Kind string `json:"kind" required:"true" enum:"AdmissionTest"`
	// Metadata has the name of the test.
	Metadata Metadata `json:"metadata"`
	// Load are paths of captured objects, relative to the file: files, folders and globs with what "kubectl get -o yaml" has
	// written. The server has these objects as they are, with their uids, status, owner references and times, before
	// those of installs.
	Load []string `json:"load"`
	// Installs are paths of manifests that the server has before the cases, relative to the file: files, folders, globs
	// and kustomizations. A path of another test file stands for what that file installs. Policies and webhooks don't
	// review these objects.
	Installs []string `json:"installs"`
	// Objects are further objects that the server has before the cases.
	Objects []Object `json:"objects"`
	// Server has options of the server.
	Server Server `json:"server"`
	// Webhooks are the programs, or the recordings, behind the webhook configurations that the file installs.
	Webhooks []Webhook `json:"webhooks"`
	// Defaults has the fields of cases that don't set them.
	Defaults Defaults `json:"defaults"`
	// Cases are the requests, and what is expected of each.
	Cases []Case `json:"cases"`
}

// Metadata names a test.
type Metadata struct {
	// Name is the name of the test in reports. By default, it is the path of the file.
	Name string `json:"name"`
}

// Server has options of the server on which the cases run.
type Server struct {
	// EmulatedVersion is a version of Kubernetes, such as "1.35", whose kinds and fields the server has.
	EmulatedVersion string `json:"emulatedVersion"`
	// FeatureGates turns feature gates on or off.
	FeatureGates map[string]bool `json:"featureGates"`
	// Controllers are the controllers of kube-controller-manager that run. By default, these are the ones without which
	// a request isn't decided as in a cluster: those of service accounts, quotas and aggregated roles.
	Controllers []string `json:"controllers"`
	// Flags are flags of "miniapi serve", each as --name=value.
	Flags []string `json:"flags"`
}

// Webhook is what answers the webhooks of one or more services.
type Webhook struct {
	// Services are the services of the webhook configurations, each as NAMESPACE/NAME or NAMESPACE/NAME:PORT.
	Services []string `json:"services" required:"true"`
	// Address is the HOST:PORT at which the webhooks already listen.
	Address string `json:"address"`
	// Command is a program that is started before the cases, and ended with the test. In its arguments, {port}, {certs},
	// {cert} and {key} stand for the port on 127.0.0.1 at which it must listen, and for the folder and the files of its
	// certificate. The environment variables PORT, CERT_DIR, CERT_FILE and KEY_FILE have the same values.
	Command []string `json:"command"`
	// Dir is the working directory of Command, relative to the file. By default, it is the folder of the file.
	Dir string `json:"dir"`
	// Env has further environment variables of Command.
	Env map[string]string `json:"env"`
	// ReadySeconds is the time within which Command must listen. By default, it is 30.
	ReadySeconds int `json:"readySeconds"`
	// Reviews is a folder of recorded reviews, relative to the file. A review of a case that equals a recorded one gets
	// the recorded answer, so that no program is needed.
	Reviews string `json:"reviews"`
}

// Request describes the request of a case.
type Request struct {
	// Operation is CREATE, UPDATE, DELETE or CONNECT. By default, it is UPDATE with old, CONNECT for subresources that
	// are connected to, and otherwise CREATE.
	Operation string `json:"operation" enum:"CREATE,UPDATE,DELETE,CONNECT"`
	// Object is the object of the request, or the one that is deleted: a file, or the object itself.
	Object *Object `json:"object"`
	// With is merged into object, as a JSON merge patch: a null removes a field, and a list replaces a list.
	With map[string]any `json:"with"`
	// Old is the object before an update. By default, it is object without the changes of with; and with old alone, object
	// is old with the changes of with. For a subresource such as
	// scale, eviction or exec, it is the object whose subresource object has.
	Old *Object `json:"old"`
	// Patch makes the request a patch of old. By default, old is object.
	Patch *Patch `json:"patch"`
	// Apply makes the request a server-side apply of object: of a new object, or with old, of an existing one.
	Apply *bool `json:"apply"`
	// Force makes a server-side apply take fields from other field managers.
	Force *bool `json:"force"`
	// Subresource is the subresource of the request, such as status or scale.
	Subresource string `json:"subresource"`
	// Namespace is the namespace of objects that name none. By default, it is "default".
	Namespace string `json:"namespace"`
	// NamespaceLabels are the labels of the request's namespace.
	NamespaceLabels map[string]string `json:"namespaceLabels"`
	// User makes the request. By default, the admin does, whom RBAC allows everything.
	User *User `json:"user"`
	// Existing are objects that the server has before the request, beside those of installs. Policies and webhooks don't
	// review them.
	Existing []Object `json:"existing"`
	// DryRun makes the request a dry run.
	DryRun *bool `json:"dryRun"`
	// FieldManager is the field manager of the write. By default, it is miniapi for a server-side apply.
	FieldManager string `json:"fieldManager"`
	// FieldValidation is Ignore, Warn or Strict. By default, it is the server's: Warn.
	FieldValidation string `json:"fieldValidation" enum:"Ignore,Warn,Strict"`
	// GracePeriodSeconds is an option of a deletion.
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds"`
	// PropagationPolicy is an option of a deletion.
	PropagationPolicy string `json:"propagationPolicy" enum:"Background,Foreground,Orphan"`
}

// Patch is a patch of an object. One of its fields must be set.
type Patch struct {
	// Merge is a JSON merge patch (RFC 7386).
	Merge map[string]any `json:"merge"`
	// Strategic is a strategic merge patch, which built-in kinds accept.
	Strategic map[string]any `json:"strategic"`
	// JSON is a JSON patch (RFC 6902).
	JSON []map[string]any `json:"json"`
}

// User is the user of a request.
type User struct {
	// Name is the user's name, such as jane or system:serviceaccount:default:builder.
	Name string `json:"name" required:"true" short:"true"`
	// Groups are the user's groups. The server adds system:authenticated, and the groups of a service account.
	Groups []string `json:"groups"`
	// UID is the user's uid.
	UID string `json:"uid"`
	// Extra are the user's further attributes.
	Extra map[string][]string `json:"extra"`
}

// Defaults has the fields of cases that don't set them. Of expect, the fields by, expression, message, reason and code
// are for cases that expect denied, and the others for those that expect allowed.
type Defaults struct {
	Request `json:",inline"`
	// Expect is expected of cases that don't say it.
	Expect *Expect `json:"expect"`
}

// Case is a request, or a table of requests, and what is expected.
type Case struct {
	// Name is the name of the case in reports. It must be unique in the file.
	Name    string `json:"name" required:"true"`
	Request `json:",inline"`
	// Objects makes a case of each object, in place of object.
	Objects []Object `json:"objects"`
	// Users makes a case of each user, in place of user.
	Users []User `json:"users"`
	// Expect is what is expected of the request.
	Expect *Expect `json:"expect"`
	// Line is the line of the case in the file.
	Line int `json:"-"`
}

// Expect is what is expected of a request. A field that isn't set isn't compared.
type Expect struct {
	// Verdict is allowed or denied. A request that isn't admitted is denied, also if no admission plugin refuses it.
	Verdict string `json:"verdict" enum:"allowed,denied" short:"true"`
	// By is the part that denies the request: KIND/NAME of a policy or webhook configuration, KIND/NAME/PART with the
	// binding or the webhook, the name of an admission plugin, "validation" or "authorization".
	By string `json:"by"`
	// Expression is the expression that denies the request: its path, such as spec.validations[0].expression, or itself.
	Expression string `json:"expression"`
	// Message is the message of the response.
	Message *Text `json:"message"`
	// Reason is the reason of the response, such as Invalid or Forbidden.
	Reason string `json:"reason"`
	// Code is the HTTP status of the response.
	Code int `json:"code"`
	// Warnings are all warnings of the response, in any order.
	Warnings []Text `json:"warnings"`
	// AuditAnnotations are annotations of the audit event, by their keys.
	AuditAnnotations map[string]Text `json:"auditAnnotations"`
	// Object is the whole object of the response, without the metadata that every server sets, such as the uid.
	Object *Object `json:"object"`
	// Contains is a part of the object of the response. A list contains the elements of the list here in their order,
	// and may have others.
	Contains *Object `json:"contains"`
	// Patch is a JSON patch that makes the object after admission of the object before it, which has defaults.
	Patch []map[string]any `json:"patch"`
}

// Text is an expected text.
type Text struct {
	// Contains is a part of the text.
	Contains string `json:"contains" short:"true"`
	// Equals is the whole text.
	Equals *string `json:"equals"`
	// Matches is a regular expression that matches a part of the text.
	Matches string `json:"matches"`
}

// Object is an object: the path of a file with one object, relative to the test file, or the object itself. As an
// element of a list, a path may be of a file with several objects, of a folder, or a glob.
type Object struct {
	// Path is the path of the file, or "".
	Path string
	// Inline is the object itself, or nil.
	Inline *unstructured.Unstructured
	// Line is the line of the object in the test file.
	Line int
}
