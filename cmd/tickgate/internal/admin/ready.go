package admin

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
)

// Ready holds why a process is not ready for requests. The zero value is ready. Its
// methods may be called by any number of goroutines at once.
type Ready struct {
	mu   sync.Mutex
	held map[string]string
}

// Reason is why a process is not ready.
type Reason struct {
	Part   string `json:"part"` // of the process
	Reason string `json:"reason"`
}

// Hold says that a part is not ready, and why, as Hold("data port", "not serving yet"),
// or Hold("process", "shutting down").
func (r *Ready) Hold(part, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil {
		r.held = map[string]string{}
	}
	r.held[part] = reason
}

// Release says that a part is ready.
func (r *Ready) Release(part string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, part)
}

// Reasons returns why the process is not ready, by part; none if it is.
func (r *Ready) Reasons() []Reason {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Reason, 0, len(r.held))
	for part, reason := range r.held {
		all = append(all, Reason{part, reason})
	}
	slices.SortFunc(all, func(a, b Reason) int { return cmp.Compare(a.Part, b.Part) })
	return all
}

// serve answers 200 or 503, and why.
func (r *Ready) serve(w http.ResponseWriter, _ *http.Request) {
	reasons := r.Reasons()
	status := http.StatusOK
	if len(reasons) > 0 {
		status = http.StatusServiceUnavailable
	}
	write(w, status, struct {
		Ready   bool     `json:"ready"`
		Reasons []Reason `json:"reasons"`
	}{len(reasons) == 0, reasons})
}

// healthy answers while the process can answer at all.
func healthy(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, struct {
		Status string `json:"status"`
	}{"ok"})
}

// write sends an object.
func write(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // a number that is none
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
}
