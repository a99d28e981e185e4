package admin

import (
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/tickgate/tickgate/adapter/httplimit"
)

const (
	maxBody = 16 << 10
	maxWho  = 200
	maxKey  = 256 // of the gate
)

// order is the body of a block: exactly one of APIKey and Everyone, and Who.
type order struct {
	APIKey   string `json:"apikey"`
	Everyone bool   `json:"everyone"`
	Who      string `json:"who"`
}

// block returns the handler that blocks or unblocks a caller, or everyone, in all gates of
// the process, in the name of a person or a system, which the record of changes keeps:
//
//	POST /v1/block
//	Content-Type: application/json
//
//	{"apikey":"KEY","who":"j.doe, risk"}     or     {"everyone":true,"who":"j.doe, risk"}
//
// It answers 200 when it is done, and names the gates in which it is: calls that begin
// after that are denied there. A gate in which no caller can have that apikey is left out.
// The content type is required, since a form on another site cannot send it.
func (a *admin) block(blocked bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			httplimit.WriteError(w, r, &httplimit.Error{
				Status: http.StatusUnsupportedMediaType, Code: "content_type", Err: errRequest,
				Detail: "The body must be JSON, and Content-Type application/json.",
			})
			return
		}
		o, fault := read(http.MaxBytesReader(w, r.Body, maxBody))
		if fault != "" {
			malformed(w, r, fault)
			return
		}
		in := a.blockAll(&o, blocked)
		if len(in) == 0 {
			malformed(w, r, "No caller can have that apikey.")
			return
		}
		write(w, http.StatusOK, struct {
			Blocked  bool    `json:"blocked"`
			Everyone bool    `json:"everyone"`
			Key      string  `json:"key,omitempty"`
			Who      string  `json:"who"`
			Gates    []known `json:"gates"`
		}{blocked, o.Everyone, in[0].Key, o.Who, in})
	}
}

// blockAll does what an order says in every gate in which a caller can have the name, and
// returns these.
func (a *admin) blockAll(o *order, blocked bool) (in []known) {
	for i := range a.gates {
		g, apikey, key := &a.gates[i], "", ""
		if !o.Everyone {
			apikey = g.apikey(o.APIKey)
			if apikey == "" || len(apikey) > maxKey { // "" would be everyone
				continue
			}
			key = a.cfg.Denials.Name(apikey)
		}
		if operator := g.own.As(o.Who); blocked {
			operator.Block(apikey)
		} else {
			operator.Unblock(apikey)
		}
		in = append(in, known{g.name, key})
	}
	return in
}

// read reads an order, or says what is wrong with it. A member that is there twice is
// refused: who wrote the first one may have meant it.
func read(body io.Reader) (o order, fault string) {
	if err := json.UnmarshalRead(body, &o, json.RejectUnknownMembers(true)); err != nil {
		return o, `The body must be one object of at most 16 KiB with the members who, and apikey or everyone, each once: {"apikey":"KEY","who":"NAME"}.`
	}
	switch o.Who = strings.TrimSpace(o.Who); {
	case o.Who == "" || len(o.Who) > maxWho || !utf8.ValidString(o.Who) || strings.ContainsFunc(o.Who, unicode.IsControl):
		return o, "The member who must say in whose name, in 1 to 200 bytes without control characters."
	case (o.APIKey != "") == o.Everyone:
		return o, `The body must name one apikey that is not empty, or say "everyone":true.`
	case len(o.APIKey) > 8<<10:
		return o, "The member apikey must have at most 8192 bytes."
	}
	return o, ""
}
