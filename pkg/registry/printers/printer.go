package printers

import (
	"fmt"
	"slices"
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

// Of returns the printer of kind T.
func Of[T any](columns []Column, cells func(*T) []any) Printer {
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
	None    = "<none>"
	Unset   = "<unset>"
	Unknown = "<unknown>"
)

// Column is a column of a table.
type Column = metav1.TableColumnDefinition

// Columns that many kinds have.
var (
	NameColumn       = Column{Name: "Name", Type: "string", Format: "name", Description: Doc(metav1.ObjectMeta{}, "name")}
	AgeColumn        = Text("Age", Doc(metav1.ObjectMeta{}, "creationTimestamp"))
	ContainersColumn = Text("Containers", "Names of each container in the template.")
	ImagesColumn     = Text("Images", "Images referenced by each container in the template.")
)

// Text is a column of text.
func Text(name, description string) Column {
	return Column{Name: name, Type: "string", Description: description}
}

// Number is a column of whole numbers.
func Number(name, description string) Column {
	return Column{Name: name, Type: "integer", Description: description}
}

// Boolean is a column of true and false.
func Boolean(name, description string) Column {
	return Column{Name: name, Type: "boolean", Description: description}
}

// Wide makes a column one of those that only `-o wide` shows.
func Wide(c Column) Column {
	c.Priority = 1
	return c
}

// Doc is what the API says about a field.
func Doc(t interface{ SwaggerDoc() map[string]string }, field string) string {
	return t.SwaggerDoc()[field]
}

// Since is how long ago t was, in the way of people.
func Since(t metav1.Time) string {
	if t.IsZero() {
		return Unknown
	}
	return duration.HumanDuration(time.Since(t.Time))
}

// First lists the first few entries, and says how many there are besides.
func First(limit int, entries []string, separator string) string {
	if len(entries) <= limit {
		return strings.Join(entries, separator)
	}
	return fmt.Sprintf("%s + %d more...", strings.Join(entries[:limit], separator), len(entries)-limit)
}

// Joined lists what text returns for each of the items.
func Joined[T any](items []T, text func(*T) string) string {
	texts := make([]string, len(items))
	for i := range items {
		texts[i] = text(&items[i])
	}
	return strings.Join(texts, ",")
}

// ContainerNames lists the names of containers.
func ContainerNames(containers []corev1.Container) string {
	return Joined(containers, func(c *corev1.Container) string { return c.Name })
}

// ContainerImages lists the images of containers.
func ContainerImages(containers []corev1.Container) string {
	return Joined(containers, func(c *corev1.Container) string { return c.Image })
}

// Distinct sorts texts and leaves out empty and repeated ones.
func Distinct(texts []string) []string {
	texts = slices.DeleteFunc(texts, func(s string) bool { return s == "" })
	slices.Sort(texts)
	return slices.Compact(texts)
}
