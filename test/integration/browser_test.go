package integration_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/websocket"
)

// browser is a page in a headless Chromium. The test controls it by the DevTools protocol.
type browser struct {
	t    *testing.T
	conn *websocket.Conn
	last int
}

// browserPatience limits the start of Chromium, and each wait for the page.
const browserPatience = time.Minute

// openBrowser starts Chromium with an empty page. Without Chromium, it skips the test.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Skip("no chromium in PATH: on Debian, apt-get install chromium")
	}
	// A helper process of Chromium may still write, which makes the cleanup of t.TempDir fail.
	dir, err := os.MkdirTemp("", "miniapi-chromium-") //nolint:usetesting // t.TempDir fails while Chromium writes
	ok(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	command := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--ignore-certificate-errors", "--remote-debugging-port=0", "--remote-allow-origins=*", "--user-data-dir="+dir, "about:blank")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = browserPatience
	ok(t, command.Start())
	t.Cleanup(func() {
		cancel()
		_ = command.Wait() // the signal makes Wait return an error
		if err := os.RemoveAll(dir); err != nil {
			t.Logf("removing the folder of the browser: %v", err)
		}
	})
	var address string
	eventually(t, func(context.Context) error {
		content, err := os.ReadFile(filepath.Join(dir, "DevToolsActivePort"))
		port, _, complete := strings.Cut(string(content), "\n")
		address = "127.0.0.1:" + port
		if err == nil && !complete {
			err = errors.New("Chromium hasn't written its port to the file DevToolsActivePort yet")
		}
		return err
	})
	var pages []struct {
		Type                 string
		WebSocketDebuggerURL string `json:"webSocketDebuggerUrl"`
	}
	// The request stays on this machine, so it needs no context.
	response, err := http.Get("http://" + address + "/json/list") //nolint:noctx // the address is of this machine
	ok(t, err)
	defer response.Body.Close()
	ok(t, json.NewDecoder(response.Body).Decode(&pages))
	for _, page := range pages {
		if page.Type == "page" {
			conn, err := websocket.Dial(page.WebSocketDebuggerURL, "", "http://"+address)
			ok(t, err)
			conn.MaxPayloadBytes = 64 << 20
			t.Cleanup(func() { _ = conn.Close() })
			return &browser{t: t, conn: conn}
		}
	}
	t.Fatalf("the browser has no page: %+v", pages)
	return nil
}

// do sends a command to Chromium, and decodes its result.
func (b *browser) do(method string, params map[string]any, into any) {
	b.t.Helper()
	ok(b.t, b.try(method, params, into))
}

// try is like do, and returns an error if Chromium refuses the command, for example because the page is being left.
func (b *browser) try(method string, params map[string]any, into any) error {
	b.t.Helper()
	b.last++
	ok(b.t, b.conn.SetDeadline(time.Now().Add(browserPatience)))
	ok(b.t, websocket.JSON.Send(b.conn, map[string]any{"id": b.last, "method": method, "params": params}))
	for {
		var message struct {
			ID     int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := websocket.JSON.Receive(b.conn, &message); err != nil {
			b.t.Fatalf("%s: %v", method, err)
		}
		if message.ID != b.last {
			continue // an event, not the result
		}
		if message.Error != nil {
			return fmt.Errorf("%s: %s", method, message.Error)
		}
		if into == nil {
			return nil
		}
		return json.Unmarshal(message.Result, into)
	}
}

// eval evaluates a JavaScript expression in the page.
func (b *browser) eval(expression string) any {
	b.t.Helper()
	value, err := b.tryEval(expression)
	ok(b.t, err)
	return value
}

func (b *browser) tryEval(expression string) (any, error) {
	b.t.Helper()
	var result struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	err := b.try("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &result)
	if err == nil && result.ExceptionDetails != nil {
		err = fmt.Errorf("%s: %s", expression, result.ExceptionDetails)
	}
	return result.Result.Value, err
}

// until waits until a JavaScript expression is true in the page, or in the page that follows it.
func (b *browser) until(expression string) {
	b.t.Helper()
	eventually(b.t, func(context.Context) error {
		if value, err := b.tryEval("Boolean(" + expression + ")"); err != nil {
			return err
		} else if value != true {
			return fmt.Errorf("in the page, this isn't true: %s", expression)
		}
		return nil
	})
}

// press presses keys in the page, one after the other.
func (b *browser) press(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		event := map[string]any{"type": "keyDown", "key": key}
		if len(key) == 1 {
			event["text"] = key
		}
		b.do("Input.dispatchKeyEvent", event, nil)
		b.do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
	}
}

// show sets the size of the page, and its color scheme.
func (b *browser) show(width, height int, scheme string) {
	b.t.Helper()
	b.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// screenshots is the environment variable with the folder for screenshots.
const screenshots = "MINIAPI_SCREENSHOTS"

// shoot saves a screenshot in the folder that the environment variable MINIAPI_SCREENSHOTS names, if it is set.
func (b *browser) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv(screenshots)
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	b.do("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	content, err := base64.StdEncoding.DecodeString(shot.Data)
	ok(b.t, err)
	ok(b.t, os.WriteFile(filepath.Join(dir, name+".png"), content, 0o600))
}

// visit requests a page with a client and additional headers. It returns the response, and its status code and body as
// text.
func visit(t testing.TB, client *http.Client, url string, header http.Header) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	ok(t, err)
	for name, values := range header {
		req.Header[name] = values
	}
	response, err := client.Do(req)
	ok(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	ok(t, err)
	return response, fmt.Sprintf("%d %s", response.StatusCode, body)
}
