package logging

import (
	"io"
	"sync/atomic"
)

// Quiet is a writer for the log. While it is open, it passes on warnings and errors, except for errors of clients. It
// is closed at first. The command serve opens it when the server is ready, or when the start takes long, and closes it when
// the server begins to stop. At other times, and in other commands, the command's own error says enough.
type Quiet struct {
	To     io.Writer
	opened atomic.Bool
}

// Open makes the writer pass warnings and errors on, except for errors of clients.
func (l *Quiet) Open() { l.opened.Store(true) }

// Close makes the writer drop all entries.
func (l *Quiet) Close() { l.opened.Store(false) }

// Write handles one entry of the log. The first letter of an entry is its severity.
func (l *Quiet) Write(entry []byte) (int, error) {
	if l.opened.Load() && len(entry) > 0 && entry[0] != 'I' && !isClientError(entry) {
		return l.To.Write(entry)
	}
	return len(entry), nil
}
