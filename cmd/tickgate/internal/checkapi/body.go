package checkapi

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/httplimit"
)

// body is what a client sends: one request, or many.
type body struct {
	one
	Requests []one `json:"requests"`
}

type one struct {
	APIKey   string `json:"apikey"`
	Endpoint string `json:"endpoint"`
	N        *int64 `json:"n"`
}

func (o *one) request() tickgate.Request {
	q := tickgate.Request{APIKey: o.APIKey, Endpoint: o.Endpoint, N: 1}
	if o.N != nil {
		q.N = *o.N
	}
	return q
}

// read reads a body: one request, or several.
func read(text []byte, to []tickgate.Request) (reqs []tickgate.Request, is shape, fault *httplimit.Error) {
	if reqs, is = plain(text, to[:0]); is == unknown {
		clear(reqs)
		reqs, is, fault = whole(text, to[:0])
	}
	if is == single && (reqs[0].APIKey == "" || reqs[0].Endpoint == "") {
		return reqs, unknown, invalid("apikey and endpoint must be given.")
	}
	return reqs, is, fault
}

// whole reads a body with all that JSON allows.
func whole(text []byte, to []tickgate.Request) ([]tickgate.Request, shape, *httplimit.Error) {
	var ask body
	if err := json.Unmarshal(text, &ask, json.RejectUnknownMembers(true)); err != nil {
		return to, unknown, invalid(`The body must be {"apikey":…,"endpoint":…,"n":…}, or {"requests":[…]} of such.`)
	}
	switch many := len(ask.Requests); {
	case many > MaxRequests:
		return to, unknown, &httplimit.Error{
			Status: http.StatusRequestEntityTooLarge, Code: "too_many",
			Detail: "There may be at most " + strconv.Itoa(MaxRequests) + " requests.",
		}
	case many > 0 && ask.one != one{}:
		return to, unknown, invalid("The body must be one request, or have requests; not both.")
	case many == 0:
		return append(to, ask.request()), single, nil
	}
	for i := range ask.Requests {
		to = append(to, ask.Requests[i].request())
	}
	return to, several, nil
}

func invalid(detail string) *httplimit.Error {
	return &httplimit.Error{Status: http.StatusBadRequest, Code: "body_invalid", Detail: detail}
}
