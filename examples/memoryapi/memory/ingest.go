package memory

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tickgate/tickgate/adapter/httplimit"
)

// What ingest refuses a request for.
var (
	errNoMemory  = errors.New("memory: the body holds no memory")
	errQueueFull = errors.New("memory: the queue is full")
)

// maxSkills is the most skills of one memory.
const maxSkills = 32

// ingest takes a memory and answers with the job that will keep it. The idempotency
// in front lets it run once for each ingest_id, or for each content without one, and
// answers retries with the same job. A full queue is a 503, which is not kept, so that
// the retry is tried.
func (s *Service) ingest(w http.ResponseWriter, r *http.Request) {
	var j job
	// The body is whole and within maxBody: the idempotency has read it.
	if err := json.NewDecoder(r.Body).Decode(&j); err != nil || strings.TrimSpace(j.Content) == "" || len(j.Skills) > maxSkills {
		httplimit.WriteError(w, r, &httplimit.Error{
			Status: http.StatusBadRequest, Code: "memory_invalid", Err: errNoMemory,
			Detail: `The body must be a JSON object with the text "content", and may have the texts "ingest_id" and "project" and the list of up to 32 texts "skills".`,
		})
		return
	}
	s.hold(r.Context())
	j.owner = ownerOf(r)
	id, ok := s.queue.add(j)
	if !ok {
		httplimit.WriteError(w, r, &httplimit.Error{
			Status: http.StatusServiceUnavailable, Code: "queue_full", Err: errQueueFull,
			Detail: "The service has as many jobs waiting as it can.", Retry: time.Second,
		})
		return
	}
	answer(w, http.StatusAccepted, map[string]string{"job_id": id})
}

// answer sends v as JSON. It must be of a type that cannot fail to be written so.
func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone needs no answer
}
