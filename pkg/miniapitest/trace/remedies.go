package trace

// Remedy is what makes a failed call of a webhook succeed.
type Remedy struct {
	// Error is a part of the call's error. In it, "…" stands for any text.
	Error  string
	Remedy string
}

// Remedies are the remedies for errors of calls. The first whose error is in a message counts. The table in
// docs/webhooks.md has the same rows.
var Remedies = []Remedy{
	{"x509: certificate signed by unknown authority",
		"put the authority that issued the webhook's certificate into caBundle: the file ca.crt of miniapi cert, in base64"},
	{"x509: certificate is valid for …, not …",
		"issue a certificate for the name that is called: NAME.NAMESPACE.svc of a service, or the host of the url"},
	{"x509: certificate is not valid for any names",
		"issue a certificate for the name that is called: NAME.NAMESPACE.svc of a service, or the host of the url"},
	{"x509: certificate relies on legacy Common Name field",
		"issue a certificate with the name that is called as a subject alternative name"},
	{"x509: cannot validate certificate for … because it doesn't contain any IP SANs",
		"issue a certificate with the IP address as a subject alternative name"},
	{"x509: certificate has expired or is not yet valid", "issue a new certificate, and let the webhook read it"},
	{"unable to load root certificates", "give caBundle certificates in PEM, encoded in base64 once"},
	{"server gave HTTP response to HTTPS client", "serve HTTPS: the webhook serves plain HTTP at this address"},
	{`service "…" not found`, "create the service, or give its address by --webhook-service"},
	{`no endpoints available for service "…"`,
		"write the endpoints of the service, which no controller makes from its selector here, or give its address by --webhook-service"},
	{`no service port … found for service "…"`, "set clientConfig.service.port to a port of the service; its default is 443"},
	{"no such host", "name a host that this machine can resolve in clientConfig.url"},
	{"connect: connection refused", "start the webhook, and compare the address at which it listens"},
	{"context deadline exceeded", "answer within timeoutSeconds, or raise it"},
	{"Client.Timeout exceeded", "answer within timeoutSeconds, or raise it"},
	{"the server could not find the requested resource", "compare the path, without its query, with the paths that the webhook serves"},
	{"the server does not allow this method on the requested resource", "let the webhook accept POST at this path"},
	{`an error on the server ("…") has prevented the request from succeeding`,
		"look into the log of the webhook, which answered 500 with this text"},
	{"0-length response with status code: 200", "answer with an AdmissionReview: the response is empty"},
	{"couldn't get version/kind; json parse error", "answer with an AdmissionReview in JSON"},
	{"expected webhook response of …, got /, Kind=", "set apiVersion and kind of the response to those of the request's AdmissionReview"},
	{"converting (…) to (…): unknown conversion", "answer with the version of the request's AdmissionReview"},
	{"webhook response was absent", "set the field response of the AdmissionReview: the webhook may have returned the request"},
	{`expected response.uid="…", got "…"`, "set response.uid to request.uid"},
	{"a patch that can't be applied: … doc is missing path",
		"add the missing object as a whole: for a label of an object without labels, the path is /metadata/labels"},
	{": EOF", "look into the log of the webhook, which closed the connection without an answer"},
}
