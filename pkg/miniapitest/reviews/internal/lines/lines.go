// Package lines compares texts line by line, and prints differences as diff -u does. It exists because the fixture must
// not import a library. Don't use it for texts of many thousand lines that are all different: the result is one block
// with all lines.
package lines

import (
	"fmt"
	"strings"
)

const (
	// context is the number of equal lines that are printed around a difference.
	context = 3
	// maxCells is the largest number of cells in the table of the function match: 4 million cells take 16 MB.
	maxCells = 4 << 20
	// noNewline is the text of diff -u after a last line without a newline.
	noNewline = "\n\\ No newline at end of file"
)

// Diff returns the difference between two texts, or "" if the texts are equal. A line that only the first text has
// begins with a minus, and a line that only the second text has begins with a plus. Before each group of differences is
// a line with the line numbers in both texts. A last line without a newline is followed by a line that says so.
func Diff(before, after string) string {
	if before == after {
		return ""
	}
	all := compare(split(before), split(after))
	var out strings.Builder
	numbers := [2]int{1, 1} // the numbers of the next lines in the two texts
	shown := false
	for i, l := range all {
		switch near := isNear(all, i); {
		case near && !shown:
			fmt.Fprintf(&out, "@@ -%d +%d @@\n", numbers[0], numbers[1])
			fallthrough
		case near:
			fmt.Fprintf(&out, "%c%s\n", l.mark, l.text)
			shown = true
		default:
			shown = false
		}
		if l.mark != added {
			numbers[0]++
		}
		if l.mark != removed {
			numbers[1]++
		}
	}
	return out.String()
}

// split returns the lines of a text without their newlines. A last line without a newline has noNewline at its end, and
// so differs from the same line with a newline.
func split(text string) []string {
	if text == "" {
		return nil
	}
	if complete, is := strings.CutSuffix(text, "\n"); is {
		return strings.Split(complete, "\n")
	}
	lines := strings.Split(text, "\n")
	lines[len(lines)-1] += noNewline
	return lines
}

// The marks of lines that are in both texts, only in the first text, and only in the second text.
const (
	same    = ' '
	removed = '-'
	added   = '+'
)

type line struct {
	mark byte
	text string
}

// isNear tells whether a line is in one text only, or is close to such a line.
func isNear(all []line, i int) bool {
	for n := i - context; n <= i+context; n++ {
		if n >= 0 && n < len(all) && all[n].mark != same {
			return true
		}
	}
	return false
}

// compare returns the marked lines of both texts, in order.
func compare(before, after []string) []line {
	head := 0
	for head < len(before) && head < len(after) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < len(before)-head && tail < len(after)-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	all := marked(nil, same, before[:head])
	all = match(all, before[head:len(before)-tail], after[head:len(after)-tail])
	return marked(all, same, before[len(before)-tail:])
}

// match adds the lines of two texts with their marks. The lines of a longest common subsequence get the mark for lines
// in both texts. If the table would have more than maxCells, no line gets this mark.
func match(all []line, before, after []string) []line {
	if len(before)*len(after) > maxCells {
		return marked(marked(all, removed, before), added, after)
	}
	// common[i][j] is the length of the longest common subsequence of the texts from their lines i and j on.
	common := make([][]int32, len(before)+1)
	for i := range common {
		common[i] = make([]int32, len(after)+1)
	}
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			switch {
			case before[i] == after[j]:
				common[i][j] = common[i+1][j+1] + 1
			case common[i+1][j] >= common[i][j+1]:
				common[i][j] = common[i+1][j]
			default:
				common[i][j] = common[i][j+1]
			}
		}
	}
	i, j := 0, 0
	for i < len(before) && j < len(after) {
		switch {
		case before[i] == after[j]:
			all = append(all, line{same, before[i]})
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			all = append(all, line{removed, before[i]})
			i++
		default:
			all = append(all, line{added, after[j]})
			j++
		}
	}
	return marked(marked(all, removed, before[i:]), added, after[j:])
}

func marked(all []line, mark byte, texts []string) []line {
	for _, text := range texts {
		all = append(all, line{mark, text})
	}
	return all
}
