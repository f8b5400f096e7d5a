package control

import "net/http"

// Operation is a request that the host answers.
type Operation struct {
	// Name identifies the operation in the OpenAPI document.
	Name         string
	Method, Path string
	// Summary says what the operation does.
	Summary string
	Query   []Parameter
	// Request and Response are values of the types of the bodies, or nil. An operation whose Stream is true answers with
	// any number of responses, one a line.
	Request, Response any
	Stream            bool
	// Status is the status of a successful answer.
	Status int
}

// Parameter is a parameter in the query of an operation. Without Values, any text is a value.
type Parameter struct {
	Name, Meaning string
	Values        []string
}

// Pattern returns the operation as a pattern of http.ServeMux.
func (o Operation) Pattern() string { return o.Method + " " + o.Path }

// wait is the query of operations that wait for a server.
var wait = []Parameter{
	{
		Name: "wait", Values: []string{"ready", "configured"},
		Meaning: "ready, the default, answers when the server is ready; configured answers as soon as it has an id and webhookCA, or has failed: the events have the error",
	},
}

// traced selects recorded requests.
var traced = []Parameter{
	{Name: "resource", Meaning: "the resource of the objects, such as deployments.apps"},
	{Name: "namespace", Meaning: "the namespace of the objects"}, {Name: "name", Meaning: "the name of the objects"},
}

// Operations are all requests of the protocol.
var Operations = []Operation{
	{Name: "describeHost", Method: "GET", Path: "/v1", Summary: "Describe the host, and renew its lease.", Response: Host{}, Status: http.StatusOK},
	{Name: "getOpenAPI", Method: "GET", Path: "/v1/openapi.json", Summary: "Return this document.", Status: http.StatusOK},
	{
		Name: "keepObject", Method: "PUT", Path: "/v1/objects/{sha256}", Status: http.StatusNoContent,
		Summary: "Keep an object, whose hash later definitions name.",
	},
	{
		Name: "startServer", Method: "POST", Path: "/v1/servers", Query: wait, Status: http.StatusCreated, Request: Options{}, Response: Server{},
		Summary: "Start a server.",
	},
	{Name: "listServers", Method: "GET", Path: "/v1/servers", Summary: "List the servers.", Response: Servers{}, Status: http.StatusOK},
	{
		Name: "getServer", Method: "GET", Path: "/v1/servers/{id}", Query: wait, Response: Server{}, Status: http.StatusOK,
		Summary: "Return a server.",
	},
	{
		Name: "stopServer", Method: "DELETE", Path: "/v1/servers/{id}", Status: http.StatusNoContent,
		Summary: "Stop a server. The answer comes when nothing is left of the server.",
	},
	{
		Name: "followEvents", Method: "GET", Path: "/v1/servers/{id}/events", Response: Event{}, Stream: true, Status: http.StatusOK,
		Summary: "Follow the server's log, audit events and end, from the events on that nobody has read. A server has one reader at a time.",
		Query:   []Parameter{{Name: "follow", Meaning: "false ends the answer after the events until now", Values: []string{"true", "false"}}},
	},
	{
		Name: "acknowledgeAudit", Method: "DELETE", Path: "/v1/servers/{id}/audit/{number}", Status: http.StatusNoContent,
		Summary: "Acknowledge an audit event, so that its request continues.",
	},
	{
		Name: "addUser", Method: "POST", Path: "/v1/servers/{id}/users", Request: User{}, Response: Certificate{}, Status: http.StatusCreated,
		Summary: "Issue a client certificate for a user.",
	},
	{
		Name: "issueCertificate", Method: "POST", Path: "/v1/servers/{id}/certificates", Request: CertificateRequest{}, Response: Certificate{},
		Status: http.StatusCreated, Summary: "Issue a serving certificate for a webhook of the client, also before the server is ready.",
	},
	{
		Name: "reachWebhook", Method: "POST", Path: "/v1/servers/{id}/reach", Request: Reach{}, Status: http.StatusNoContent,
		Summary: "Wait until the server reaches a webhook.",
	},
	{
		Name: "applyManifests", Method: "POST", Path: "/v1/servers/{id}/manifests", Request: Manifests{}, Response: Applied{}, Status: http.StatusOK,
		Summary: "Apply objects in their order. What they configure is in force when the answer comes.",
	},
	{
		Name: "resetServer", Method: "POST", Path: "/v1/servers/{id}/reset", Status: http.StatusNoContent,
		Summary: "Bring back the objects that the server had when it was ready. Only a server with setup can.",
	},
	{
		Name: "takeSnapshot", Method: "POST", Path: "/v1/servers/{id}/snapshots", Response: Snapshot{}, Status: http.StatusCreated,
		Summary: "Copy all objects of the server.",
	},
	{
		Name: "restoreSnapshot", Method: "POST", Path: "/v1/servers/{id}/snapshots/{snapshot}/restore", Status: http.StatusNoContent,
		Summary: "Bring back the objects of a snapshot of the server.",
	},
	{
		Name: "dropSnapshot", Method: "DELETE", Path: "/v1/servers/{id}/snapshots/{snapshot}", Status: http.StatusNoContent,
		Summary: "Drop a snapshot.",
	},
	{
		Name: "keepObjects", Method: "PUT", Path: "/v1/servers/{id}/kept", Request: Kept{}, Status: http.StatusNoContent,
		Summary: "Keep the objects that the client has applied for later servers with the same options.",
	},
	{
		Name: "recordReviews", Method: "PUT", Path: "/v1/servers/{id}/recording", Request: Recording{}, Status: http.StatusNoContent,
		Summary: "Record the calls of the handler from now on. Only a server with setup can.",
	},
	{
		Name: "listRequests", Method: "GET", Path: "/v1/servers/{id}/requests", Query: traced, Status: http.StatusOK,
		Summary: "Return the recorded decisions of admission, as docs/trace.md describes.",
	},
	{
		Name: "explainWhy", Method: "GET", Path: "/v1/servers/{id}/why", Query: append([]Parameter{{Name: "webhook", Meaning: "KIND/NAME of the configuration or policy, or KIND/NAME/PART"}}, traced...), Status: http.StatusOK,
		Summary: "Say why a webhook or policy was asked about an object, or wasn't.",
	},
	{
		Name: "listFaults", Method: "GET", Path: "/v1/servers/{id}/faults", Status: http.StatusOK,
		Summary: "List the faults that the server injects, as docs/faults.md describes.",
	},
	{Name: "injectFaults", Method: "POST", Path: "/v1/servers/{id}/faults", Status: http.StatusCreated, Summary: "Inject faults."},
	{Name: "removeFaults", Method: "DELETE", Path: "/v1/servers/{id}/faults", Status: http.StatusOK, Summary: "Remove all faults."},
	{
		Name: "changePods", Method: "POST", Path: "/v1/servers/{id}/pods", Request: PodAction{}, Status: http.StatusNoContent,
		Summary: "Hold the pods of a server with workloads, let them go on to their next stages, or let one fail. The answer comes when this is done.",
	},
	{Name: "removeFault", Method: "DELETE", Path: "/v1/servers/{id}/faults/{fault}", Status: http.StatusOK, Summary: "Remove a fault."},
}
