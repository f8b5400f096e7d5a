package admissiontrace

import (
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

// TestSessions checks that a secret identifies its user until the secret is used up, until it expires, or until
// newer sessions replace it. A call of the method user with once uses the secret up.
func TestSessions(t *testing.T) {
	t.Parallel()
	alice := &user.DefaultInfo{Name: "alice"}
	tests := []struct {
		name, reason string
		life         time.Duration
		use          func(s *sessions, token string) user.Info
		found        bool
	}{
		{"first use", "the secret is new", time.Hour, func(s *sessions, token string) user.Info { return s.user(token, true) }, true},
		{"second use of a link", "a link works once", time.Hour, func(s *sessions, token string) user.Info {
			s.user(token, true)
			return s.user(token, true)
		}, false},
		{"second use of a cookie", "a browser stays signed in", time.Hour, func(s *sessions, token string) user.Info {
			s.user(token, false)
			return s.user(token, false)
		}, true},
		{"too late", "the time is over", -time.Second, func(s *sessions, token string) user.Info { return s.user(token, false) }, false},
		{"another secret", "secrets can't be guessed", time.Hour,
			func(s *sessions, token string) user.Info { return s.user(token+"x", false) }, false},
		{"many others", "the number of secrets is bounded, and the secret that expires first is dropped", time.Hour, func(s *sessions, token string) user.Info {
			for range maxSessions {
				s.begin(&user.DefaultInfo{Name: "bob"})
			}
			return s.user(token, false)
		}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &sessions{life: test.life}
			got := test.use(s, s.begin(alice))
			if (got != nil) != test.found || got != nil && got.GetName() != "alice" {
				t.Errorf("%s: want the user: %t, got %v", test.reason, test.found, got)
			}
			if len(s.users) > maxSessions {
				t.Errorf("want at most %d sessions, got %d", maxSessions, len(s.users))
			}
		})
	}
}
