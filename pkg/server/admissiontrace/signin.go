package admissiontrace

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

const (
	// SignInPath signs a browser in. A client with credentials makes a POST, and gets a SignIn with a link. A browser
	// that opens the link gets a cookie. For the paths below Prefix, it then has the permissions of the client's user. The
	// cookie doesn't count for SignInPath, so a sign-in can't be renewed without the client's credentials.
	SignInPath = Prefix + "sign-in"

	// linkLife is the time within which a link must be opened. sessionLife is the time for which a browser stays signed
	// in.
	linkLife    = time.Minute
	sessionLife = 8 * time.Hour
	// maxSessions is the largest number of unopened links, and also the largest number of signed-in browsers. At the
	// limit, a new link or browser replaces the one that would expire first.
	maxSessions = 100

	cookieName     = "miniapi-admission"
	tokenParameter = "token"
)

// SignIn is the answer to a POST of SignInPath.
type SignIn struct {
	// Link is the path of a link that signs a browser in. It works once.
	Link string `json:"link"`
	// Seconds is the time within which the link must be opened.
	Seconds int `json:"seconds"`
}

// sessions maps the hashes of secrets to users. Each secret is valid for the time life.
type sessions struct {
	life time.Duration

	mu    sync.Mutex
	users map[[sha256.Size]byte]session
}

type session struct {
	user user.Info
	ends time.Time
}

// begin adds a user, and returns the new secret.
func (s *sessions) begin(of user.Info) string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // crypto/rand.Read never returns an error
	token := base64.RawURLEncoding.EncodeToString(secret)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == nil {
		s.users = map[[sha256.Size]byte]session{}
	}
	for len(s.users) >= maxSessions {
		var first [sha256.Size]byte
		ends := time.Time{}
		for hash, each := range s.users {
			if ends.IsZero() || each.ends.Before(ends) {
				first, ends = hash, each.ends
			}
		}
		delete(s.users, first)
	}
	s.users[sha256.Sum256([]byte(token))] = session{of, time.Now().Add(s.life)}
	return token
}

// user returns the user of a secret, or nil. If the argument "once" is true, the secret is invalid afterwards.
func (s *sessions) user(token string, once bool) user.Info {
	hash := sha256.Sum256([]byte(token))
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.users[hash]
	if !ok {
		return nil
	}
	over := time.Now().After(found.ends)
	if over || once {
		delete(s.users, hash)
	}
	if over {
		return nil
	}
	return found.user
}

// signIns are the links of one server that haven't been opened, and its signed-in browsers.
type signIns struct{ links, browsers sessions }

// tokenKey is the context key of the secret of a sign-in link.
type tokenKey struct{}

// HideTokens returns a handler that moves the secret of a sign-in link from the URL to the context of the request, and
// then calls next. So logs that show the URL don't contain the secret. Trace.Authenticator takes the secret from the
// context.
func HideTokens(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == SignInPath {
			req = req.WithContext(context.WithValue(req.Context(), tokenKey{}, req.URL.Query().Get(tokenParameter)))
			req.URL = &url.URL{Path: SignInPath}
			req.RequestURI = SignInPath
		}
		next.ServeHTTP(w, req)
	})
}

// Authenticator authenticates browsers for the paths below Prefix: a signed-in browser by its cookie, and a browser
// that opens a link by the secret of the link. It leaves all other requests to next.
func (t *Trace) Authenticator(next authenticator.Request) authenticator.Request {
	return authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		if found := t.signIns.user(req); found != nil {
			return &authenticator.Response{User: found}, true, nil
		}
		return next.AuthenticateRequest(req)
	})
}

// user returns the user of a signed-in browser, or of a link that is being opened. It returns nil for other requests, and
// for writes that a page of another origin makes: to a browser, all ports of a host are the same site.
func (s *signIns) user(req *http.Request) user.Info {
	switch {
	case !strings.HasPrefix(req.URL.Path, Prefix):
		return nil
	case req.URL.Path != SignInPath:
		cookie, err := req.Cookie(cookieName)
		if err != nil || new(http.CrossOriginProtection).Check(req) != nil {
			return nil
		}
		return s.browsers.user(cookie.Value, false)
	case req.Method == http.MethodGet:
		token, _ := req.Context().Value(tokenKey{}).(string)
		return s.links.user(token, true)
	}
	return nil
}

// link makes a sign-in link for the user of the request.
func (s *signIns) link(w http.ResponseWriter, req *http.Request) error {
	of, ok := request.UserFrom(req.Context())
	if !ok {
		return apierrors.NewUnauthorized("the request has no user")
	}
	token := s.links.begin(of)
	w.Header().Set("Cache-Control", "no-store")
	return answer(w, SignIn{Link: SignInPath + "?" + url.Values{tokenParameter: {token}}.Encode(), Seconds: int(linkLife.Seconds())})
}

// open gives the browser that opens a link a cookie, and an answer that leads to the page. The answer isn't a redirect: if
// the link was followed from a local file, a browser wouldn't send a cookie with SameSite=Strict to the redirect's target.
func (s *signIns) open(w http.ResponseWriter, req *http.Request) error {
	of, ok := request.UserFrom(req.Context())
	if !ok {
		return apierrors.NewUnauthorized("the request has no user")
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: s.browsers.begin(of), Path: Prefix, MaxAge: int(sessionLife.Seconds()),
		Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Refresh", "0; url="+Prefix)
	_, _ = fmt.Fprintf(w, "Signed in: the page is at %s\n", Prefix) // the client may have gone
	return nil
}
