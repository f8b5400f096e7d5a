package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ValidateFile returns an error if the folder of the file doesn't exist, or if the file is itself a folder. WriteFile
// would fail for such a file. A run takes minutes, so call ValidateFile before the run.
func ValidateFile(file string) error {
	folder, err := os.Stat(filepath.Dir(file))
	if err != nil || !folder.IsDir() {
		return fmt.Errorf("%s must be a folder that exists", filepath.Dir(file))
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return errors.New("must be a file, and is a folder")
	}
	return nil
}

// WriteFile writes a report in a format to a file, and replaces the file if it exists.
func WriteFile(file, format string, run *Run) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(Write(f, format, run), f.Close())
}
