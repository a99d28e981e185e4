package checkapi

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tickgate/tickgate"
)

// appendDecision appends a decision as an object.
func appendDecision(b []byte, d *tickgate.Decision) []byte {
	b = append(b, `{"allowed":`...)
	b = strconv.AppendBool(b, d.Allowed)
	b = append(b, `,"reason":"`...)
	b = append(b, d.Reason.String()...) // letters and spaces
	b = append(b, '"')
	if d.Shadow {
		b = append(b, `,"shadow":true`...)
	}
	if d.Limit != "" {
		b = append(b, `,"limit":`...)
		b, _ = jsontext.AppendQuote(b, d.Limit) // a policy's names are UTF-8
	}
	if d.Remaining != math.MaxInt64 { // there is no limit
		b = append(b, `,"remaining":`...)
		b = strconv.AppendInt(b, d.Remaining, 10)
	}
	switch {
	case d.RetryAfter == tickgate.Never:
		b = append(b, `,"never":true`...)
	case d.RetryAfter > 0:
		b = append(b, `,"retry_after_ns":`...)
		b = strconv.AppendInt(b, int64(d.RetryAfter), 10)
	}
	if d.ResetAfter > 0 {
		b = append(b, `,"reset_after_ns":`...)
		b = strconv.AppendInt(b, int64(d.ResetAfter), 10)
	}
	return append(b, '}')
}
