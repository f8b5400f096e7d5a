package host

import (
	"crypto/subtle"
	"errors"
	"net/http"
)

var errUnauthorized = errors.New("the Authorization header must be Bearer with the token of the first line of the host's output")

// authenticated returns a handler that only lets requests with the token through.
func authenticated(token string, next http.Handler) http.Handler {
	want := []byte("Bearer " + token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			fail(w, http.StatusUnauthorized, errUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
