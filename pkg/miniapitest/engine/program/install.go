package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// unfinished is the prefix of the names of folders in which an installation is in progress.
const unfinished = "unfinished-"

// installation is the way in which the program gets to its path: a download or a build.
type installation struct {
	// doing and done are the verbs of messages.
	doing, done string
	// The field "what" is the name of the program in messages, for example with its version. The field "path" is the
	// file of the program.
	what, path string
	// put writes the program into an empty folder.
	put func(ctx context.Context, to string) error
	// advice says what to do if put fails.
	advice string
}

// run puts the program into a new subfolder of the argument folder, and then moves it to i.path. So an incomplete
// program never has that path. First, run removes the files of earlier installations that were killed. If the system has
// file locks, the caller has locked the folder, so no other process uses these files.
func (i installation) run(ctx context.Context, folder string) (err error) {
	began := time.Now()
	fmt.Fprintf(console{}, "miniapitest: %s %s, once, for servers of tests\n", i.doing, i.what)
	if err := removeAll(filepath.Join(folder, unfinished+"*")); err != nil {
		return err
	}
	to, err := os.MkdirTemp(folder, unfinished)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(to)) }()
	if err := i.put(ctx, to); err != nil {
		return fmt.Errorf("%s %s: %w; %s", i.doing, i.what, err, i.advice)
	}
	if err := os.MkdirAll(filepath.Dir(i.path), 0o755); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(to, executable), i.path); err != nil {
		return err
	}
	fmt.Fprintf(console{}, "miniapitest: %s %s in %s\n", i.done, i.what, time.Since(began).Round(100*time.Millisecond))
	return nil
}

// removeAll removes the files and folders that match a pattern.
func removeAll(pattern string) error {
	matches, err := filepath.Glob(pattern)
	for _, match := range matches {
		err = errors.Join(err, os.RemoveAll(match))
	}
	return err
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
