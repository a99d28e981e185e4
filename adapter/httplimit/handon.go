package httplimit

import "net/http"

// handOn serves a copy of a request. The server removes the files of an uploaded form
// that it finds in the request it made, so the copy's form has to be found there.
func handOn(next http.Handler, w http.ResponseWriter, made, copied *http.Request) {
	defer func() {
		if made.MultipartForm == nil {
			made.MultipartForm = copied.MultipartForm
		}
	}()
	next.ServeHTTP(w, copied)
}
