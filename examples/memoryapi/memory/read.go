package memory

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// maxFound is the most memories that a query returns.
const maxFound = 100

// query returns the caller's memories that contain the text q, of the project named
// by project, both if given; the newest first.
func (s *Service) query(w http.ResponseWriter, r *http.Request) {
	text, project := r.URL.Query().Get("q"), r.URL.Query().Get("project")
	found := []job{}
	s.shelf.each(ownerOf(r), func(j *job) bool {
		if strings.Contains(j.Content, text) && (project == "" || j.Project == project) {
			found = append(found, *j)
		}
		return len(found) < maxFound
	})
	answer(w, http.StatusOK, map[string][]job{"memories": found})
}

// skills returns the skills that the caller's memories name, in order.
func (s *Service) skills(w http.ResponseWriter, r *http.Request) {
	s.list(w, r, "skills", func(j *job) []string { return j.Skills })
}

// projects returns the projects that the caller's memories belong to, in order.
func (s *Service) projects(w http.ResponseWriter, r *http.Request) {
	s.list(w, r, "projects", func(j *job) []string { return []string{j.Project} })
}

// list answers with each name once.
func (s *Service) list(w http.ResponseWriter, r *http.Request, member string, of func(*job) []string) {
	names := map[string]bool{}
	s.shelf.each(ownerOf(r), func(j *job) bool {
		for _, name := range of(j) {
			names[name] = true
		}
		return true
	})
	delete(names, "")
	list := slices.AppendSeq([]string{}, maps.Keys(names))
	slices.Sort(list)
	answer(w, http.StatusOK, map[string][]string{member: list})
}
