package httplimit

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/tickgate/tickgate/idem"
)

// replay sends a result that was kept. What outer handlers said for this response
// stays, such as what is left of a limit, or the origin that may read it.
func (m *Idempotency) replay(w http.ResponseWriter, result idem.Result) {
	h := w.Header()
	var said map[string]bool
	for _, name := range m.cfg.Headers {
		if strings.HasPrefix(name, "Access-Control-") && len(h[name]) > 0 {
			if said == nil {
				said = map[string]bool{}
			}
			said[name] = true
			continue
		}
		delete(h, name)
	}
	for _, f := range result.Header {
		if !said[f[0]] {
			h[f[0]] = append(h[f[0]], f[1])
		}
	}
	h[headerReplayed] = []string{"true"}
	if result.Status != http.StatusNoContent && result.Status != http.StatusNotModified {
		h[headerLength] = []string{strconv.Itoa(len(result.Body))}
	}
	w.WriteHeader(result.Status)
	if len(result.Body) > 0 {
		_, _ = w.Write(result.Body) // a client that is gone needs no answer
	}
}

// tooLong stands for a result that there was no room to keep.
var tooLong = lostResult(http.StatusConflict, "result_not_kept",
	"The request was carried out before. Its result was too large to keep.")

// lostResult is a result that only says what became of the request. It is short, so
// that a store has room for it (idem.RoomyResult).
func lostResult(status int, code, detail string) idem.Result {
	b := problemHead(nil, typeBlank, http.StatusText(status), status)
	b = member(b, "error", code)
	b = member(b, "detail", detail)
	return idem.Result{
		Status: status,
		Header: [][2]string{{headerType, problemType}, {headerCache, "no-store"}},
		Body:   append(b, '}', '\n'),
	}
}
