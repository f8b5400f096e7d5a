package printers

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Printer says how a kind is shown as a table.
type Printer struct {
	Columns []metav1.TableColumnDefinition
	// Cells returns the cells of one object, one for each column (wide ones
	// included), and nil for an object of another kind.
	Cells func(obj runtime.Object) []any
	// Conditions, if set, are the conditions of an object's row.
	Conditions func(obj runtime.Object) []metav1.TableRowCondition
	// Compare, if set, orders the rows of a list.
	Compare func(a, b runtime.Object) int
}

// Default shows the name of an object and when it was created. It is the zero Printer,
// and what kinds without one of their own have.
var Default = Printer{}

// of returns the printer of kind T.
func of[T any](columns []column, cells func(*T) []any) Printer {
	return Printer{
		Columns: columns,
		Cells: func(obj runtime.Object) []any {
			t, ok := any(obj).(*T)
			if !ok {
				return nil
			}
			return cells(t)
		},
	}
}

// What stands for a value that isn't there.
const (
	none    = "<none>"
	unset   = "<unset>"
	unknown = "<unknown>"
)

type column = metav1.TableColumnDefinition

// Columns that many kinds have.
var (
	nameColumn       = column{Name: "Name", Type: "string", Format: "name", Description: doc(metav1.ObjectMeta{}, "name")}
	ageColumn        = text("Age", doc(metav1.ObjectMeta{}, "creationTimestamp"))
	containersColumn = text("Containers", "Names of each container in the template.")
	imagesColumn     = text("Images", "Images referenced by each container in the template.")
)

func text(name, description string) column {
	return column{Name: name, Type: "string", Description: description}
}

func number(name, description string) column {
	return column{Name: name, Type: "integer", Description: description}
}

func boolean(name, description string) column {
	return column{Name: name, Type: "boolean", Description: description}
}

// wide makes a column one of those that only `-o wide` shows.
func wide(c column) column {
	c.Priority = 1
	return c
}

// doc is what the API says about a field.
func doc(t interface{ SwaggerDoc() map[string]string }, field string) string {
	return t.SwaggerDoc()[field]
}

// since is how long ago t was, in the way of people.
func since(t metav1.Time) string {
	if t.IsZero() {
		return unknown
	}
	return duration.HumanDuration(time.Since(t.Time))
}

// first lists the first few entries, and says how many there are besides.
func first(limit int, entries []string, separator string) string {
	if len(entries) <= limit {
		return strings.Join(entries, separator)
	}
	return fmt.Sprintf("%s + %d more...", strings.Join(entries[:limit], separator), len(entries)-limit)
}

// joined lists what text returns for each of the items.
func joined[T any](items []T, text func(*T) string) string {
	texts := make([]string, len(items))
	for i := range items {
		texts[i] = text(&items[i])
	}
	return strings.Join(texts, ",")
}

func containerNames(containers []corev1.Container) string {
	return joined(containers, func(c *corev1.Container) string { return c.Name })
}

func containerImages(containers []corev1.Container) string {
	return joined(containers, func(c *corev1.Container) string { return c.Image })
}
