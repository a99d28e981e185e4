package caller

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/fieldname"
)

// aliased reports whether a request says under another name what is read here from one
// of the given fields, all of canonical names:
//
//	X-API-Key: made-up          counted here
//	Connection: X-API-Key       which takes it away on the way to the upstream
//	X_API_Key: the real one     found there, by a server that makes the two names one
//
// Whoever got such a request through would have as many limits as they can make up
// keys.
func aliased(h http.Header, names []string) bool {
	for field := range h {
		for _, name := range names {
			if fieldname.Same(field, name) && !slices.Contains(names, field) {
				return true
			}
		}
	}
	for _, options := range h["Connection"] {
		for option := range strings.SplitSeq(options, ",") {
			option = strings.Trim(option, " \t")
			for _, name := range names {
				if fieldname.Same(option, name) {
					return true
				}
			}
		}
	}
	return false
}
