package faults

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseText(t *testing.T) {
	t.Parallel()
	hundred := 100
	for _, test := range []struct {
		name, reason, text string
		want               Fault
	}{
		{"the third update", "each key sets one field, and a key without a value stands for true", "verbs=update,resources=pods,requests=3,conflict",
			Fault{Verbs: []string{"update"}, Resources: []string{"pods"}, Requests: "3", Conflict: true}},
		{"lists", "the elements of a list are separated by |", "verbs=update|patch,names=a|b*,conflict",
			Fault{Verbs: []string{"update", "patch"}, Names: []string{"a", "b*"}, Conflict: true}},
		{"numbers of requests", "the value of requests may contain commas", "requests=1,3-5,7-,status=500",
			Fault{Requests: "1,3-5,7-", Status: 500}},
		{"share in per cent", "a share may be a percentage", "share=10%,latency=100ms..300ms",
			Fault{Share: 0.1, Latency: "100ms..300ms"}},
		{"number that may be 0", "a body may be cut off before its first byte", "truncate=100",
			Fault{Truncate: &hundred}},
		{"spaces", "spaces after commas are ignored", "verbs=watch, expire, after=2",
			Fault{Verbs: []string{"watch"}, Expire: true, After: 2}},
		{"equals sign in a value", "only the first equals sign ends the key", "status=500,message=a=b",
			Fault{Status: 500, Message: "a=b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseText(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
			if again, err := ParseText(got.Text()); err != nil || !again.equal(got) {
				t.Errorf("its text %q is parsed as %+v, %v", got.Text(), again, err)
			}
		})
	}
}

func TestWrongFaults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{"",
			`key "" is unknown: a comma separates keys, so a list has | between its elements, as in verbs=get|list: the keys are name, verbs,`},
		{"verbs=get,list,status=500", `key "list" is unknown: a comma separates keys`},
		{"verb=get,status=500", `key "verb" is unknown`},
		{"conflict,conflict", "conflict: is given twice"},
		{"conflict=false", `conflict "false": must be true, or the value must be left out`},
		{"verbs,conflict", "verbs: must have a value, as in verbs=VALUE"},
		{"message=,status=500", "message: the value is empty: give a value after the ="},
		{"status=many", `status "many": must be a number`},
		{"verbs=get", "the fault has no effect: give latency or one of status, conflict,"},
		{"name=A b,conflict", `name "A b": a lowercase RFC 1123 subdomain`},
		{"verbs=read,status=500", `verbs "read": must be one of get, list,`},
		{"verbs=create,paths=/version,status=500", `verbs "create": must be one of get, head,`},
		{"resources=Pod,status=500", `resources "Pod": must be a plural name in lower case, such as pods`},
		{"verbs=get|,status=500", "verbs: an element is empty"},
		{"paths=version,status=500", `paths "version": must begin with /`},
		{"paths=/version,resources=pods,status=500", `paths ["/version"]: can't be set together with resources`},
		{"requests=0,conflict", `requests "0": must have numbers from 1, as in 3, 2-5, 4- or 1,3: "0" isn't a number from 1`},
		{"requests=5-2,conflict", "2 is less than 5"},
		{"share=0,conflict", `share "0": must be more than 0 and at most 1`},
		{"share=101%,conflict", `share "101%": must be more than 0 and at most 1`},
		{"share=NaN,conflict", `share "NaN": must be more than 0 and at most 1`},
		{"latency=fast", `latency "fast": must be a duration such as 200ms, a range`},
		{"latency=3s..1s", "1s is less than 3s"},
		{"latency=0s", "0s isn't more than 0"},
		{"latency=-1s", "-1s is negative"},
		{"latency=1s+-x", `latency "1s+-x"`},
		{"status=200", "status 200: must be the code of an error, 400 to 599"},
		{"conflict,status=500", "status and conflict: give one of them, because a fault has one effect"},
		{"verbs=get,conflict", `conflict: can't be set for the verb "get": must be one of update, patch, delete`},
		{"verbs=get,stale=-1", `stale: can't be set for the verb "get": must be one of list`},
		{"paths=/version,conflict", "conflict: can't be set together with paths"},
		{"webhooks=*,conflict", "conflict: can't be set together with webhooks"},
		{"refuse", "refuse: must be set together with webhooks, such as *"},
		{"retryAfter=1s,conflict", "retryAfter: must be set together with status or timeout"},
		{"retryAfter=1500ms,status=429", "1.5s isn't in whole seconds"},
		{"reason=x,timeout", "reason: must be set together with status"},
		{"after=1,conflict", "after: must be set together with close or expire"},
		{"after=-1,close", "after -1: must not be negative"},
		{"reset=hard", `reset "hard": must be stream or connection`},
		{"truncate=-1", "truncate -1: must not be negative"},
		{"stale=yesterday", `stale "yesterday": must be frozen, a number of writes`},
		{"latency=1s,executed", "executed: must be set together with status, timeout or reset"},
		{"conflict,executed", "executed: can't be set together with conflict"},
		{"webhooks=*,status=500,message=no", `reason "", message "no": belong to responses to requests`},
	} {
		t.Run(test.text, func(t *testing.T) {
			t.Parallel()
			if _, err := ParseText(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want an error with %q, got %v", test.want, err)
			}
		})
	}
}
