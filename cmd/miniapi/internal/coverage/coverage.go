// Package coverage counts which parts of policies, webhook configurations and rules of custom resource definitions the cases
// of tests reach: rules, selectors, match conditions, validations, variables, mutations, and the conditions within their
// expressions. [New] is the way in.
//
// Don't use it to judge how good cases are: a case reaches a validation whatever it expects. Package mutation says more.
package coverage

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/miniapi-dev/miniapi/pkg/admission/admissionpolicy/subexpressions"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests/source"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// Outcome is something that a case can reach, with the number of times.
type Outcome struct {
	// Name says what was reached, such as "true" or "CREATE".
	Name  string `json:"name"`
	Count int    `json:"count"`
	// missing says in words that nothing reached it.
	missing string
}

// Point is a part of an object with its outcomes.
type Point struct {
	// Object is KIND/NAME, and Field the path of the field in it.
	Object string `json:"object"`
	Field  string `json:"field"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	// Expression is the part of an expression, or "".
	Expression string     `json:"expression,omitempty"`
	Outcomes   []*Outcome `json:"outcomes"`

	// list is the path of the list whose element the point is, and value the element. Both are "" for other points.
	list, value string
	// whole is the point of the whole expression of which this point is a condition, or nil.
	whole *Point
}

// Reached tells whether any outcome was reached.
func (p *Point) Reached() bool {
	return slices.ContainsFunc(p.Outcomes, func(o *Outcome) bool { return o.Count > 0 })
}

// Evaluated tells whether the point was reached, or, for a condition, the expression that it is in.
func (p *Point) Evaluated() bool { return p.Reached() || p.whole != nil && p.whole.Reached() }

// Missing returns the outcomes that nothing reached, in words.
func (p *Point) Missing() []string {
	var all []string
	for _, o := range p.Outcomes {
		if o.Count == 0 {
			all = append(all, o.missing)
		}
	}
	if len(all) > 1 && len(all) == len(p.Outcomes) && p.boolean() {
		return []string{"never evaluated"}
	}
	return all
}

func (p *Point) boolean() bool { return len(p.Outcomes) == 2 && p.Outcomes[0].Name == "true" }

// count adds to the outcome with a name.
func (p *Point) count(name string, times int) {
	for _, o := range p.Outcomes {
		if o.Name == name {
			o.Count += times
		}
	}
}

// Coverage counts what cases reach. Several goroutines may use it.
type Coverage struct {
	mu      sync.Mutex
	files   source.Files
	objects map[string]*object
	order   []*object
}

// object is an object with its points.
type object struct {
	manifests.Object
	place  *source.Object
	points []*Point
	byPath map[string]*Point
	// conditions are the points of the conditions within an expression, by the path of the expression.
	conditions map[string][]*Point
	// parsed are the expressions by their paths.
	parsed map[string]*subexpressions.Expression
	rules  []schemaRule
}

// New returns a coverage without objects.
func New() *Coverage { return &Coverage{objects: map[string]*object{}} }

// Add counts what a recorded request reached. The objects are those that were installed on the server; their parts count as
// not reached before. The request may be nil.
func (c *Coverage) Add(installed []manifests.Object, request *trace.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := map[trace.Reference]*object{}
	for _, one := range installed {
		if o := c.object(one); o != nil {
			of[trace.Reference{Kind: one.GetKind(), Name: one.GetName()}] = o
		}
	}
	if request == nil {
		return
	}
	for _, pass := range request.Admissions {
		for _, o := range of {
			o.reachSchema(request, pass)
		}
		for _, step := range pass.Steps {
			for _, p := range step.Policies {
				if o := of[trace.Reference{Kind: p.Kind, Name: p.Name}]; o != nil {
					o.reachPolicy(request, pass, p, of)
				}
			}
			for _, w := range step.Webhooks {
				if o := of[trace.Reference{Kind: w.Kind, Name: w.Name}]; o != nil {
					o.reachWebhook(request, pass, w)
				}
			}
		}
	}
}

// object returns an object with its points, or nil if it has none. The same object of the same file is one object, whichever
// test installs it.
func (c *Coverage) object(of manifests.Object) *object {
	if of.File == "" {
		return nil
	}
	key := of.File + "\n" + of.GetKind() + "/" + of.GetName()
	if known, ok := c.objects[key]; ok {
		return known
	}
	c.objects[key] = nil
	build := builders[of.GetKind()]
	if build == nil {
		return nil
	}
	o := &object{Object: of, byPath: map[string]*Point{}, conditions: map[string][]*Point{}, parsed: map[string]*subexpressions.Expression{}}
	if o.place = c.files.Find(of.File, of.GetKind(), of.GetName()); o.place == nil {
		return nil // a kustomization has changed the name
	}
	build(o)
	c.objects[key] = o
	c.order = append(c.order, o)
	return o
}

// Points returns all points, in the order of the files and lines.
func (c *Coverage) Points() []*Point {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*Point
	for _, o := range c.order {
		all = append(all, o.points...)
	}
	slices.SortStableFunc(all, func(a, b *Point) int { return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line) })
	return all
}

// Ratio returns the number of outcomes that were reached, and the number of all outcomes.
func Ratio(points []*Point) (reached, all int) {
	for _, p := range points {
		for _, o := range p.Outcomes {
			all++
			if o.Count > 0 {
				reached++
			}
		}
	}
	return reached, all
}

// Percent returns a ratio in percent. Without any outcome, it is 100.
func Percent(reached, all int) float64 {
	if all == 0 {
		return 100
	}
	return 100 * float64(reached) / float64(all)
}
