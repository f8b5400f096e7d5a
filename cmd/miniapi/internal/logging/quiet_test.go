package logging

import (
	"bytes"
	"testing"
)

func TestQuiet(t *testing.T) {
	t.Parallel()
	const notStatus = `E1123 01:38:48.157006     324 status.go:71] "Unhandled Error" err="apiserver received an error that is not an metav1.Status: `
	for _, test := range []struct {
		name, reason, entry string
		passes              bool
	}{
		{"information", "information needs -v", `I1123 01:38:48.157006     324 server.go:10] "Serving"`, false},
		{"warning", "a user should get the warning", `W1123 01:38:48.157006     324 authentication.go:10] unusual`, true},
		{"failed webhook", "the client's response doesn't have the cause",
			`E1123 01:38:48.157006     324 outcome.go:80] "a request is refused because of a webhook" err="context deadline exceeded"`,
			true},
		{"wrong credentials", "the response doesn't say why",
			`E1123 01:38:48.157006     324 authentication.go:76] "Unable to authenticate the request" err="invalid bearer token"`,
			true},
		{"patch", "the response has the error",
			notStatus + `&errors.errorString{s:\"unknown patch type: foo in map: map[$patch:foo]\"}: unknown patch type"`,
			false},
		{"patch of several lines", "the response has the error",
			"E1123 01:38:48.157006     324 status.go:71] \"Unhandled Error\" err=<\n\tapiserver received an error that is not an metav1.Status: &errors.errorString{s:\"The order in patch list:\\n\"}\n >",
			false},
		{"resource version", "the response has the error",
			notStatus + `&strconv.NumError{Func:\"ParseUint\", Num:\"abc\"}: strconv.ParseUint"`, false},
		{"client that is gone", "the client is gone", notStatus + `&net.OpError{Op:\"read\"}: read: connection reset by peer"`, false},
		{"etcd", "the storage failed, not the request",
			notStatus + `&status.Error{s:(*status.Status)(0x1)}: rpc error: code = ResourceExhausted desc = etcdserver: mvcc: database space exceeded"`,
			true},
		{"conversion webhook", "the author of the webhook reads this log",
			notStatus + `&errors.errorString{s:\"conversion webhook for example.com/v1, Kind=Widget failed: Post: connection refused\"}: conversion webhook"`,
			true},
		{"selector", "the response has the error",
			`E1123 01:38:51.515994     324 requestinfo.go:226] "Couldn't parse request" err="found '=='" request={"labelSelector":["a==b==c"]}`,
			false},
		{"late response", "the client has ended the request",
			`E1123 01:38:54.140781     324 writers.go:130] "Unhandled Error" err="apiserver was unable to write a application/json response: http: Handler timeout" logger="UnhandledError"`,
			false},
		{"request that went on", "the client has ended the request",
			`E1123 01:39:00.807588     324 timeout.go:140] "Post-timeout activity" logger="UnhandledError" timeElapsed="4.396µs"`,
			false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			log := &Quiet{To: &out}
			log.Open()
			if n, err := log.Write([]byte(test.entry)); n != len(test.entry) || err != nil {
				t.Errorf("want the whole entry to be taken, got %d, %v", n, err)
			}
			if passes := out.Len() > 0; passes != test.passes {
				t.Errorf("want passed on %t, because %s, got %t", test.passes, test.reason, passes)
			}
			out.Reset()
			log.Close()
			if _, err := log.Write([]byte(test.entry)); err != nil || out.Len() > 0 {
				t.Errorf("want a closed log to pass on nothing, got %q, %v", out.String(), err)
			}
		})
	}
}
