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

// Printer has the columns and the cells of the table that shows objects of a kind.
type Printer struct {
	Columns []metav1.TableColumnDefinition
	// Cells returns the cells of an object's row, one for each column, including wide columns. It returns nil for
	// an object of another kind.
	Cells func(obj runtime.Object) []any
	// Conditions returns the conditions of an object's row. The function may be nil.
	Conditions func(obj runtime.Object) []metav1.TableRowCondition
	// Compare orders the rows of a list. If it is nil, the rows have the order of the list.
	Compare func(a, b runtime.Object) int
}

// Default shows the name and the creation time of an object. It is for kinds without a Printer of their own.
var Default = Printer{}

// Of returns the Printer of the kind T. The argument "cells" returns the cells of an object's row.
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

// NameAndAge returns the Printer of a kind of which only the name and the age are shown. Unlike Default, it shows how
// long ago the object was created, and not the time.
func NameAndAge[T any, P interface {
	*T
	metav1.Object
}]() Printer {
	return Of([]Column{NameColumn, AgeColumn}, func(o *T) []any {
		return []any{P(o).GetName(), Since(P(o).GetCreationTimestamp())}
	})
}

// The texts for missing values.
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

// Text returns a column of text.
func Text(name, description string) Column {
	return Column{Name: name, Type: "string", Description: description}
}

// Number returns a column of whole numbers.
func Number(name, description string) Column {
	return Column{Name: name, Type: "integer", Description: description}
}

// Boolean returns a column whose cells are true or false.
func Boolean(name, description string) Column {
	return Column{Name: name, Type: "boolean", Description: description}
}

// Wide returns a column that is shown only with `-o wide`.
func Wide(c Column) Column {
	c.Priority = 1
	return c
}

// Doc returns the API's description of a field, for a column that shows the field.
func Doc(t interface{ SwaggerDoc() map[string]string }, field string) string {
	return t.SwaggerDoc()[field]
}

// Since returns the time since t in a short form, such as 30d. For the zero time, it returns Unknown.
func Since(t metav1.Time) string {
	if t.IsZero() {
		return Unknown
	}
	return duration.HumanDuration(time.Since(t.Time))
}

// First lists the first entries, up to limit. If there are more entries, it adds the number of the entries that it
// leaves out.
func First(limit int, entries []string, separator string) string {
	if len(entries) <= limit {
		return strings.Join(entries, separator)
	}
	return fmt.Sprintf("%s + %d more...", strings.Join(entries[:limit], separator), len(entries)-limit)
}

// Joined returns the texts of the items, separated by commas.
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

// Distinct returns the texts sorted, without empty texts, and each text only once.
func Distinct(texts []string) []string {
	texts = slices.DeleteFunc(texts, func(s string) bool { return s == "" })
	slices.Sort(texts)
	return slices.Compact(texts)
}
