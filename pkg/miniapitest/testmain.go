package miniapitest

import (
	"context"
	"fmt"
	"os"
)

// Main runs the tests of a package with one server:
//
//	var srv *miniapitest.Server
//
//	func TestMain(m *testing.M) {
//		os.Exit(miniapitest.Main(m, &srv, miniapitest.WithCRDs("config/crd")))
//	}
//
// The warnings that "miniapi serve" would print go to standard error. If a test fails, standard error also gets what Start
// adds to the output of a failed test.
//
// Use Main if the tests of the package can share the server's objects. Otherwise let each test call Start, or run the
// tests one after the other and let each call Reset first.
func Main(m interface{ Run() int }, srv **Server, opts ...Option) (code int) {
	if isNil(m) || srv == nil {
		fmt.Fprintln(os.Stderr, "miniapitest: Main(m, &srv): m and &srv must not be nil")
		return 1
	}
	s, err := start(context.Background(), nil, opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "miniapitest:", err)
		return 1
	}
	defer func() {
		if code != 0 {
			s.Admission().reportFailed(func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) })
		}
		if err := s.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "miniapitest: stopping:", err)
			code = max(code, 1)
		}
		if log := s.log.unread(); code != 0 && log != "" {
			fmt.Fprintf(os.Stderr, "miniapitest: the server's log:\n%s\n", log)
		}
	}()
	for _, warning := range s.log.warned() {
		fmt.Fprintln(os.Stderr, "miniapitest: warning:", warning)
	}
	*srv = s
	return m.Run()
}
