package batch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cronField is one of the five fields of a schedule, see crontab(5).
type cronField struct {
	min, max int
	names    []string // names of the values; the first name stands for min
}

var cronFields = []cronField{
	{0, 59, nil},
	{0, 23, nil},
	{1, 31, nil},
	{1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

var cronNicknames = []string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}

// cronSyntax checks a schedule by the grammar of the CronJob controller: five fields, or a nickname such as @daily.
// A time zone may come first.
func cronSyntax(line string) error {
	if strings.HasPrefix(line, "TZ=") || strings.HasPrefix(line, "CRON_TZ=") {
		zone, rest, found := strings.Cut(line, " ")
		if !found {
			return errors.New("invalid schedule format: a time zone without a schedule")
		}
		_, zone, _ = strings.Cut(zone, "=")
		if _, err := time.LoadLocation(zone); err != nil {
			return fmt.Errorf("provided bad location %s: %w", zone, err)
		}
		line = strings.TrimSpace(rest)
	}
	if strings.HasPrefix(line, "@") {
		return cronNickname(line)
	}
	fields := strings.Fields(line)
	if n := len(cronFields); len(fields) != n {
		return fmt.Errorf("expected exactly %d fields, found %d: %s", n, len(fields), fields)
	}
	for i, f := range cronFields {
		for part := range strings.SplitSeq(fields[i], ",") {
			if part == "" {
				continue
			}
			if err := f.check(part); err != nil {
				return err
			}
		}
	}
	return nil
}

func cronNickname(s string) error {
	if every, is := strings.CutPrefix(s, "@every "); is {
		if _, err := time.ParseDuration(every); err != nil {
			return fmt.Errorf("failed to parse duration %s: %w", s, err)
		}
		return nil
	}
	if !slices.Contains(cronNicknames, s) {
		return fmt.Errorf("unrecognized descriptor: %s", s)
	}
	return nil
}

// check checks one range of a field. A range may have a step, such as 1-5/2.
func (f cronField) check(part string) error {
	bounds := strings.Split(part, "/")
	ends := strings.Split(bounds[0], "-")
	first, last, step := f.min, f.max, 1
	var err error
	if ends[0] != "*" && ends[0] != "?" {
		if first, err = f.value(ends[0]); err != nil {
			return err
		}
		switch len(ends) {
		case 1:
			last = first
		case 2:
			if last, err = f.value(ends[1]); err != nil {
				return err
			}
		default:
			return fmt.Errorf("too many hyphens: %s", part)
		}
	}
	switch len(bounds) {
	case 1:
	case 2:
		if step, err = cronNumber(bounds[1]); err != nil {
			return err
		}
		if len(ends) == 1 {
			last = f.max
		}
	default:
		return fmt.Errorf("too many slashes: %s", part)
	}
	switch {
	case first < f.min:
		return fmt.Errorf("beginning of range (%d) below minimum (%d): %s", first, f.min, part)
	case last > f.max:
		return fmt.Errorf("end of range (%d) above maximum (%d): %s", last, f.max, part)
	case first > last:
		return fmt.Errorf("beginning of range (%d) beyond end of range (%d): %s", first, last, part)
	case step == 0:
		return fmt.Errorf("step of range should be a positive number: %s", part)
	}
	return nil
}

func (f cronField) value(s string) (int, error) {
	if i := slices.Index(f.names, strings.ToLower(s)); i >= 0 {
		return f.min + i, nil
	}
	return cronNumber(s)
}

func cronNumber(s string) (int, error) {
	n, err := strconv.Atoi(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("failed to parse int from %s: %w", s, err)
	case n < 0:
		return 0, fmt.Errorf("negative number (%d) not allowed: %s", n, s)
	}
	return n, nil
}
