package faults

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

var errEnded = errors.New("the watch is ended by a fault")

// counting is the response to a watch. It passes on a number of events, and then ends the watch.
type counting struct {
	http.ResponseWriter
	left int
	end  func()
	// events returns the number of events whose last byte is in the bytes of one call of Write. It is set at the
	// first call of Write, when the encoding of the response is known.
	events func([]byte) int
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (c *counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Write implements http.ResponseWriter.
func (c *counting) Write(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errEnded
	}
	if c.events == nil {
		c.events = eventsOf(c.Header().Get("Content-Type"))
	}
	n, err := c.ResponseWriter.Write(p)
	if c.left -= c.events(p); c.left <= 0 {
		err = errors.Join(err, http.NewResponseController(c.ResponseWriter).Flush())
		c.end()
	}
	return n, err
}

// eventsOf returns a function for an encoding. The function returns the number of events whose last byte is
// in the bytes of one call of Write.
func eventsOf(contentType string) func([]byte) int {
	mediaType, _, _ := strings.Cut(contentType, ";")
	switch mediaType {
	case runtime.ContentTypeProtobuf:
		return (&lengths{}).complete
	case runtime.ContentTypeCBORSequence:
		return func([]byte) int { return 1 } // the library writes each event by one call
	}
	return func(p []byte) int { return bytes.Count(p, []byte("\n")) }
}

// lengths counts the frames of a stream. Each frame comes after its length in four bytes.
type lengths struct {
	header []byte
	left   uint32
}

// complete returns the number of frames whose last byte is in p.
func (l *lengths) complete(p []byte) (frames int) {
	for len(p) > 0 {
		if l.left == 0 {
			n := min(4-len(l.header), len(p))
			l.header, p = append(l.header, p[:n]...), p[n:]
			if len(l.header) < 4 {
				break
			}
			l.left, l.header = binary.BigEndian.Uint32(l.header), nil
			continue
		}
		n := min(int(l.left), len(p))
		p = p[n:]
		if l.left -= uint32(n); l.left == 0 {
			frames++
		}
	}
	return frames
}
