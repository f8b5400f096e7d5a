package coverage

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Formats are the endings of files to which Write can write a coverage.
const Formats = ".info or .lcov for LCOV, or .html for a page"

// Writer returns the function that writes a coverage to a file, or nil for a file with another ending.
func Writer(path string) func(*Coverage, io.Writer) error {
	switch filepath.Ext(path) {
	case ".info", ".lcov":
		return (*Coverage).LCOV
	case ".html":
		return (*Coverage).HTML
	}
	return nil
}

// Write writes the coverage to a file, in the format of its ending.
func (c *Coverage) Write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := Writer(path)(c, file); err != nil {
		_ = file.Close() // the error of the write says more
		return err
	}
	return file.Close()
}

// byFile returns the points of each file.
func byFile(points []*Point) [][]*Point {
	var files [][]*Point
	for _, p := range points {
		if len(files) == 0 || files[len(files)-1][0].File != p.File {
			files = append(files, nil)
		}
		files[len(files)-1] = append(files[len(files)-1], p)
	}
	return files
}

// ByObject returns the points of each object of a file, in the order of their lines.
func ByObject(points []*Point) [][]*Point {
	var objects [][]*Point
	for _, p := range points {
		at := slices.IndexFunc(objects, func(o []*Point) bool { return o[0].Object == p.Object && o[0].File == p.File })
		if at < 0 {
			at = len(objects)
			objects = append(objects, nil)
		}
		objects[at] = append(objects[at], p)
	}
	return objects
}

// line is a line of a file with the points that begin in it.
type line struct {
	number int
	points []*Point
}

// linesOf returns the lines with points.
func linesOf(points []*Point) []line {
	var lines []line
	for _, p := range points {
		if len(lines) == 0 || lines[len(lines)-1].number != p.Line {
			lines = append(lines, line{number: p.Line})
		}
		lines[len(lines)-1].points = append(lines[len(lines)-1].points, p)
	}
	return lines
}

// count returns how often the parts of a line were reached: the largest number of its points.
func (l line) count() int {
	most := 0
	for _, p := range l.points {
		times := 0
		for _, o := range p.Outcomes {
			times += o.Count
		}
		most = max(most, times)
	}
	return most
}

// LCOV writes the coverage in the format of geninfo. The elements of a list are the branches of one block, and so are the two
// outcomes of a condition.
func (c *Coverage) LCOV(to io.Writer) error {
	var out strings.Builder
	for _, points := range byFile(c.Points()) {
		path, err := filepath.Abs(points[0].File)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "TN:\nSF:%s\n", path)
		branches, taken := 0, 0
		lines := linesOf(points)
		for _, l := range lines {
			for block, outcomes := range l.blocks() {
				for branch, o := range outcomes.all {
					branches++
					times := "-"
					if outcomes.evaluated {
						times = fmt.Sprint(o.Count)
					}
					if o.Count > 0 {
						taken++
					}
					fmt.Fprintf(&out, "BRDA:%d,%d,%d,%s\n", l.number, block, branch, times)
				}
			}
		}
		fmt.Fprintf(&out, "BRF:%d\nBRH:%d\n", branches, taken)
		hit := 0
		for _, l := range lines {
			fmt.Fprintf(&out, "DA:%d,%d\n", l.number, l.count())
			if l.count() > 0 {
				hit++
			}
		}
		fmt.Fprintf(&out, "LF:%d\nLH:%d\nend_of_record\n", len(lines), hit)
	}
	_, err := io.WriteString(to, out.String())
	return err
}

// block has the branches of one decision.
type block struct {
	evaluated bool
	all       []*Outcome
}

// blocks returns the decisions of a line that have several outcomes.
func (l line) blocks() []block {
	var blocks []block
	list := ""
	for _, p := range l.points {
		if p.list == "" || p.list != list {
			blocks = append(blocks, block{})
		}
		list = p.list
		last := &blocks[len(blocks)-1]
		last.evaluated = last.evaluated || p.Evaluated()
		last.all = append(last.all, p.Outcomes...)
	}
	return slices.DeleteFunc(blocks, func(b block) bool { return len(b.all) < 2 })
}

//go:embed page.html
var pageText string

// HTML writes the coverage as a page with the text of the files.
func (c *Coverage) HTML(to io.Writer) error {
	page, err := template.New("coverage").Parse(pageText)
	if err != nil {
		return err
	}
	type row struct {
		Number, Count int
		Text, Class   string
		Notes         []string
	}
	type part struct {
		Path    string
		Percent string
		Rows    []row
	}
	points := c.Points()
	var parts []part
	for _, points := range byFile(points) {
		at := map[int]line{}
		for _, l := range linesOf(points) {
			at[l.number] = l
		}
		p := part{Path: points[0].File, Percent: ratio(points)}
		for i, text := range c.files.Lines(points[0].File) {
			r := row{Number: i + 1, Text: text}
			if l, known := at[r.Number]; known {
				r.Class, r.Count = "reached", l.count()
				for _, point := range l.points {
					for _, missing := range point.Missing() {
						r.Notes = append(r.Notes, point.Title()+": "+missing)
					}
				}
				switch {
				case r.Count == 0:
					r.Class = "missed"
				case len(r.Notes) > 0:
					r.Class = "partly"
				}
			}
			p.Rows = append(p.Rows, r)
		}
		parts = append(parts, p)
	}
	return page.Execute(to, map[string]any{"Percent": ratio(points), "Files": parts})
}

// ratio returns the ratio of points in words.
func ratio(points []*Point) string {
	reached, all := Ratio(points)
	return fmt.Sprintf("%.1f %% (%d of %d)", Percent(reached, all), reached, all)
}

// Title names a point: its expression, or the path of its field.
func (p *Point) Title() string {
	if p.Expression != "" {
		return strings.Join(strings.Fields(p.Expression), " ")
	}
	return p.Field
}
