package apiserver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// MatrixPrefix is the beginning of the identifiers of the matrix's cases. The matrix has a case for each operation and
// each promise that concerns all operations.
const MatrixPrefix = "matrix."

// crossPromise is a promise that concerns all operations: a row of the matrix.
type crossPromise struct {
	name, says, source string
	needs              []trial.Need
	// except returns the reason why the promise has no case for an operation, or "". It may be nil.
	except func(*operation) string
	check  func(*cell)
}

// crossPromises has the rows of the matrix, in the order of reports.
var crossPromises = slices.Concat(reviewPromises, matchPromises, callPromises, mutationPromises)

// matrix has the cases of the matrix.
var matrix = matrixTests()

func matrixTests() []trial.Test {
	var tests []trial.Test
	for _, p := range crossPromises {
		for _, o := range operations {
			if p.exception(o) != "" {
				continue
			}
			tests = append(tests, trial.Test{
				ID: MatrixPrefix + p.name + "." + o.name, Source: p.source, Promise: p.says + ": " + o.says + ".",
				Needs: append([]trial.Need{trial.Since(30), o.served()}, p.needs...),
				Run:   func(t *trial.T) { p.check(newCell(t, o)) },
			})
		}
	}
	return tests
}

// exception returns the reason why the promise has no case for an operation, or "".
func (p *crossPromise) exception(o *operation) string {
	if p.except == nil {
		return ""
	}
	return p.except(o)
}

// MatrixTables returns the operations and the promises of the matrix as Markdown tables.
func MatrixTables() string {
	var table strings.Builder
	table.WriteString("| operation | request |\n| --- | --- |\n")
	for _, o := range operations {
		fmt.Fprintf(&table, "| `%s` | %s |\n", o.name, o.says)
	}
	table.WriteString("\n| promise | what it says | source | no case for |\n| --- | --- | --- | --- |\n")
	for _, p := range crossPromises {
		var reasons []string
		without := map[string][]string{}
		for _, o := range operations {
			if reason := p.exception(o); reason != "" {
				if without[reason] == nil {
					reasons = append(reasons, reason)
				}
				without[reason] = append(without[reason], "`"+o.name+"`")
			}
		}
		for i, reason := range reasons {
			reasons[i] = strings.Join(without[reason], ", ") + ": " + reason
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", p.name, p.says, p.source, strings.Join(reasons, "; "))
	}
	return table.String()
}
