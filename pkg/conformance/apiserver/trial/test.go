package trial

import (
	"context"
	"fmt"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
)

// Test is a case of the suite of API servers.
type Test struct {
	ID, Promise, Source string
	// Needs are the requirements of the case. The case is skipped at the first requirement that the server doesn't
	// meet.
	Needs         []Need
	Cost, Timeout time.Duration
	Run           func(*T)
}

// Cases returns tests as cases for a server. If the server is nil, the cases can be listed, but not run.
func Cases(s *Server, tests []Test) []conformance.Case {
	cases := make([]conformance.Case, len(tests))
	for i, test := range tests {
		cases[i] = conformance.Case{
			ID: test.ID, Promise: test.Promise, Source: test.Source, Cost: test.Cost, Timeout: test.Timeout,
			Run: func(_ context.Context, frame *conformance.T) {
				for _, need := range test.Needs {
					if missing := need(s); missing != "" {
						frame.Skip(missing)
					}
				}
				t := &T{T: frame, Server: s, name: fmt.Sprintf("%s%s-%d", Prefix, s.run, s.number.Add(1))}
				frame.Cleanup(t.removeAll)
				test.Run(t)
			},
		}
	}
	return cases
}
