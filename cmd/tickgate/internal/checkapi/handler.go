package checkapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/clock"
)

const (
	// MaxBody is the longest body, in bytes.
	MaxBody = 1 << 20

	// MaxRequests is the most requests in one body.
	MaxRequests = 4096
)

// Config says what is asked.
type Config struct {
	Gate  *tickgate.Gate
	Clock clock.Clock // the gate's; nil: clock.Default()

	// Name turns the apikey of a request into the one that the gate knows. nil: it is
	// the same.
	Name func(apikey string) string

	// Take decides a single request. nil: Gate.TakeAt.
	Take func(apikey, endpoint string, n int64) tickgate.Decision

	// Ask decides those of many that the gate answers with Unsettled, at endpoints that
	// are Strict, one after the other. Both nil: that is a denial.
	Strict func(endpoint string) bool
	Ask    func(apikey, endpoint string, n int64) tickgate.Decision

	// Denied is told of every denial. nil: nobody is.
	Denied func(apikey, endpoint string, n int64, d *tickgate.Decision)
}

// New makes the handler.
func New(cfg Config) http.Handler {
	if cfg.Clock == nil {
		cfg.Clock = clock.Default()
	}
	if cfg.Name == nil {
		cfg.Name = func(apikey string) string { return apikey }
	}
	if cfg.Take == nil {
		cfg.Take = func(apikey, endpoint string, n int64) tickgate.Decision {
			return cfg.Gate.TakeAt(cfg.Clock.Now(), apikey, endpoint, n)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("POST /v1/take", &handler{cfg: cfg})
	return mux
}

type handler struct {
	cfg   Config
	rooms sync.Pool // of *room
}

// room is what a request needs, for use again.
type room struct {
	body []byte
	reqs []tickgate.Request
	out  []tickgate.Decision
	text []byte
}

// maxRoom is the most requests whose memory is kept.
const maxRoom = 256

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !isJSON(r.Header) {
		// Also so that no page in a browser can send one unasked.
		refuse(w, r, http.StatusUnsupportedMediaType, "not_json", "The Content-Type must be application/json.")
		return
	}
	if coded(r.Header) {
		w.Header()["Accept-Encoding"] = identity
		refuse(w, r, http.StatusUnsupportedMediaType, "content_encoding", "The body must be sent as it is, without a Content-Encoding.")
		return
	}
	m, _ := h.rooms.Get().(*room)
	if m == nil {
		m = &room{}
	}
	defer func() {
		if cap(m.reqs) <= maxRoom && cap(m.body) <= 64<<10 {
			h.rooms.Put(m)
		}
	}()
	var err error
	in := io.Reader(r.Body)
	if uint64(r.ContentLength) > MaxBody { // or it is not told
		in = http.MaxBytesReader(w, r.Body, MaxBody)
	}
	if m.body, err = readAll(in, m.body[:0]); err != nil {
		if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
			refuse(w, r, http.StatusRequestEntityTooLarge, "body_too_large", "The body must be at most 1 MiB.")
			return
		}
		refuse(w, r, http.StatusBadRequest, "body_unreadable", "The body ended too early.")
		return
	}
	reqs, is, fault := read(m.body, m.reqs)
	m.reqs = reqs
	defer clear(reqs) // of names that nobody needs any more
	switch {
	case fault != nil:
		httplimit.WriteError(w, r, fault)
	case is == several:
		h.decide(m)
		send(w, m.text)
	default:
		q := &reqs[0]
		q.APIKey = h.cfg.Name(q.APIKey)
		d := h.cfg.Take(q.APIKey, q.Endpoint, q.N)
		h.tell(q, &d)
		m.text = append(appendDecision(m.text[:0], &d), '\n')
		send(w, m.text)
	}
}

// decide decides all requests of a body, and writes the answer.
func (h *handler) decide(m *room) {
	n := len(m.reqs)
	for i := range m.reqs {
		m.reqs[i].APIKey = h.cfg.Name(m.reqs[i].APIKey)
	}
	if cap(m.out) < n {
		m.out = make([]tickgate.Decision, n)
	}
	m.out = m.out[:n]
	h.cfg.Gate.TakeBatch(h.cfg.Clock.Now(), m.reqs, m.out)
	m.text = append(m.text[:0], `{"decisions":[`...)
	for i := range m.out {
		if i > 0 {
			m.text = append(m.text, ',')
		}
		q := &m.reqs[i]
		if m.out[i].Reason == tickgate.Unsettled && h.cfg.Ask != nil && h.cfg.Strict(q.Endpoint) {
			m.out[i] = h.cfg.Ask(q.APIKey, q.Endpoint, q.N)
		}
		m.text = appendDecision(m.text, &m.out[i])
		h.tell(q, &m.out[i])
	}
	m.text = append(m.text, ']', '}', '\n')
}

// tell tells of a denial. Its names are copies: who keeps them does not keep the body
// that they lie in.
func (h *handler) tell(q *tickgate.Request, d *tickgate.Decision) {
	if !d.Allowed && h.cfg.Denied != nil {
		h.cfg.Denied(strings.Clone(q.APIKey), strings.Clone(q.Endpoint), q.N, d)
	}
}

// isJSON reports whether a request says that its body is JSON.
func isJSON(h http.Header) bool {
	said := h["Content-Type"]
	if len(said) == 1 && said[0] == typeJSON[0] {
		return true // what nearly all write
	}
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && t == typeJSON[0]
}

// coded reports whether a request says that its body is compressed.
func coded(h http.Header) bool {
	for _, coding := range h["Content-Encoding"] {
		if coding = strings.Trim(coding, " \t"); coding != "" && !strings.EqualFold(coding, identity[0]) {
			return true
		}
	}
	return false
}

var identity = []string{"identity"}

// readAll reads r to its end into buf, which may grow.
func readAll(r io.Reader, buf []byte) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}

// send answers with JSON. The length is told by net/http, which has all of it.
func send(w http.ResponseWriter, text []byte) {
	w.Header()["Content-Type"] = typeJSON
	_, _ = w.Write(text) // a client that is gone needs no answer
}

var typeJSON = []string{"application/json"}

func refuse(w http.ResponseWriter, r *http.Request, status int, code, detail string) {
	httplimit.WriteError(w, r, &httplimit.Error{Status: status, Code: code, Detail: detail})
}
