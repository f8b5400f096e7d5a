package against

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace/resources"
)

// capture has objects that kubectl has written to files, by their kinds. It knows the places of the objects, and reads them when
// they are listed, so that a capture of any size needs little memory.
type capture map[schema.GroupKind][]place

// place is the place of an object in a file.
type place struct {
	file          string
	offset, bytes int64
	// where is the place in words, for errors.
	where string
	kind  schema.GroupVersionKind
	// object is the object itself, if it isn't a text of its own in the file; nil otherwise.
	object *manifests.Object
}

func readCapture(path string) (capture, error) {
	files, err := manifests.Reader{}.Files(path)
	if err != nil {
		return nil, err
	}
	c := capture{}
	for _, file := range files {
		if err := c.index(file); err != nil {
			return nil, err
		}
	}
	if len(c) == 0 {
		return nil, fmt.Errorf("%s: must be a kubeconfig, or have objects: it has none", path)
	}
	return c, nil
}

// index adds the places of the objects in a file.
func (c capture) index(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	text := bufio.NewReaderSize(file, 1<<16)
	documents := documentsOfYAML
	if isJSON(text) {
		documents = documentsOfJSON
	}
	n := 0
	return documents(text, func(d document) error {
		n++
		where := fmt.Sprintf("%s, document %d", name, n)
		if !strings.HasSuffix(d.kind, "List") || len(d.items) == 0 {
			return c.add(place{file: name, offset: d.offset, bytes: d.bytes, where: where}, d.header, file)
		}
		for i, item := range d.items {
			p := place{file: name, offset: item.offset, bytes: item.bytes, where: fmt.Sprintf("%s, item %d", where, i+1)}
			if err := c.add(p, item.header, file); err != nil {
				return err
			}
		}
		return nil
	}, name)
}

// isJSON reports whether a text begins as an object of JSON. In a map of YAML in braces, most keys have no quotes.
func isJSON(text *bufio.Reader) bool {
	start, _ := text.Peek(4096) // a short text is shorter
	inner, found := bytes.CutPrefix(bytes.TrimLeftFunc(start, unicode.IsSpace), []byte("{"))
	return found && bytes.HasPrefix(bytes.TrimLeftFunc(inner, unicode.IsSpace), []byte(`"`))
}

// add adds an object. A text without a known kind is decoded now.
func (c capture) add(p place, h header, file io.ReaderAt) error {
	p.kind = schema.FromAPIVersionAndKind(h.apiVersion, h.kind)
	if h.apiVersion != "" && h.kind != "" && !strings.HasSuffix(h.kind, "List") {
		c[p.kind.GroupKind()] = append(c[p.kind.GroupKind()], p)
		return nil
	}
	objects, err := p.decode(file)
	for i := range objects {
		kind := objects[i].GroupVersionKind()
		c[kind.GroupKind()] = append(c[kind.GroupKind()], place{kind: kind, object: &objects[i]})
	}
	return err
}

// decode returns the objects of the text at a place.
func (p place) decode(file io.ReaderAt) ([]manifests.Object, error) {
	text := make([]byte, p.bytes)
	if _, err := file.ReadAt(text, p.offset); err != nil {
		return nil, fmt.Errorf("%s: %w", p.where, err)
	}
	// The dash of an item is a part of its indentation.
	if trimmed := bytes.TrimLeft(text, " "); bytes.HasPrefix(trimmed, []byte("-")) && !bytes.HasPrefix(trimmed, []byte("---")) {
		text[len(text)-len(trimmed)] = ' '
	}
	objects, err := manifests.Reader{}.Decode(p.where, text)
	for i := range objects {
		objects[i].File, objects[i].Source = p.file, p.where
	}
	if err != nil { // the text is a document of its own to the reader
		err = errors.New(strings.Replace(err.Error(), p.where+", document 1", p.where, 1))
	}
	return objects, err
}

// load returns the object at a place.
func (p place) load() (manifests.Object, error) {
	if p.object != nil {
		return *p.object, nil
	}
	file, err := os.Open(p.file)
	if err != nil {
		return manifests.Object{}, err
	}
	defer file.Close()
	objects, err := p.decode(file)
	if err == nil && len(objects) != 1 {
		err = fmt.Errorf("%s: must have one object, got %d", p.where, len(objects))
	}
	if err != nil {
		return manifests.Object{}, err
	}
	return objects[0], nil
}

func (c capture) list(ctx context.Context, of resources.Resource, token string, size int) (page, error) {
	all := c[of.Kind.GroupKind()]
	first, _ := strconv.Atoi(token) // the token of the first page is empty
	end := min(first+size, len(all))
	p := page{left: len(all) - end}
	for _, at := range all[min(first, end):end] {
		object, err := at.load()
		if err != nil {
			return page{}, err
		}
		p.objects = append(p.objects, object)
	}
	if p.left > 0 {
		p.next = strconv.Itoa(end)
	}
	return p, context.Cause(ctx)
}

func (c capture) unserved(served []resources.Resource) []resources.Resource {
	var unserved []resources.Resource
	for kind, places := range c {
		is := func(r resources.Resource) bool { return r.Kind.GroupKind() == kind }
		if !slices.ContainsFunc(served, is) {
			unserved = append(unserved, resources.Resource{Kind: places[0].kind, GroupVersionResource: schema.GroupVersionResource{Group: kind.Group, Resource: kind.Kind}})
		}
	}
	slices.SortFunc(unserved, func(a, b resources.Resource) int { return cmp.Compare(a.String(), b.String()) })
	return unserved
}

// header has the fields that name the kind of an object.
type header struct{ apiVersion, kind string }

// text is a part of a file.
type text struct {
	header
	offset, bytes int64
}

// document is a document of a file, with the items of a list.
type document struct {
	text
	items []text
}

// documentsOfYAML calls a function with the documents of a text in YAML. A line at the indentation of an item's dash begins
// another item, because YAML indents all that is within an item further.
func documentsOfYAML(in *bufio.Reader, do func(document) error, name string) error {
	var d document
	var offset int64
	inItems, dash := false, -1
	end := func() error {
		d.bytes = offset - d.offset
		if d.bytes == 0 {
			return nil
		}
		return do(d)
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: %w", name, err)
		}
		content := strings.TrimRightFunc(line, unicode.IsSpace)
		indent := len(content) - len(strings.TrimLeft(content, " "))
		own := content[indent:]
		switch {
		case own == "" || own[0] == '#':
		case strings.HasPrefix(content, "---"):
			if err := end(); err != nil {
				return err
			}
			d, inItems, dash = document{text: text{offset: offset}}, false, -1
		case inItems && (own == "-" || strings.HasPrefix(own, "- ")) && (dash < 0 || indent == dash):
			dash = indent
			d.items = append(d.items, text{offset: offset})
			d.items[len(d.items)-1].header.read(strings.TrimPrefix(own[1:], " "))
		case indent == 0:
			inItems = own == "items:"
			d.header.read(own)
		case inItems && dash >= 0 && indent == dash+2:
			d.items[len(d.items)-1].header.read(own)
		}
		offset += int64(len(line))
		if inItems && len(d.items) > 0 {
			last := &d.items[len(d.items)-1]
			last.bytes = offset - last.offset
		}
		if err != nil {
			return end()
		}
	}
}

// read reads a line of YAML with a field of the header. A value in another form, such as an anchor, isn't read.
func (h *header) read(line string) {
	for field, into := range map[string]*string{"apiVersion: ": &h.apiVersion, "kind: ": &h.kind} {
		if value, found := strings.CutPrefix(line, field); found && !strings.ContainsAny(value, " \"'&*!|>{[") {
			*into = value
		}
	}
}

// documentsOfJSON calls a function with the documents of a text in JSON.
func documentsOfJSON(in *bufio.Reader, do func(document) error, name string) error {
	decoder := json.NewDecoder(in)
	for n := 1; ; n++ {
		d, err := documentOfJSON(decoder)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s, document %d: %w", name, n, err)
		}
		if err := do(d); err != nil {
			return err
		}
	}
}

func documentOfJSON(decoder *json.Decoder) (d document, err error) {
	first, err := decoder.Token()
	if err != nil {
		return d, err
	}
	if first != json.Delim('{') {
		return d, fmt.Errorf("must be an object, got %v", first)
	}
	d.offset = decoder.InputOffset() - 1
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return d, unexpected(err)
		}
		switch key {
		case "items":
			err = d.itemsOfJSON(decoder)
		case "apiVersion":
			err = decoder.Decode(&d.apiVersion)
		case "kind":
			err = decoder.Decode(&d.kind)
		default:
			err = decoder.Decode(&json.RawMessage{})
		}
		if err != nil {
			return d, unexpected(err)
		}
	}
	_, err = decoder.Token()
	d.bytes = decoder.InputOffset() - d.offset
	return d, unexpected(err)
}

// itemsOfJSON reads the value of the field items.
func (d *document) itemsOfJSON(decoder *json.Decoder) error {
	if first, err := decoder.Token(); err != nil || first != json.Delim('[') {
		return cmp.Or(err, fmt.Errorf("items: must be a list, got %v", first))
	}
	for decoder.More() {
		var item struct{ APIVersion, Kind string }
		var encoded json.RawMessage
		if err := decoder.Decode(&encoded); err != nil {
			return err
		}
		if err := json.Unmarshal(encoded, &item); err != nil {
			return err
		}
		bytes := int64(len(encoded))
		d.items = append(d.items, text{header{item.APIVersion, item.Kind}, decoder.InputOffset() - bytes, bytes})
	}
	_, err := decoder.Token()
	return err
}

// unexpected returns the error of a text that ends within a document.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
