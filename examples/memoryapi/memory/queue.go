package memory

import "crypto/rand"

// job is a memory on its way to the shelf, and there.
type job struct {
	owner   owner
	ID      string   `json:"job_id"`
	Project string   `json:"project,omitempty"`
	Content string   `json:"content"`
	Skills  []string `json:"skills,omitempty"`
}

// queue holds the jobs that wait, up to its capacity.
type queue struct{ jobs chan job }

func newQueue(most int) *queue { return &queue{make(chan job, most)} }

// add names a job and lets it wait. It reports false, and has done nothing, if the
// queue is full.
func (q *queue) add(j job) (id string, ok bool) {
	j.ID = "job-" + rand.Text() // 128 random bits: no caller can guess another's
	select {
	case q.jobs <- j:
		return j.ID, true
	default:
		return "", false
	}
}
